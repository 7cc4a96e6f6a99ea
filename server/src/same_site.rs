//! What changes something is taken from this site's own pages only.

use axum::Extension;
use http::HeaderMap;

use crate::problem::Problem;

/// Laid around all routes where the server listens on this machine alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnLoopback;

/// Whether it does, as handlers get it.
pub(crate) type Reached = Option<Extension<OnLoopback>>;

/// Refuses what a page of another site sends. Browsers say where a request comes from, and pages cannot change what
/// they say; what says nothing is no browser.
///
/// On loopback a name other than `localhost` is another site, too: whoever owns it may let it point to this machine
/// (DNS rebinding), and the browser would take their page for ours.
pub(crate) fn of_this_site(headers: &HeaderMap, on_loopback: bool) -> Result<(), Problem> {
    let host = header_text(headers, "host").unwrap_or_default();
    let from_here = match (header_text(headers, "sec-fetch-site"), header_text(headers, "origin")) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => {
            origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
        }
        (None, None) => return Ok(()),
    };
    if from_here && (!on_loopback || names_this_machine(host)) { Ok(()) } else { Err(Problem::cross_site()) }
}

/// Whether an authority is `localhost` or an address rather than a name, whatever its port.
fn names_this_machine(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<http::uri::Authority>() else { return false };
    let host = authority.host().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<std::net::IpAddr>().is_ok()
}

/// A header's value; `unreadable` if it is none of visible ASCII.
pub(crate) fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    // What cannot be read was not sent by a browser, and is no permission either.
    headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"))
}
