//! What changes something is taken from this site's own pages only.

use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::HeaderMap;

use crate::access::Who;
use crate::access::door::who_of;
use crate::api::{pairs, read_body};
use crate::problem::Problem;

/// Laid around all routes where the server listens on this machine alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnLoopback;

/// What a page of this site sent. What another site sends is refused before a handler sees it.
pub(crate) struct Sent {
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Who sent it.
    pub(crate) who: Who,
    body: Result<Bytes, BytesRejection>,
}

impl<S: Send + Sync> FromRequest<S> for Sent {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        of_this_site(request.headers())?;
        let (headers, who) = (request.headers().clone(), who_of(request.extensions()));
        Ok(Self { headers, who, body: Bytes::from_request(request, state).await })
    }
}

impl Sent {
    /// The whole body, of at most `limit` bytes (which the router sees to).
    pub(crate) fn body(self, limit: usize) -> Result<Bytes, Problem> {
        read_body(self.body, limit)
    }

    /// The values of a form with these fields, of which each may stand once.
    pub(crate) fn fields<const N: usize>(self, names: [&str; N], limit: usize) -> Result<[Option<String>; N], Problem> {
        let mut values = [const { None }; N];
        for (name, value) in pairs(&self.body(limit)?)? {
            let field = names.iter().position(|known| *known == name).and_then(|at| values.get_mut(at));
            let field = field.ok_or_else(|| Problem::unknown_parameter(&name, &names))?;
            if field.replace(value).is_some() {
                return Err(Problem::repeated_parameter(&name));
            }
        }
        Ok(values)
    }
}

/// Refuses what a page of another site sends. Browsers say where a request comes from, and pages cannot change what
/// they say; what says nothing is no browser. That the host is ours has been seen to at the door.
fn of_this_site(headers: &HeaderMap) -> Result<(), Problem> {
    let host = header_text(headers, "host").unwrap_or_default();
    let from_here = match (header_text(headers, "sec-fetch-site"), header_text(headers, "origin")) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => {
            origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
        }
        (None, None) => return Ok(()),
    };
    if from_here { Ok(()) } else { Err(Problem::cross_site()) }
}

/// Whether an authority is `localhost` or an address rather than a name, whatever its port.
pub(crate) fn names_this_machine(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<http::uri::Authority>() else { return false };
    let host = authority.host().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<std::net::IpAddr>().is_ok()
}

/// A header's value; `unreadable` if it is none of visible ASCII.
pub(crate) fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    // What cannot be read was not sent by a browser, and is no permission either.
    headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"))
}

/// A path of this server: neither another host (`//host`, `/\host`) nor a text that breaks the header.
pub(crate) fn local_path(back: &str) -> Result<&str, Problem> {
    let local = back.starts_with('/')
        && !back.starts_with("//")
        && back.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if local { Ok(back) } else { Err(Problem::bad_back(back)) }
}
