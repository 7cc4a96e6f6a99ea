//! Certificates made for tests, and TLS peers that show them.

use std::path::PathBuf;
use std::pin::Pin;

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkcs12::Pkcs12;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{Ssl, SslAcceptor, SslMethod, SslVerifyMode, SslVersion};
use openssl::symm::Cipher;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::{X509, X509Builder, X509NameBuilder};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_openssl::SslStream;

/// A certificate and its key.
#[derive(Clone)]
pub(crate) struct Issued {
    pub(crate) certificate: X509,
    pub(crate) key: PKey<Private>,
}

fn key() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).expect("a curve");
    PKey::from_ec_key(EcKey::generate(&group).expect("a key")).expect("a key")
}

/// What a certificate is for.
pub(crate) enum For<'a> {
    Issuing,
    Hosts(&'a [&'a str]),
    ExpiredHosts(&'a [&'a str]),
}

/// Issues a certificate; by itself without an issuer.
pub(crate) fn issue(name: &str, what: &For<'_>, by: Option<&Issued>) -> Issued {
    let key = key();
    let mut subject = X509NameBuilder::new().expect("a name");
    subject.append_entry_by_text("CN", name).expect("a name");
    let subject = subject.build();
    let mut builder: X509Builder = X509::builder().expect("a certificate");
    builder.set_version(2).expect("v3");
    let mut serial = BigNum::new().expect("a number");
    serial.rand(64, openssl::bn::MsbOption::MAYBE_ZERO, false).expect("a number");
    builder.set_serial_number(&serial.to_asn1_integer().expect("a number")).expect("a serial");
    builder.set_subject_name(&subject).expect("a subject");
    let issuer = by.map(|by| &by.certificate);
    builder.set_issuer_name(issuer.map_or(&*subject, |issuer| issuer.subject_name())).expect("an issuer");
    builder.set_pubkey(&key).expect("a key");
    let (from, to) = match what {
        For::ExpiredHosts(_) => (1_500_000_000, 1_600_000_000),
        For::Issuing | For::Hosts(_) => (1_500_000_000, 4_000_000_000),
    };
    builder.set_not_before(&Asn1Time::from_unix(from).expect("a time")).expect("from");
    builder.set_not_after(&Asn1Time::from_unix(to).expect("a time")).expect("to");
    match what {
        For::Issuing => {
            builder.append_extension(BasicConstraints::new().critical().ca().build().expect("a CA")).expect("a CA");
        }
        For::Hosts(hosts) | For::ExpiredHosts(hosts) => {
            let mut names = SubjectAlternativeName::new();
            for host in *hosts {
                if host.parse::<std::net::IpAddr>().is_ok() {
                    names.ip(host)
                } else {
                    names.dns(host)
                };
            }
            let names = names.build(&builder.x509v3_context(issuer.map(|issuer| &**issuer), None)).expect("names");
            builder.append_extension(names).expect("names");
        }
    }
    builder.sign(by.map_or(&key, |by| &by.key), MessageDigest::sha256()).expect("signed");
    Issued { certificate: builder.build(), key }
}

impl Issued {
    pub(crate) fn pem(&self) -> String {
        String::from_utf8(self.certificate.to_pem().expect("PEM")).expect("text")
    }

    pub(crate) fn key_pem(&self) -> String {
        String::from_utf8(self.key.private_key_to_pem_pkcs8().expect("PEM")).expect("text")
    }

    pub(crate) fn encrypted_key_pem(&self, password: &str) -> String {
        let pem = self.key.private_key_to_pem_pkcs8_passphrase(Cipher::aes_256_cbc(), password.as_bytes());
        String::from_utf8(pem.expect("PEM")).expect("text")
    }

    pub(crate) fn pkcs12(&self, password: &str) -> Vec<u8> {
        let mut builder = Pkcs12::builder();
        builder.name("us").pkey(&self.key).cert(&self.certificate);
        builder.build2(password).expect("a store").to_der().expect("bytes")
    }
}

/// Files for a test.
pub(crate) struct Files(TempDir);

impl Files {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    }
}

/// How a peer in TLS behaves.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) identity: Issued,
    /// Whom clients have to lead to, if they have to show a certificate.
    pub(crate) clients: Option<X509>,
    pub(crate) newest: SslVersion,
    /// What it answers to the first bytes that it reads, again and again.
    pub(crate) answer: Vec<u8>,
}

impl Shown {
    pub(crate) fn new(identity: Issued) -> Self {
        Self { identity, clients: None, newest: SslVersion::TLS1_3, answer: b"hello back".to_vec() }
    }
}

/// Serves TLS on a port of its own; gives the address.
pub(crate) async fn serve(shown: Shown) -> String {
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).expect("an acceptor");
    acceptor.set_min_proto_version(Some(SslVersion::TLS1)).expect("a version");
    acceptor.set_max_proto_version(Some(shown.newest)).expect("a version");
    acceptor.set_cipher_list("ALL:@SECLEVEL=0").expect("ciphers");
    acceptor.set_certificate(&shown.identity.certificate).expect("a certificate");
    acceptor.set_private_key(&shown.identity.key).expect("a key");
    if let Some(clients) = &shown.clients {
        let mut store = X509StoreBuilder::new().expect("a store");
        store.add_cert(clients.clone()).expect("a CA");
        acceptor.set_verify_cert_store(store.build()).expect("a store");
        acceptor.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    }
    let acceptor = acceptor.build();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, answer) = (acceptor.clone(), shown.answer.clone());
            tokio::spawn(async move {
                let ssl = Ssl::new(acceptor.context()).ok()?;
                let mut stream = SslStream::new(ssl, stream).ok()?;
                Pin::new(&mut stream).accept().await.ok()?;
                let mut read = [0; 1024];
                while stream.read(&mut read).await.ok()? > 0 {
                    stream.write_all(&answer).await.ok()?;
                }
                Some(())
            });
        }
    });
    address
}
