//! What is said to whoever is not let in, or not as far as they want. None of it repeats what they sent but a host name.

use std::net::IpAddr;
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use unstuck_diagnosis::visible;

use super::Problem;
use crate::access::Role;

impl Problem {
    /// Nobody is named, and somebody has to be.
    pub(crate) fn no_login() -> Self {
        let detail = "This Unstuck wants to know who asks.".to_owned();
        let advice = "Send a token in the header Authorization: Bearer (the command line does, from --token-file or \
                      UNSTUCK_TOKEN), or log in at /login with a browser.";
        Self::new(StatusCode::UNAUTHORIZED, "no-login", "Not logged in", detail, advice)
    }

    /// Nobody has logged in at the identity provider.
    pub(crate) fn no_login_at_provider() -> Self {
        let detail = "This Unstuck wants to know who asks.".to_owned();
        let advice =
            "Log in at /login with a browser. Programs that cannot do that need an Unstuck with --access token.";
        Self::new(StatusCode::UNAUTHORIZED, "no-login", "Not logged in", detail, advice)
    }

    /// A token that is none.
    pub(crate) fn wrong_token() -> Self {
        let detail = "This token is not known here.".to_owned();
        let advice = "Check that all of it was copied. It may have been taken back: whoever runs this Unstuck makes \
                      another one with: unstuck token new.";
        Self::new(StatusCode::UNAUTHORIZED, "wrong-token", "Wrong token", detail, advice)
    }

    /// A token whose time is over.
    pub(crate) fn token_over(until: Timestamp) -> Self {
        let detail = format!("This token was good until {until}.");
        let advice = "Whoever runs this Unstuck makes another one with: unstuck token new.";
        Self::new(StatusCode::UNAUTHORIZED, "token-over", "Token out of date", detail, advice)
    }

    /// Too many wrong tokens from one address.
    pub(crate) fn too_many_attempts(wait: Duration) -> Self {
        let detail = "Too many wrong tokens came from this address.".to_owned();
        let advice = "Wait a few seconds. A right token is accepted at any time.";
        let problem =
            Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-attempts", "Too many attempts", detail, advice);
        Self { retry_after_s: Some(wait.as_secs().max(1)), ..problem }
    }

    /// Somebody who may only read wants to write.
    pub(crate) fn not_permitted(role: Role, needed: Role) -> Self {
        let (role, needed) = (role.word(), needed.word());
        let detail = format!("You are a {role} here, and this needs an {needed}.");
        let advice = "Ask whoever runs this Unstuck. Everything can be read as it is.";
        Self::new(StatusCode::FORBIDDEN, "not-permitted", "Not permitted", detail, advice)
    }

    /// A request that does not come from a proxy that is believed.
    pub(crate) fn past_the_proxy(from: Option<IpAddr>) -> Self {
        let from = from.map_or_else(|| "an unknown address".to_owned(), |from| from.to_string());
        let detail = format!("This request came from {from}, which is no proxy that this Unstuck believes.");
        let advice = "Open Unstuck through the proxy with the login. If this is its address, add it to trusted_proxies \
                      (or --trusted-proxy).";
        Self::new(StatusCode::FORBIDDEN, "past-the-proxy", "Past the proxy", detail, advice)
    }

    /// The proxy names nobody.
    pub(crate) fn no_user(header: &str) -> Self {
        let detail = format!("The proxy did not say in {header} who is logged in.");
        let advice = "The proxy has to log people in before it passes a request on, and to set this header.";
        Self::new(StatusCode::UNAUTHORIZED, "no-user", "Nobody is named", detail, advice)
    }

    /// The proxy names two people.
    pub(crate) fn two_users(header: &str) -> Self {
        let detail = format!("The header {header} stands twice in this request.");
        let advice = "The proxy has to replace what clients send in this header, rather than to add to it.";
        Self::new(StatusCode::BAD_REQUEST, "two-users", "Two people are named", detail, advice)
    }

    /// A name of this server that it does not know.
    pub(crate) fn unknown_host(host: &str) -> Self {
        let detail = format!("This request asks for the host \"{}\", which this Unstuck does not know.", visible(host));
        let advice = "Open it as localhost or by its address. If people are to open it by this name, start it with \
                      --public-url https://NAME; without that a page of another site could read it through a name of its \
                      own.";
        Self::new(StatusCode::MISDIRECTED_REQUEST, "unknown-host", "Unknown host", detail, advice)
    }
}
