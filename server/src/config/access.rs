//! Who may come in: the choice that is needed to listen beyond this machine.

mod oidc;
mod told;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use http::HeaderName;
use ipnet::IpNet;
use reqwest::Url;

use super::{ConfigError, Environment};
use crate::access::OidcConfig;
use crate::access::proxy::ProxyHeader;

pub(super) use self::told::settings;

/// The modes, as they are written.
const MODES: [&str; 4] = ["open", "token", "proxy-header", "oidc"];
/// The header in which most proxies name who is logged in.
const USER_HEADER: HeaderName = HeaderName::from_static("x-forwarded-user");

/// Who may come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessConfig {
    /// How somebody shows who they are.
    pub mode: Mode,
    /// Where people open Unstuck, if a proxy is in front of it.
    pub public_url: Option<Url>,
    /// The certificate, if TLS ends at Unstuck itself.
    pub tls: Option<TlsFiles>,
}

/// A certificate and its key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and then those that vouch for it.
    pub certificate: PathBuf,
    /// Its key, without a password.
    pub key: PathBuf,
}

/// How somebody shows who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Not at all: whoever reaches Unstuck is an editor.
    Open,
    /// By a token of this file.
    Token(PathBuf),
    /// By what a proxy says.
    ProxyHeader(ProxyHeader),
    /// By what an identity provider says.
    Oidc(OidcConfig),
}

impl AccessConfig {
    /// Whoever reaches it: what holds on this machine if nothing else is said.
    #[must_use]
    pub fn open() -> Self {
        Self { mode: Mode::Open, public_url: None, tls: None }
    }

    /// Whether everything travels by TLS between browsers and Unstuck, or the proxy in front of it.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.tls.is_some() || self.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
    }
}

/// Options of the command line; `None` and empty mean "not given".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessOptions {
    /// `--access`.
    pub mode: Option<String>,
    /// `--tokens-file`.
    pub tokens_file: Option<PathBuf>,
    /// `--trusted-proxy`, each.
    pub trusted_proxies: Vec<String>,
    /// `--public-url`.
    pub public_url: Option<String>,
    /// `--tls-certificate`.
    pub tls_certificate: Option<PathBuf>,
    /// `--tls-key`.
    pub tls_key: Option<PathBuf>,
}

/// `[access]` of a file, each value with where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessInFile {
    pub(super) mode: Option<(String, String)>,
    pub(super) tokens_file: Option<PathBuf>,
    pub(super) public_url: Option<(String, String)>,
    pub(super) trusted_proxies: Option<(Vec<String>, String)>,
    pub(super) user_header: Option<(String, String)>,
    pub(super) groups_header: Option<(String, String)>,
    pub(super) editor_groups: Vec<String>,
    pub(super) tls_certificate: Option<PathBuf>,
    pub(super) tls_key: Option<PathBuf>,
    pub(super) oidc: OidcInFile,
}

/// `[access.oidc]` of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OidcInFile {
    pub(super) issuer: Option<(String, String)>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret_file: Option<PathBuf>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) name_claim: Option<String>,
    pub(super) editor_claim: Option<String>,
    pub(super) editor_values: Vec<String>,
}

/// What the command line, the environment, or the file say, in this order; else open, on this machine alone.
///
/// # Errors
/// Something is missing for the mode, does not go with it, or cannot be read; or it listens beyond this machine and
/// nothing is said.
pub(crate) fn choose(
    options: &AccessOptions,
    file: &AccessInFile,
    environment: &Environment,
    listen: SocketAddr,
) -> Result<AccessConfig, ConfigError> {
    let variable = environment.get("UNSTUCK_ACCESS");
    let option = (options.mode.as_ref(), "--access");
    let told = told::first(option, (variable.as_ref(), "UNSTUCK_ACCESS"), file.mode.as_ref());
    let tokens_file = options.tokens_file.clone();
    let tokens_file = tokens_file.or_else(|| environment.get("UNSTUCK_TOKENS_FILE").map(PathBuf::from));
    let tokens_file = tokens_file.or_else(|| file.tokens_file.clone());
    let proxies = match (&options.trusted_proxies[..], &file.trusted_proxies) {
        ([], Some((proxies, place))) => networks(proxies, place)?,
        (proxies, _) => networks(proxies, "--trusted-proxy")?,
    };
    let public = environment.get("UNSTUCK_PUBLIC_URL");
    let option = (options.public_url.as_ref(), "--public-url");
    let public_url = told::first(option, (public.as_ref(), "UNSTUCK_PUBLIC_URL"), file.public_url.as_ref());
    let public_url = public_url.map(|(url, place)| public_address(url, place)).transpose()?;
    let mode = match told {
        None if tokens_file.is_some() || !proxies.is_empty() => return Err(no_mode()),
        None if listen.ip().to_canonical().is_loopback() => Mode::Open,
        None => return Err(beyond(listen)),
        Some(("open", _)) => Mode::Open,
        Some(("token", place)) => Mode::Token(tokens_file.clone().ok_or_else(|| no_tokens_file(place))?),
        Some(("proxy-header", place)) => {
            if proxies.is_empty() {
                return Err(no_proxies(place));
            }
            let user = header(file.user_header.as_ref())?.unwrap_or(USER_HEADER);
            let groups = header(file.groups_header.as_ref())?;
            Mode::ProxyHeader(ProxyHeader {
                trusted: proxies.clone(),
                user,
                groups,
                editors: file.editor_groups.clone(),
            })
        }
        Some(("oidc", place)) => Mode::Oidc(oidc::choose(file, environment, public_url.as_ref(), place)?),
        Some((unknown, place)) => return Err(unknown_mode(unknown, place)),
    };
    // A door that is thought to be locked and is not would be worse than none.
    if !matches!(mode, Mode::Token(_)) && options.tokens_file.is_some() {
        return Err(goes_with("--tokens-file", "token"));
    }
    if !matches!(mode, Mode::ProxyHeader(_)) && !options.trusted_proxies.is_empty() {
        return Err(goes_with("--trusted-proxy", "proxy-header"));
    }
    let certificate = options.tls_certificate.clone().or_else(|| file.tls_certificate.clone());
    let tls = match (certificate, options.tls_key.clone().or_else(|| file.tls_key.clone())) {
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
        (None, None) => None,
        _ => return Err(half_a_certificate()),
    };
    Ok(AccessConfig { mode, public_url, tls })
}

impl ConfigError {
    /// The certificate cannot be used, as `why` says.
    pub(crate) fn bad_certificate(why: &str) -> Self {
        Self::new(
            format!("the certificate cannot be used: {why}"),
            "Without it browsers cannot come by TLS.",
            "Give PEM files: the certificate with those that vouch for it, and its key without a password.",
        )
    }

    /// Nothing can be asked over HTTP, as `why` says.
    pub(crate) fn no_provider(why: &str) -> Self {
        Self::new(
            format!("the identity provider cannot be asked: {why}"),
            "Nobody could log in.",
            "Check the certificates of this machine's store.",
        )
    }

    /// What Unstuck shows the identity provider cannot be read, as `why` says.
    pub(crate) fn bad_client_secret(why: &str) -> Self {
        Self::new(
            format!("the client's secret of [access.oidc] cannot be used: {why}"),
            "The identity provider would refuse Unstuck, and nobody could log in.",
            "Put it into the file that client_secret_file names, or into the variable UNSTUCK_OIDC_CLIENT_SECRET.",
        )
    }

    /// The file of tokens cannot be used, as `why` says.
    pub(crate) fn bad_tokens_file(path: &Path, why: &str) -> Self {
        Self::new(
            format!("the file of tokens {} cannot be used: {why}", path.display()),
            "Whoever shows one of its tokens is let in, so nobody could come in.",
            "Make a line with: unstuck token new --name NAME --role viewer",
        )
    }
}

/// Three lines for whoever listens beyond this machine without saying who may come.
fn beyond(listen: SocketAddr) -> ConfigError {
    ConfigError::new(
        format!("{listen} can be reached from other machines, and nothing says who may come in"),
        "Pages and API show names of groups, topics, brokers, clients and hosts, and people write notes on them.",
        "Choose with --access: token (make one with `unstuck token new`), proxy-header (a proxy with a login is in front), \
         oidc (an identity provider), or open (whoever reaches it may read and write); docs/configuration.md, \"Access\"",
    )
}

fn unknown_mode(mode: &str, place: &str) -> ConfigError {
    ConfigError::new(
        format!("{place}: there is no access mode {mode:?}"),
        "It says who may read pages and API, and who may write notes.",
        super::did_you_mean(mode, MODES).unwrap_or_else(|| format!("Known modes: {}.", MODES.join(", "))),
    )
}

fn no_mode() -> ConfigError {
    ConfigError::new(
        "tokens or proxies are given, but no access mode",
        "They would be ignored, and whoever reaches Unstuck would be let in.",
        "Add --access token or --access proxy-header, or leave them out.",
    )
}

fn goes_with(option: &str, mode: &str) -> ConfigError {
    ConfigError::new(
        format!("{option} goes with --access {mode}"),
        "In another mode it would be ignored silently.",
        format!("Say --access {mode}, or leave it out."),
    )
}

fn no_tokens_file(place: &str) -> ConfigError {
    ConfigError::new(
        format!("{place}: the mode token needs a file of tokens"),
        "Whoever shows one of its tokens is let in, so nobody could come in.",
        "Add --tokens-file FILE; `unstuck token new --name NAME --role viewer` prints its lines.",
    )
}

fn no_proxies(place: &str) -> ConfigError {
    ConfigError::new(
        format!("{place}: the mode proxy-header needs the addresses of proxies"),
        "Whoever reaches Unstuck past the proxy could write any name into the header.",
        "Add --trusted-proxy IP, for example 10.0.0.7, or a network such as 10.1.0.0/16.",
    )
}

fn half_a_certificate() -> ConfigError {
    ConfigError::new(
        "TLS needs both a certificate and its key",
        "Only one of them is given, and without TLS tokens could be read on the way.",
        "Add --tls-certificate FILE and --tls-key FILE, or leave both out.",
    )
}

fn networks(texts: &[String], place: &str) -> Result<Vec<IpNet>, ConfigError> {
    let read = |text: &String| {
        let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
        network.filter(|network| network.prefix_len() > 0).ok_or_else(|| {
            ConfigError::new(
                format!("{place}: {text:?} is no address and no network"),
                "Only proxies at these addresses are believed; a network of all addresses would be everybody.",
                "Give an address such as 10.0.0.7, or a network such as 10.1.0.0/16 or 2001:db8::/64.",
            )
        })
    };
    texts.iter().map(read).collect()
}

fn header(told: Option<&(String, String)>) -> Result<Option<HeaderName>, ConfigError> {
    let Some((name, place)) = told else { return Ok(None) };
    name.parse().map(Some).map_err(|_| {
        ConfigError::new(
            format!("{place}: {name:?} is no name of a header"),
            "The proxy names in it who is logged in.",
            "For example: user_header = \"X-Forwarded-User\"",
        )
    })
}

fn public_address(text: &str, place: &str) -> Result<Url, ConfigError> {
    let url = Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.path() == "/"
            && url.query().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    });
    url.ok_or_else(|| {
        ConfigError::new(
            format!("{place} is not an address at which a browser could open Unstuck"),
            "It is scheme, host and port alone: Unstuck's paths begin at the root.",
            "For example: https://unstuck.example",
        )
    })
}

#[cfg(test)]
mod tests;
