//! The files that a configuration names: whether they can be read, and until when certificates are good.

use std::path::Path;

use openssl::asn1::{Asn1Time, Asn1TimeRef};
use openssl::pkcs12::Pkcs12;
use openssl::pkey::PKey;
use openssl::x509::{X509, X509NameRef, X509Ref};
use secrecy::ExposeSecret;
use serde::Serialize;
use unstuck_kafka::security::{Identity, Material, Sasl, Secret, Security, TokenSource};

use super::CheckedCluster;

/// Certificates that end sooner are warned of, in days.
const SOON_DAYS: i32 = 30;

/// A certificate that a cluster is entered with or trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Certificate {
    /// The setting that it is of.
    pub(super) setting: &'static str,
    /// Whose it is.
    pub(super) subject: String,
    /// When it ends, in words.
    pub(super) not_after: String,
    /// In how many whole days it ends; negative if it has ended.
    pub(super) days_left: i32,
}

/// Reads every file that `security` names, once.
pub(super) fn check(security: &Security, checked: &mut CheckedCluster) {
    if let Some(tls) = &security.tls {
        if let Some(ca) = &tls.ca {
            certificates("tls.ca", ca, checked);
        }
        match &tls.identity {
            None => {}
            Some(Identity::Pem { certificates: chain, key, password }) => {
                certificates("tls.certificate", chain, checked);
                private_key(key, password.as_ref(), checked);
            }
            Some(Identity::Pkcs12 { file, password }) => pkcs12(file, password.as_ref(), checked),
        }
    }
    match &security.sasl {
        None | Some(Sasl::MskIam { .. }) => {}
        Some(Sasl::Plain { password, .. } | Sasl::Scram { password, .. }) => secret("sasl.password", password, checked),
        Some(Sasl::OAuthBearer(TokenSource::Token(token))) => secret("sasl.token_file", token, checked),
        Some(Sasl::OAuthBearer(TokenSource::ClientCredentials { client_secret, ca, .. })) => {
            secret("sasl.client_secret", client_secret, checked);
            if let Some(ca) = ca {
                certificates("sasl.ca", ca, checked);
            }
        }
        Some(Sasl::Gssapi { keytab, .. }) => {
            if let Some(keytab) = keytab {
                bytes("sasl.keytab", keytab, checked);
                kept_to_oneself("sasl.keytab", keytab, checked);
            }
        }
    }
    // What each file on its own does not show: a key of another certificate, or a login that this build does not have.
    if checked.wrong.is_empty()
        && let Err(unusable) = security.check()
    {
        let remedy = "Correct the setting that is named; docs/configuration.md has an example for each login.";
        wrong(checked, unusable.to_string(), "Without it the cluster cannot be entered.", remedy);
    }
}

fn wrong(checked: &mut CheckedCluster, failed: String, meaning: &str, remedy: &str) {
    checked.wrong.push(format!("{failed}\n  {meaning}\n  {remedy}"));
}

fn bytes(setting: &str, file: &Path, checked: &mut CheckedCluster) -> Option<Vec<u8>> {
    match std::fs::read(file) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            wrong(
                checked,
                format!("{setting}: {} cannot be read: {error}", file.display()),
                "Without it the cluster cannot be entered.",
                "Check the path and its permissions; Unstuck's account has to be able to read it.",
            );
            None
        }
    }
}

/// What is in the file, or stands in the configuration.
fn content(setting: &'static str, material: &Material, checked: &mut CheckedCluster) -> Option<Vec<u8>> {
    match material {
        Material::File(file) => bytes(setting, file, checked),
        Material::Inline(pem) => Some(
            opened(setting, Some(pem), checked)?.map_or_else(Vec::new, |pem| pem.expose_secret().as_bytes().to_vec()),
        ),
    }
}

/// A secret that is not needed, or can be read; `None` if it cannot.
fn opened(
    setting: &str,
    secret: Option<&Secret>,
    checked: &mut CheckedCluster,
) -> Option<Option<secrecy::SecretString>> {
    match secret.map(Secret::read).transpose() {
        Ok(secret) => Some(secret),
        Err(unreadable) => {
            wrong(
                checked,
                format!("{setting}: {unreadable}"),
                "Without it the cluster cannot be entered.",
                "Check the path and its permissions; Unstuck's account has to be able to read it.",
            );
            None
        }
    }
}

fn secret(setting: &'static str, secret: &Secret, checked: &mut CheckedCluster) {
    opened(setting, Some(secret), checked);
    if let Secret::File(file) = secret {
        kept_to_oneself(setting, file, checked);
    }
}

/// Warns of a file with a secret that everybody on the machine may read.
fn kept_to_oneself(setting: &str, file: &Path, checked: &mut CheckedCluster) {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0) {
        let file = file.display();
        checked
            .origins
            .warn(format!("{setting}: every user of this machine can read {file}. Take that away: chmod o-r {file}"));
    }
}

fn certificates(setting: &'static str, material: &Material, checked: &mut CheckedCluster) {
    let Some(pem) = content(setting, material, checked) else { return };
    match X509::stack_from_pem(&pem) {
        Ok(found) if !found.is_empty() => {
            for certificate in &found {
                tell(setting, certificate, checked);
            }
        }
        _ => wrong(
            checked,
            format!("{setting}: {} has no certificate in PEM", named(material)),
            "A certificate begins with -----BEGIN CERTIFICATE-----.",
            "For a DER file:  openssl x509 -inform der -in FILE -out FILE.pem",
        ),
    }
}

fn private_key(key: &Material, password: Option<&Secret>, checked: &mut CheckedCluster) {
    if let Material::File(file) = key {
        kept_to_oneself("tls.key", file, checked);
    }
    let Some(pem) = content("tls.key", key, checked) else { return };
    let Some(password) = opened("tls.key_password", password, checked) else { return };
    let password = password.as_ref().map_or("", |password| password.expose_secret());
    // With a password in any case: without one OpenSSL would ask at the terminal.
    if PKey::private_key_from_pem_passphrase(&pem, password.as_bytes()).is_err() {
        wrong(
            checked,
            format!("tls.key: {} has no key in PEM that can be opened", named(key)),
            "It holds no key, or the key is encrypted with another password.",
            "Try it:  openssl pkey -in FILE -noout   and set key_password_file or key_password_env.",
        );
    }
}

fn pkcs12(file: &Path, password: Option<&Secret>, checked: &mut CheckedCluster) {
    kept_to_oneself("tls.pkcs12", file, checked);
    let Some(der) = bytes("tls.pkcs12", file, checked) else { return };
    let Some(password) = opened("tls.key_password", password, checked) else { return };
    let password = password.as_ref().map_or("", |password| password.expose_secret());
    let store = Pkcs12::from_der(&der).and_then(|store| store.parse2(password));
    match store {
        Ok(store) if store.pkey.is_some() && store.cert.is_some() => {
            let own = store.cert.iter().map(|certificate| &**certificate);
            for certificate in own.chain(store.ca.iter().flatten()) {
                tell("tls.pkcs12", certificate, checked);
            }
        }
        Ok(_) => wrong(
            checked,
            format!("tls.pkcs12: {} has no certificate with its key", file.display()),
            "It is what Unstuck shows a broker that asks for a client certificate.",
            "See what is in it:  openssl pkcs12 -info -nokeys -in FILE",
        ),
        Err(_) => wrong(
            checked,
            format!("tls.pkcs12: {} cannot be opened", file.display()),
            "It is no PKCS#12 file, its password is another one, or it is encrypted in a way that OpenSSL 3 no longer has.",
            "Try it:  openssl pkcs12 -info -nokeys -in FILE   (with -legacy, if that helps, write it anew).",
        ),
    }
}

fn tell(setting: &'static str, certificate: &X509Ref, checked: &mut CheckedCluster) {
    let days_left = days_until(certificate.not_after());
    let subject = words(certificate.subject_name());
    let not_after = certificate.not_after().to_string();
    if days_left < 0 {
        checked.origins.warn(format!("{setting}: the certificate of {subject} has ended, {not_after}."));
    } else if days_left < SOON_DAYS {
        checked.origins.warn(format!("{setting}: the certificate of {subject} ends in {days_left} days, {not_after}."));
    }
    if days_until(certificate.not_before()) > 0 {
        let begins = certificate.not_before();
        checked
            .origins
            .warn(format!("{setting}: the certificate of {subject} is not good yet, only from {begins} on."));
    }
    checked.certificates.push(Certificate { setting, subject, not_after, days_left });
}

/// Whole days from now; rounded down.
fn days_until(time: &Asn1TimeRef) -> i32 {
    let difference = Asn1Time::days_from_now(0).and_then(|now| now.diff(time));
    difference.map_or(0, |difference| if difference.secs < 0 { difference.days - 1 } else { difference.days })
}

fn words(name: &X509NameRef) -> String {
    let parts = name.entries().map(|entry| {
        let kind = entry.object().nid().short_name().unwrap_or("?");
        let value = entry.data().to_string().unwrap_or_else(|_| "?".to_owned());
        format!("{kind}={}", unstuck_diagnosis::visible(&value))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn named(material: &Material) -> String {
    match material {
        Material::File(file) => file.display().to_string(),
        Material::Inline(_) => "what is given".to_owned(),
    }
}
