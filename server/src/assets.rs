//! Files for the browser, embedded in the binary: the bundle (WebAssembly and its loader), the stylesheet, static files.
//!
//! Looked up by exact name among the embedded ones, so there is no path to traverse.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rust_embed::{EmbeddedFile, RustEmbed};

/// What the bundling program wrote: `bundle-hash.txt`, and files under `pkg/<hash>/`.
#[derive(RustEmbed)]
#[folder = "../target/site"]
#[allow_missing = true]
struct Site;

/// The stylesheet; read from its source, so that pages are styled even without a bundle.
#[derive(RustEmbed)]
#[folder = "../style"]
#[allow_missing = true]
struct Style;

/// Static files, served from the root: `favicon.svg` and the like.
#[derive(RustEmbed)]
#[folder = "../public"]
#[allow_missing = true]
struct Public;

/// The files of the stylesheet, in the order in which they stand in it; it is served as one.
const STYLES: [&str; 2] = ["main.css", "kept.css"];
/// Names below this hold a hash of their contents, so they never change.
const HASHED: &str = "public, max-age=31536000, immutable";
/// Others are asked for again, which costs a 304.
const UNHASHED: &str = "public, max-age=0, must-revalidate";
/// Smaller variants that the bundling program wrote beside a file, best first: suffix and `Content-Encoding`.
const VARIANTS: [(&str, &str); 2] = [(".br", "br"), (".gz", "gzip")];

/// Which front end is embedded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The hash of its folder; names one build.
    pub build: Arc<str>,
    /// Whether there is any: without it pages are complete, but do not update by themselves.
    pub present: bool,
}

impl Bundle {
    /// The one in this binary.
    #[must_use]
    pub fn embedded() -> Self {
        let hash = Site::get("bundle-hash.txt").and_then(|file| String::from_utf8(file.data.into_owned()).ok());
        match hash
            .map(|hash| hash.trim().to_owned())
            .filter(|hash| Site::get(&format!("pkg/{hash}/unstuck.js")).is_some())
        {
            Some(hash) => Self { build: hash.into(), present: true },
            None => Self { build: "none".into(), present: false },
        }
    }

    /// The folder of the bundle in page addresses, without slashes at its ends.
    #[must_use]
    pub fn pkg_dir(&self) -> String {
        format!("pkg/{}", self.build)
    }
}

/// The address of the stylesheet, with a hash of its contents.
#[must_use]
pub fn stylesheet_path() -> String {
    let hashes = STYLES.iter().filter_map(|name| Style::get(name));
    let hash: String = hashes.map(|file| hex(&file.metadata.sha256_hash()[..4])).collect();
    format!("/style/{}/main.css", if hash.is_empty() { "none" } else { &hash })
}

/// The stylesheet itself, for files that stand alone.
#[must_use]
pub(crate) fn stylesheet() -> String {
    let files = STYLES.iter().filter_map(|name| Style::get(name));
    files.map(|file| String::from_utf8_lossy(&file.data).into_owned()).collect()
}

/// The file with this path (`/pkg/…`, `/style/…`, `/favicon.svg`), if it is embedded.
#[must_use]
pub fn file(path: &str, request: &HeaderMap) -> Option<Response> {
    let path = path.strip_prefix('/')?;
    if path.strip_prefix("style/").is_some() {
        let current = stylesheet_path();
        return (format!("/{path}") == current).then(|| {
            let first = Style::get(STYLES[0])?;
            let all = EmbeddedFile { data: Cow::Owned(stylesheet().into_bytes()), metadata: first.metadata };
            respond(STYLES[0], all, None, HASHED, request)
        })?;
    }
    if !path.starts_with("pkg/") {
        let file = Public::get(path)?;
        return respond(path, file, None, UNHASHED, request);
    }
    let accepted = request.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let variant = VARIANTS
        .iter()
        .filter(|(_, encoding)| accepts(accepted, encoding))
        .find_map(|(suffix, encoding)| Some((Site::get(&format!("{path}{suffix}"))?, *encoding)));
    match variant {
        Some((file, encoding)) => respond(path, file, Some(encoding), HASHED, request),
        None => respond(path, Site::get(path)?, None, HASHED, request),
    }
}

/// Whether [`file`] has one with this path.
#[must_use]
pub(crate) fn is_file(path: &str) -> bool {
    file(path, &HeaderMap::new()).is_some()
}

/// Whether `Accept-Encoding` names this encoding and does not refuse it by `q=0`.
fn accepts(header: &str, encoding: &str) -> bool {
    header.split(',').any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
        let refused =
            parts.filter_map(|part| part.strip_prefix("q=")).any(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0));
        named && !refused
    })
}

fn respond(
    path: &str,
    file: EmbeddedFile,
    encoding: Option<&'static str>,
    cache: &'static str,
    request: &HeaderMap,
) -> Option<Response> {
    let etag = HeaderValue::from_str(&format!("\"{}\"", hex(&file.metadata.sha256_hash()[..16]))).ok()?;
    let unchanged = request.get(header::IF_NONE_MATCH).is_some_and(|known| known == etag);
    let body = match file.data {
        _ if unchanged => Body::empty(),
        Cow::Borrowed(bytes) => Body::from(Bytes::from_static(bytes)),
        Cow::Owned(bytes) => Body::from(bytes),
    };
    let mut response = Response::new(body);
    *response.status_mut() = if unchanged { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if !unchanged {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(path)));
        if let Some(encoding) = encoding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
    }
    Some(response)
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "css" => "text/css; charset=utf-8",
        "ico" => "image/x-icon",
        "js" => "text/javascript; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_accept_encoding() {
        assert!(accepts("gzip, deflate, br, zstd", "br"));
        assert!(accepts("gzip;q=0.5, BR;q=1.0", "br"));
        assert!(!accepts("gzip, br;q=0", "br"));
        assert!(!accepts("gzip, br; q=0.0", "br"));
        assert!(!accepts("", "gzip"));
    }

    #[test]
    fn there_is_no_path_to_traverse() {
        for path in
            ["/../Cargo.toml", "/pkg/../bundle-hash.txt", "/style/../main.css", "//etc/passwd", "/", "", "/pkg/"]
        {
            assert!(file(path, &HeaderMap::new()).is_none(), "{path}");
        }
    }
}
