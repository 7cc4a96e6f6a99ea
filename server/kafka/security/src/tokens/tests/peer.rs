//! A token endpoint in this process: it answers as the test says, and keeps what it was asked.

use std::io;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{Ssl, SslAcceptor, SslMethod};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Name};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_openssl::SslStream;

/// A request.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) line: String,
    /// Id and secret of the client, decoded.
    pub(super) client: String,
    pub(super) body: String,
}

pub(super) struct Peer {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

type Answer = dyn Fn(&Asked) -> (u16, String) + Send + Sync;

impl Peer {
    pub(super) async fn answering(answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static) -> Self {
        Self::start("http", "127.0.0.1", None, Arc::new(answer)).await
    }

    pub(super) async fn with_tls(
        certificates: &Certificates,
        answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        Self::start("https", "localhost", Some(certificates.acceptor.clone()), Arc::new(answer)).await
    }

    async fn start(scheme: &str, host: &str, tls: Option<SslAcceptor>, answer: Arc<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        tokio::spawn({
            let asked = Arc::clone(&asked);
            async move {
                while let Ok((tcp, _)) = listener.accept().await {
                    let (tls, answer, asked) = (tls.clone(), Arc::clone(&answer), Arc::clone(&asked));
                    tokio::spawn(async move {
                        let Some(tls) = tls else { return serve(tcp, &answer, &asked).await };
                        let mut stream = SslStream::new(Ssl::new(tls.context())?, tcp)?;
                        std::pin::Pin::new(&mut stream).accept().await.map_err(io::Error::other)?;
                        serve(stream, &answer, &asked).await
                    });
                }
            }
        });
        Self { url: format!("{scheme}://{host}:{port}/oauth/token"), asked }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("a lock").clone()
    }
}

/// Answers one request and hangs up.
async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    answer: &Arc<Answer>,
    asked: &Mutex<Vec<Asked>>,
) -> io::Result<()> {
    let mut text = String::new();
    let request = loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await?;
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if read == 0 {
                return Ok(());
            }
            continue;
        };
        let header = |name: &str| {
            head.lines().filter_map(|line| line.split_once(": ")).find(|(one, _)| one.eq_ignore_ascii_case(name))
        };
        let length: usize = header("content-length").and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        if body.len() >= length {
            let basic = header("authorization").and_then(|(_, value)| value.strip_prefix("Basic "));
            let client = base64::prelude::BASE64_STANDARD.decode(basic.unwrap_or_default()).unwrap_or_default();
            break Asked {
                line: head.lines().next().unwrap_or_default().to_owned(),
                client: String::from_utf8_lossy(&client).into_owned(),
                body: body.to_owned(),
            };
        }
    };
    asked.lock().expect("a lock").push(request.clone());
    let (status, body) = answer(&request);
    let head = format!(
        "HTTP/1.1 {status} x\r\nlocation: http://127.0.0.1:1/\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// A CA, and a server whose certificate it issued for `localhost`.
pub(super) struct Certificates {
    /// In PEM.
    pub(super) ca: String,
    acceptor: SslAcceptor,
}

impl Certificates {
    pub(super) fn new() -> Self {
        Self::make().expect("certificates")
    }

    fn make() -> Result<Self, openssl::error::ErrorStack> {
        let (ca_key, server_key) = (key()?, key()?);
        let ca = certificate("Test CA", &ca_key, None)?;
        let server = certificate("localhost", &server_key, Some((&ca, &ca_key)))?;
        let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server())?;
        acceptor.set_private_key(&server_key)?;
        acceptor.set_certificate(&server)?;
        Ok(Self { ca: String::from_utf8(ca.to_pem()?).expect("PEM is text"), acceptor: acceptor.build() })
    }
}

fn key() -> Result<PKey<Private>, openssl::error::ErrorStack> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    PKey::from_ec_key(EcKey::generate(&group)?)
}

fn certificate(
    name: &str,
    key: &PKey<Private>,
    issuer: Option<(&X509, &PKey<Private>)>,
) -> Result<X509, openssl::error::ErrorStack> {
    let mut subject = X509Name::builder()?;
    subject.append_entry_by_nid(Nid::COMMONNAME, name)?;
    let subject = subject.build();
    let mut serial = BigNum::new()?;
    serial.rand(127, MsbOption::MAYBE_ZERO, false)?;
    let serial = serial.to_asn1_integer()?;
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    builder.set_serial_number(&serial)?;
    builder.set_subject_name(&subject)?;
    builder.set_issuer_name(issuer.map_or(&*subject, |(issuer, _)| issuer.subject_name()))?;
    builder.set_pubkey(key)?;
    let (begin, end) = (Asn1Time::days_from_now(0)?, Asn1Time::days_from_now(2)?);
    builder.set_not_before(&begin)?;
    builder.set_not_after(&end)?;
    if issuer.is_none() {
        builder.append_extension(BasicConstraints::new().critical().ca().build()?)?;
    } else {
        let names = SubjectAlternativeName::new().dns(name).build(&builder.x509v3_context(None, None))?;
        builder.append_extension(names)?;
    }
    builder.sign(issuer.map_or(key, |(_, key)| key), MessageDigest::sha256())?;
    Ok(builder.build())
}
