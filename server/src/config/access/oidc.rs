//! `[access.oidc]`: at which provider people log in.

use reqwest::Url;
use unstuck_security::Secret;

use super::{AccessInFile, ConfigError, OidcConfig};
use crate::config::Environment;

/// Where the secret may be given instead of by a file.
const SECRET: &str = "UNSTUCK_OIDC_CLIENT_SECRET";

/// What the file says, and the environment of the secret.
pub(super) fn choose(
    file: &AccessInFile,
    environment: &Environment,
    public_url: Option<&Url>,
    place: &str,
) -> Result<OidcConfig, ConfigError> {
    let oidc = &file.oidc;
    let (Some((issuer, issuer_place)), Some(client_id)) = (&oidc.issuer, &oidc.client_id) else {
        return Err(ConfigError::new(
            format!("{place}: the mode oidc needs an identity provider"),
            "Unstuck has to know where people log in, and what it is called there.",
            "Add to the configuration file: [access.oidc] with issuer = \"https://…\" and client_id = \"…\"; drills and \
             recordings have no file, use token there.",
        ));
    };
    let Some(public_url) = public_url else {
        return Err(ConfigError::new(
            format!("{place}: the mode oidc needs the address at which people open Unstuck"),
            "The identity provider sends browsers back to it, and has to know it: the address and /login/callback.",
            "Add --public-url https://NAME, or public_url to [access].",
        ));
    };
    check_issuer(issuer, issuer_place)?;
    let secret = match (&oidc.client_secret_file, environment.get(SECRET)) {
        (Some(path), _) => Some(Secret::File(path.clone())),
        (None, secret) => secret.map(Secret::value),
    };
    let scopes = oidc.scopes.clone().unwrap_or_else(|| vec!["profile".to_owned(), "email".to_owned()]);
    let redirect = public_url.join("login/callback").map_or_else(|_| String::new(), String::from);
    Ok(OidcConfig {
        issuer: issuer.clone(),
        client_id: client_id.clone(),
        client_secret: secret,
        redirect,
        scopes,
        name_claim: oidc.name_claim.clone().unwrap_or_else(|| "preferred_username".to_owned()),
        editor_claim: oidc.editor_claim.clone().unwrap_or_else(|| "groups".to_owned()),
        editor_values: oidc.editor_values.clone(),
    })
}

/// Codes and secrets go there, so it has to be TLS, but for this machine.
fn check_issuer(issuer: &str, place: &str) -> Result<(), ConfigError> {
    let local = |url: &Url| {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    let url = Url::parse(issuer).ok();
    // A name or password in it would be shown where the address is.
    let plain = |url: &Url| url.username().is_empty() && url.password().is_none();
    let fits =
        url.is_some_and(|url| plain(&url) && (url.scheme() == "https" || (url.scheme() == "http" && local(&url))));
    if fits {
        return Ok(());
    }
    Err(ConfigError::new(
        format!("{place} is not the address of an identity provider"),
        "It is asked for its settings and keys by TLS.",
        "For example: issuer = \"https://login.example/realms/ours\"",
    ))
}
