//! Truststores and keystores of Java: which kind a file is, certificates out of a PKCS#12 truststore, and the command that
//! turns a JKS file into something else than Java can read.

use std::fs;
use std::path::Path;

use openssl::pkcs12::Pkcs12;
use secrecy::ExposeSecret;
use unstuck_kafka::security::{Material, Secret};

use crate::config::ConfigError;

/// How a store is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pem,
    Pkcs12,
    Jks,
}

/// The kind that `ssl.truststore.type` or `ssl.keystore.type` says; without one, JKS is Java's default.
pub(super) fn kind(declared: Option<&str>, place: &str) -> Result<Kind, ConfigError> {
    match declared.map(str::trim).map(str::to_ascii_uppercase).as_deref() {
        Some("PEM") => Ok(Kind::Pem),
        Some("PKCS12") => Ok(Kind::Pkcs12),
        Some("JKS") | None => Ok(Kind::Jks),
        Some(_) => Err(ConfigError::new(
            format!("{place} is a kind of store that Unstuck cannot read"),
            "It reads PEM and PKCS12 (PKCS#12) files.",
            "Turn it into PEM, and set the type to PEM.",
        )),
    }
}

/// What a file really is. Since Java 9 stores of type JKS may be PKCS#12 files: Java looks into them, and so do we.
pub(super) fn really(kind: Kind, path: &Path) -> Kind {
    let begins = fs::File::open(path).and_then(|mut file| {
        let mut bytes = [0; 4];
        std::io::Read::read_exact(&mut file, &mut bytes).map(|()| bytes)
    });
    match (kind, begins) {
        // A DER sequence.
        (Kind::Jks, Ok([0x30, ..])) => Kind::Pkcs12,
        // The magic number of JKS.
        (_, Ok([0xfe, 0xed, 0xfe, 0xed])) => Kind::Jks,
        _ => kind,
    }
}

/// The certificates of a PKCS#12 truststore, as PEM. They are read now, and again on SIGHUP.
pub(super) fn certificates(path: &Path, password: Option<&Secret>, place: &str) -> Result<Material, ConfigError> {
    let file = path.display();
    let wrong = |what: String| {
        ConfigError::new(
            format!("{place}: {file} {what}"),
            "It is a PKCS#12 truststore: the certificates that brokers' certificates have to lead to are taken out of it.",
            format!(
                "Or turn it into PEM:  keytool -list -rfc -keystore {file} > ca.pem   and set ssl.truststore.type=PEM"
            ),
        )
    };
    let bytes = fs::read(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let password = match password.map(Secret::read).transpose() {
        Ok(password) => password,
        Err(unreadable) => return Err(wrong(format!("cannot be opened: {unreadable}"))),
    };
    let password = password.as_ref().map_or("", |password| password.expose_secret());
    let opened = Pkcs12::from_der(&bytes).map_err(|_| wrong("is no PKCS#12 file".to_owned()))?;
    let opened = opened.parse2(password).map_err(|_| {
        wrong(
            "cannot be opened: the password is another one, or it is encrypted in a way of old releases of Java"
                .to_owned(),
        )
    })?;
    let mut pem = Vec::new();
    for certificate in
        opened.ca.iter().flatten().map(|one| one.to_pem()).chain(opened.cert.iter().map(|one| one.to_pem()))
    {
        pem.extend(certificate.map_err(|_| wrong("holds a certificate that cannot be read".to_owned()))?);
    }
    match String::from_utf8(pem) {
        Ok(pem) if !pem.is_empty() => Ok(Material::Inline(Secret::value(pem))),
        _ => Err(wrong("holds no certificate".to_owned())),
    }
}

/// A JKS truststore: what to do with it.
pub(super) fn jks_truststore(path: &Path, place: &str) -> ConfigError {
    let file = path.display();
    jks(
        path,
        place,
        format!(
            "keytool -list -rfc -keystore {file} > ca.pem   then ssl.truststore.type=PEM, ssl.truststore.location=ca.pem"
        ),
    )
}

/// A JKS keystore: what to do with it.
pub(super) fn jks_keystore(path: &Path, place: &str) -> ConfigError {
    let file = path.display();
    jks(
        path,
        place,
        format!(
            "keytool -importkeystore -srckeystore {file} -destkeystore client.p12 -deststoretype PKCS12   then \
             ssl.keystore.type=PKCS12, ssl.keystore.location=client.p12"
        ),
    )
}

fn jks(path: &Path, place: &str, command: String) -> ConfigError {
    ConfigError::new(
        format!("{place}: {} is a JKS store", path.display()),
        "Only Java reads that format (it is what Kafka takes where no type is said). Unstuck reads PEM and PKCS#12.",
        format!("Turn it into one:  {command}"),
    )
}
