//! A certificate authority for tests, and what it signs: for brokers, clients, and for what goes wrong.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509Name, X509NameBuilder};

/// Days that everything here is valid.
const DAYS: u32 = 3;
/// When what has expired did so: 13 September 2020, in seconds since 1970.
const EXPIRED: i64 = 1_600_000_000;

/// A certificate authority with its files in a folder.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    certificate: X509,
    key: PKey<Private>,
}

/// A certificate with its key, each in a PEM file, and both in one.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The certificate.
    pub certificate: PathBuf,
    /// The key, in PKCS#8 without a password.
    pub key: PathBuf,
    /// Both, as Kafka's `ssl.keystore.location` takes them.
    pub both: PathBuf,
}

impl Authority {
    /// Makes one, with its certificate in `ca.pem` of this folder.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let key = key()?;
        let name = name("Unstuck tests")?;
        let mut builder = builder(&name, &key)?;
        builder.set_issuer_name(&name)?;
        builder.append_extension(BasicConstraints::new().critical().ca().build()?)?;
        builder.append_extension(KeyUsage::new().critical().key_cert_sign().crl_sign().build()?)?;
        builder.sign(&key, MessageDigest::sha256())?;
        let certificate = builder.build();
        fs::write(folder.join("ca.pem"), certificate.to_pem()?)?;
        Ok(Self { folder: folder.to_owned(), certificate, key })
    }

    /// The file with its certificate.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// Signs a certificate for 127.0.0.1 and localhost, for servers and clients.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn sign(&self, common_name: &str) -> Result<Signed> {
        self.issue(common_name, SubjectAlternativeName::new().ip("127.0.0.1").dns("localhost"), false)
    }

    /// The same for this host alone.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn sign_for(&self, common_name: &str, host: &str) -> Result<Signed> {
        self.issue(common_name, SubjectAlternativeName::new().dns(host), false)
    }

    /// The same as [`sign`](Self::sign), but it expired on 13 September 2020.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn sign_expired(&self, common_name: &str) -> Result<Signed> {
        self.issue(common_name, SubjectAlternativeName::new().ip("127.0.0.1").dns("localhost"), true)
    }

    fn issue(&self, common_name: &str, names: &SubjectAlternativeName, expired: bool) -> Result<Signed> {
        let key = key()?;
        let mut builder = builder(&name(common_name)?, &key)?;
        builder.set_issuer_name(self.certificate.subject_name())?;
        if expired {
            builder.set_not_before(&*Asn1Time::from_unix(EXPIRED - 86_400)?)?;
            builder.set_not_after(&*Asn1Time::from_unix(EXPIRED)?)?;
        }
        let names = names.build(&builder.x509v3_context(Some(&self.certificate), None))?;
        builder.append_extension(names)?;
        builder.append_extension(ExtendedKeyUsage::new().server_auth().client_auth().build()?)?;
        builder.sign(&self.key, MessageDigest::sha256())?;
        let (certificate, key) = (builder.build().to_pem()?, key.private_key_to_pem_pkcs8()?);
        let file = |end: &str| self.folder.join(format!("{common_name}{end}.pem"));
        let signed = Signed { certificate: file(""), key: file("-key"), both: file("-both") };
        fs::write(&signed.certificate, &certificate)?;
        fs::write(&signed.key, &key)?;
        fs::write(&signed.both, [key, certificate].concat())?;
        Ok(signed)
    }
}

fn key() -> Result<PKey<Private>> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    Ok(PKey::from_ec_key(EcKey::generate(&group)?)?)
}

fn name(common_name: &str) -> Result<X509Name> {
    let mut name = X509NameBuilder::new()?;
    name.append_entry_by_nid(Nid::COMMONNAME, common_name)?;
    Ok(name.build())
}

fn builder(name: &X509Name, key: &PKey<Private>) -> Result<X509Builder> {
    let mut serial = BigNum::new()?;
    serial.rand(120, MsbOption::MAYBE_ZERO, false)?;
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    builder.set_serial_number(&*serial.to_asn1_integer()?)?;
    builder.set_subject_name(name)?;
    builder.set_pubkey(key)?;
    builder.set_not_before(&*Asn1Time::days_from_now(0)?)?;
    builder.set_not_after(&*Asn1Time::days_from_now(DAYS)?)?;
    Ok(builder)
}
