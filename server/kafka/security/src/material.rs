//! Certificates and keys: read, parsed, and made into what TLS connections are opened with.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use openssl::error::ErrorStack;
use openssl::pkcs12::Pkcs12;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslConnector, SslConnectorBuilder, SslMethod, SslVersion};
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::X509VerifyFlags;
use openssl::x509::{X509, X509NameRef};
use secrecy::{ExposeSecret, SecretString};

use crate::{Identity, Material, Sasl, Secret, Security, Tls, TokenSource, kerberos_built_in};

/// Something that the configuration names cannot be used. `Display` names the setting, the file where there is one, and
/// what is wrong; never what is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {what}")]
pub struct Unusable {
    /// The setting, such as `tls.ca`.
    pub setting: &'static str,
    /// What is wrong, in words.
    pub what: String,
}

pub(crate) const CA: &str = "tls.ca";
const CERTIFICATE: &str = "tls.certificate";
const KEY: &str = "tls.key";
const KEY_PASSWORD: &str = "tls.key_password";
const PKCS12: &str = "tls.pkcs12";
const PKCS12_PASSWORD: &str = KEY_PASSWORD;
pub(crate) const PASSWORD: &str = "sasl.password";
pub(crate) const TOKEN: &str = "sasl.token_file";
const CLIENT_SECRET: &str = "sasl.client_secret";
const TOKEN_CA: &str = "sasl.ca";
const KEYTAB: &str = "sasl.keytab";
pub(crate) const MECHANISM: &str = "sasl.mechanism";

impl Security {
    /// Reads and parses every certificate, key and secret once, without connecting.
    ///
    /// # Errors
    /// The first one that cannot be used.
    pub fn check(&self) -> Result<(), Unusable> {
        if let Some(tls) = &self.tls {
            connector(tls)?;
        }
        match &self.sasl {
            None | Some(Sasl::MskIam { .. }) => Ok(()),
            Some(Sasl::Plain { password, .. } | Sasl::Scram { password, .. }) => secret(PASSWORD, password).map(drop),
            Some(Sasl::OAuthBearer(TokenSource::Token(token))) => secret(TOKEN, token).map(drop),
            Some(Sasl::OAuthBearer(TokenSource::ClientCredentials { client_secret, ca, .. })) => {
                secret(CLIENT_SECRET, client_secret)?;
                ca.as_ref().map_or(Ok(()), |ca| certificates(TOKEN_CA, ca).map(drop))
            }
            Some(Sasl::Gssapi { keytab, .. }) => {
                kerberos_built_in()?;
                keytab.as_ref().map_or(Ok(()), |keytab| readable(KEYTAB, keytab))
            }
        }
    }
}

pub(crate) fn unusable(setting: &'static str, what: impl fmt::Display) -> Unusable {
    Unusable { setting, what: what.to_string() }
}

fn readable(setting: &'static str, file: &Path) -> Result<(), Unusable> {
    let opened = std::fs::File::open(file).map(drop);
    opened.map_err(|error| unusable(setting, format!("{} cannot be read: {error}", file.display())))
}

pub(crate) fn secret(setting: &'static str, secret: &Secret) -> Result<SecretString, Unusable> {
    secret.read().map_err(|error| unusable(setting, error))
}

/// What TLS connections are opened with.
pub(crate) fn connector(tls: &Tls) -> Result<SslConnector, Unusable> {
    let ours = |error: ErrorStack| unusable("tls", words(&error));
    let mut builder = SslConnector::builder(SslMethod::tls_client()).map_err(ours)?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2)).map_err(ours)?;
    match &tls.ca {
        Some(ca) => {
            let mut store = X509StoreBuilder::new().map_err(ours)?;
            for certificate in certificates(CA, ca)? {
                store.add_cert(certificate).map_err(|error| unusable(CA, words(&error)))?;
            }
            // A certificate that is given is trusted, whether or not it is a root: as Java's trust stores do.
            store.set_flags(X509VerifyFlags::PARTIAL_CHAIN).map_err(ours)?;
            builder.set_cert_store(store.build());
        }
        None => trust_this_machine(&mut builder)?,
    }
    if let Some(identity) = &tls.identity {
        show(&mut builder, identity)?;
    }
    Ok(builder.build())
}

/// The OpenSSL that is compiled in does not know where this machine keeps the certificates that it trusts.
fn trust_this_machine(builder: &mut SslConnectorBuilder) -> Result<(), Unusable> {
    let found = openssl_probe::probe();
    if found.cert_file.is_none() && found.cert_dir.is_empty() {
        return Err(unusable(CA, "is not set, and this machine has no certificates that it trusts (ca-certificates)"));
    }
    let load = |builder: &mut SslConnectorBuilder, file: Option<&Path>, folder: Option<&Path>| {
        let at = file.or(folder).unwrap_or(Path::new("")).display().to_string();
        builder.load_verify_locations(file, folder).map_err(|error| unusable(CA, format!("{at}: {}", words(&error))))
    };
    if let Some(file) = &found.cert_file {
        load(builder, Some(file), None)?;
    }
    found.cert_dir.iter().try_for_each(|folder| load(builder, None, Some(folder)))
}

/// The certificate that we show.
fn show(builder: &mut SslConnectorBuilder, identity: &Identity) -> Result<(), Unusable> {
    let (mut chain, key, setting) = match identity {
        Identity::Pem { certificates: shown, key, password } => {
            (certificates(CERTIFICATE, shown)?, private_key(key, password.as_ref())?, KEY)
        }
        Identity::Pkcs12 { file, password } => {
            let (chain, key) = pkcs12(file, password.as_ref())?;
            (chain, key, PKCS12)
        }
    };
    let leaf = chain.remove(0);
    let refused = |error: ErrorStack| unusable(setting, words(&error));
    builder.set_certificate(&leaf).map_err(refused)?;
    for above in chain {
        builder.add_extra_chain_cert(above).map_err(refused)?;
    }
    let fits = leaf.public_key().is_ok_and(|public| public.public_eq(&key));
    if !fits {
        let whose = subject(leaf.subject_name());
        return Err(unusable(setting, format!("the key does not belong to the certificate of {whose}")));
    }
    builder.set_private_key(&key).map_err(refused)
}

/// At least one certificate.
fn certificates(setting: &'static str, material: &Material) -> Result<Vec<X509>, Unusable> {
    let (pem, at) = read(setting, material)?;
    match X509::stack_from_pem(pem.expose_secret().as_bytes()) {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(unusable(setting, format!("there is no certificate in PEM in {at}"))),
    }
}

fn private_key(material: &Material, password: Option<&Secret>) -> Result<PKey<Private>, Unusable> {
    let (pem, at) = read(KEY, material)?;
    let pem = pem.expose_secret();
    let encrypted = pem.contains("ENCRYPTED");
    let password = password.map(|password| secret(KEY_PASSWORD, password)).transpose()?;
    if encrypted && password.is_none() {
        return Err(unusable(KEY, format!("the key in {at} is encrypted, and {KEY_PASSWORD} is not set")));
    }
    let password = password.as_ref().map_or("", |password| password.expose_secret());
    PKey::private_key_from_pem_passphrase(pem.as_bytes(), password.as_bytes()).map_err(|_| {
        if encrypted {
            unusable(KEY, format!("the key in {at} cannot be opened with {KEY_PASSWORD}"))
        } else {
            unusable(KEY, format!("there is no private key in PEM in {at}"))
        }
    })
}

fn pkcs12(file: &Path, password: Option<&Secret>) -> Result<(Vec<X509>, PKey<Private>), Unusable> {
    let at = file.display();
    let der = std::fs::read(file).map_err(|error| unusable(PKCS12, format!("{at} cannot be read: {error}")))?;
    let store = Pkcs12::from_der(&der).map_err(|_| unusable(PKCS12, format!("{at} is no PKCS#12 file")))?;
    let password = password.map(|password| secret(PKCS12_PASSWORD, password)).transpose()?;
    let password = password.as_ref().map_or("", |password| password.expose_secret());
    let parsed = store.parse2(password).map_err(|error| {
        let words = words(&error);
        // RC2 with 40 bits, which OpenSSL 3 has no more: what Java before 17 and older tools wrote.
        if words.contains("unsupported") {
            unusable(PKCS12, format!("{at} is encrypted in an old way ({words}): write it anew with a recent keytool"))
        } else {
            unusable(PKCS12, format!("{at} cannot be opened with its password ({words})"))
        }
    })?;
    let (Some(leaf), Some(key)) = (parsed.cert, parsed.pkey) else {
        return Err(unusable(PKCS12, format!("{at} has no key with its certificate")));
    };
    let above = parsed.ca.into_iter().flatten();
    Ok((std::iter::once(leaf).chain(above).collect(), key))
}

/// A text in PEM, and where it is.
fn read(setting: &'static str, material: &Material) -> Result<(SecretString, String), Unusable> {
    match material {
        Material::File(path) => {
            let at = path.display().to_string();
            let bytes =
                std::fs::read(path).map_err(|error| unusable(setting, format!("{at} cannot be read: {error}")))?;
            let text = String::from_utf8(bytes).map_err(|_| unusable(setting, format!("{at} is no text in PEM")))?;
            Ok((SecretString::from(text), at))
        }
        Material::Inline(pem) => Ok((secret(setting, pem)?, "the configuration".to_owned())),
    }
}

/// The library's words.
pub(crate) fn words(error: &ErrorStack) -> String {
    let words: Vec<_> = error.errors().iter().filter_map(|one| one.reason()).collect();
    if words.is_empty() { "OpenSSL gives no reason".to_owned() } else { words.join("; ") }
}

/// A name as `CN=kafka-1,O=Example`.
pub(crate) fn subject(name: &X509NameRef) -> String {
    let parts = name.entries().map(|entry| {
        let key = entry.object().nid().short_name().unwrap_or("?");
        let value = entry.data().to_string().unwrap_or_else(|_| "?".to_owned());
        format!("{key}={value}")
    });
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { "nobody".to_owned() } else { parts.join(",") }
}

/// How the files of a configuration stand: another value when one of them changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(Vec<Option<(SystemTime, u64)>>);

impl Stamp {
    pub(crate) fn of(tls: &Tls) -> Self {
        let stamp = |path: &PathBuf| {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        Self(files(tls).into_iter().map(stamp).collect())
    }
}

fn files(tls: &Tls) -> Vec<&PathBuf> {
    fn of(material: &Material) -> Option<&PathBuf> {
        match material {
            Material::File(path) | Material::Inline(Secret::File(path)) => Some(path),
            Material::Inline(Secret::Value(_)) => None,
        }
    }
    fn hidden(secret: Option<&Secret>) -> Option<&PathBuf> {
        match secret {
            Some(Secret::File(path)) => Some(path),
            Some(Secret::Value(_)) | None => None,
        }
    }
    let mut files: Vec<_> = tls.ca.iter().filter_map(of).collect();
    match &tls.identity {
        Some(Identity::Pem { certificates, key, password }) => {
            files.extend([of(certificates), of(key), hidden(password.as_ref())].into_iter().flatten());
        }
        Some(Identity::Pkcs12 { file, password }) => {
            files.push(file);
            files.extend(hidden(password.as_ref()));
        }
        None => {}
    }
    files
}
