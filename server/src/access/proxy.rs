//! Somebody whom a proxy in front of Unstuck has logged in, and names in a header.
//!
//! Whoever reaches Unstuck past the proxy could write anything into that header, so it is believed from the addresses of
//! proxies alone, and nobody else is answered.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

use super::{Role, Who};
use crate::problem::Problem;

/// How long a name may be, in characters.
const NAME_LENGTH: usize = 100;
/// What stands for everybody in a list of editors.
pub(crate) const EVERYBODY: &str = "*";

/// What is believed, and from whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyHeader {
    /// The addresses of the proxies.
    pub trusted: Vec<IpNet>,
    /// The header with the name.
    pub user: HeaderName,
    /// The header with the groups that somebody is in, separated by commas or semicolons.
    pub groups: Option<HeaderName>,
    /// Groups whose members are editors; `*` is everybody.
    pub editors: Vec<String>,
}

impl ProxyHeader {
    /// Whether this address is one of the proxies'.
    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(&address))
    }

    /// Who sent a request that came from this address.
    pub(crate) fn who(&self, headers: &HeaderMap, from: Option<IpAddr>) -> Result<Who, Problem> {
        if !from.is_some_and(|address| self.trusts(address)) {
            return Err(Problem::past_the_proxy(from));
        }
        let mut named = headers.get_all(&self.user).into_iter();
        let name = match (named.next(), named.next()) {
            (Some(name), None) => std::str::from_utf8(name.as_bytes()).unwrap_or_default().trim(),
            (Some(_), Some(_)) => return Err(Problem::two_users(self.user.as_str())),
            (None, _) => "",
        };
        if name.is_empty() || name.chars().any(char::is_control) || name.chars().count() > NAME_LENGTH {
            return Err(Problem::no_user(self.user.as_str()));
        }
        let role = if self.edits(headers) { Role::Editor } else { Role::Viewer };
        Ok(Who { name: Some(name.to_owned()), role, session: false })
    }

    fn edits(&self, headers: &HeaderMap) -> bool {
        let is_editor = |group: &str| self.editors.iter().any(|editors| editors == group);
        if is_editor(EVERYBODY) {
            return true;
        }
        let Some(header) = &self.groups else { return false };
        let all = headers.get_all(header).into_iter().filter_map(|value| std::str::from_utf8(value.as_bytes()).ok());
        all.flat_map(|value| value.split([',', ';'])).map(str::trim).any(|group| !group.is_empty() && is_editor(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(editors: &[&str]) -> ProxyHeader {
        ProxyHeader {
            trusted: vec!["10.0.0.7/32".parse().expect("a network"), "2001:db8::/64".parse().expect("a network")],
            user: HeaderName::from_static("x-forwarded-user"),
            groups: Some(HeaderName::from_static("x-forwarded-groups")),
            editors: editors.iter().map(|&group| group.to_owned()).collect(),
        }
    }

    fn who(proxy: &ProxyHeader, headers: &[(&'static str, &str)], from: &str) -> Result<(String, Role), String> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(*name, http::HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
        }
        let who = proxy.who(&all, Some(from.parse().expect("an address")));
        who.map(|who| (who.name.expect("a name"), who.role)).map_err(|problem| problem.kind.to_string())
    }

    #[test]
    fn the_header_is_believed_from_the_proxy_alone() {
        let ada = [("x-forwarded-user", "ada")];
        assert_eq!(who(&proxy(&[]), &ada, "10.0.0.7"), Ok(("ada".to_owned(), Role::Viewer)));
        assert_eq!(who(&proxy(&[]), &ada, "2001:db8::1"), Ok(("ada".to_owned(), Role::Viewer)));
        for elsewhere in ["10.0.0.8", "127.0.0.1", "2001:db8:0:1::1"] {
            assert_eq!(who(&proxy(&["*"]), &ada, elsewhere), Err("urn:unstuck:problem:past-the-proxy".to_owned()));
        }
    }

    #[test]
    fn a_proxy_that_names_nobody_or_two_lets_nobody_in() {
        for nobody in [&[][..], &[("x-forwarded-user", "")], &[("x-forwarded-user", "  ")]] {
            assert_eq!(who(&proxy(&["*"]), nobody, "10.0.0.7"), Err("urn:unstuck:problem:no-user".to_owned()));
        }
        let two = [("x-forwarded-user", "ada"), ("x-forwarded-user", "mallory")];
        assert_eq!(who(&proxy(&["*"]), &two, "10.0.0.7"), Err("urn:unstuck:problem:two-users".to_owned()));
    }

    #[test]
    fn groups_make_editors() {
        let role = |editors: &[&str], groups: &str| {
            let headers = [("x-forwarded-user", "zoë"), ("x-forwarded-groups", groups)];
            who(&proxy(editors), &headers, "10.0.0.7").expect("in").1
        };
        assert_eq!(role(&["sre"], "dev, sre"), Role::Editor);
        assert_eq!(role(&["sre"], "sre-trainees,presre"), Role::Viewer);
        assert_eq!(role(&["sre"], "*"), Role::Viewer);
        assert_eq!(role(&["*"], ""), Role::Editor);
        assert_eq!(role(&[], ""), Role::Viewer);
    }
}
