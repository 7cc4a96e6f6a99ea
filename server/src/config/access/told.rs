//! What is said of the access: which place counts, and how `unstuck config check` shows it.

use super::{AccessConfig, AccessInFile, AccessOptions, Mode};
use crate::config::{Environment, Setting};

/// A text by the option, else by the variable, else by the file: with where it stands.
pub(super) fn first<'a>(
    (option, flag): (Option<&'a String>, &'a str),
    (variable, name): (Option<&'a String>, &'a str),
    file: Option<&'a (String, String)>,
) -> Option<(&'a str, &'a str)> {
    let option = option.map(|text| (text.as_str(), flag));
    let variable = variable.map(|text| (text.as_str(), name));
    option.or(variable).or_else(|| file.map(|(text, place)| (text.as_str(), place.as_str())))
}

/// What counts, and where it stands. No secret is among it.
pub(in crate::config) fn settings(
    config: &AccessConfig,
    options: &AccessOptions,
    file: &AccessInFile,
    environment: &Environment,
) -> Vec<Setting> {
    let setting =
        |name: &str, value: String, place: &str| Setting { name: name.to_owned(), value, place: place.to_owned() };
    let variable = environment.get("UNSTUCK_ACCESS");
    let mode = first((options.mode.as_ref(), "--access"), (variable.as_ref(), "UNSTUCK_ACCESS"), file.mode.as_ref());
    let place = mode.map_or("the default on this machine alone", |(_, place)| place);
    let mut settings = vec![setting("access", words(&config.mode), place)];
    if let Some(url) = &config.public_url {
        let variable = environment.get("UNSTUCK_PUBLIC_URL");
        let option = (options.public_url.as_ref(), "--public-url");
        let told = first(option, (variable.as_ref(), "UNSTUCK_PUBLIC_URL"), file.public_url.as_ref());
        settings.extend(told.map(|(_, place)| setting("public_url", url.to_string(), place)));
    }
    if let Some(tls) = &config.tls {
        for (name, path, option) in [
            ("tls_certificate", &tls.certificate, options.tls_certificate.as_ref()),
            ("tls_key", &tls.key, options.tls_key.as_ref()),
        ] {
            let place = if option.is_some() { "the command line" } else { "[access] of the file" };
            settings.push(setting(name, path.display().to_string(), place));
        }
    }
    settings
}

fn words(mode: &Mode) -> String {
    match mode {
        Mode::Open => "open: whoever reaches it reads and writes".to_owned(),
        Mode::Token(file) => format!("token: those of {}", file.display()),
        Mode::ProxyHeader(proxy) => {
            let trusted: Vec<String> = proxy.trusted.iter().map(ToString::to_string).collect();
            format!("proxy-header: {} from {}", proxy.user, trusted.join(", "))
        }
        Mode::Oidc(oidc) => format!("oidc: {}, as {}", oidc.issuer, oidc.client_id),
    }
}
