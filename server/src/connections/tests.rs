//! Clients that are slow, many, or greedy; and TLS.

use std::convert::Infallible;
use std::path::Path;
use std::time::Instant;

use axum::extract::Extension;
use axum::response::sse::{Event, Sse};
use axum::routing::get;
use futures::StreamExt;
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509NameBuilder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::config::TlsFiles;

/// What a test waits for at most; what it waits for comes much earlier.
const AT_MOST: Duration = Duration::from_secs(60);
/// Short, so that a test can wait for it.
const SHORT: Duration = Duration::from_millis(300);

struct Server {
    address: SocketAddr,
    connections: TaskTracker,
    stop: CancellationToken,
}

impl Server {
    async fn start(limits: Limits, tls: Option<Tls>) -> Self {
        let every_100_ms = || {
            let ticks = tokio_stream::wrappers::IntervalStream::new(tokio::time::interval(Duration::from_millis(100)));
            Sse::new(ticks.map(|_| Ok::<_, Infallible>(Event::default().data("tick"))))
        };
        let endless = || {
            let piece = bytes::Bytes::from(vec![b'x'; 64 * 1024]);
            Body::from_stream(futures::stream::repeat_with(move || Ok::<_, Infallible>(piece.clone())))
        };
        let app = Router::new()
            .route("/", get(|Extension(peer): Extension<Peer>| async move { format!("to {}", peer.ip()) }))
            .route("/ticks", get(move || async move { every_100_ms() }))
            .route("/endless", get(move || async move { endless() }));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (connections, stop) = (TaskTracker::new(), CancellationToken::new());
        let (tracked, stopped) = (connections.clone(), stop.clone());
        tokio::spawn(async move { serve(listener, app, tls.map(Arc::new), limits, &tracked, &stopped).await });
        Self { address, connections, stop }
    }

    /// A connection on which this was sent.
    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("a connection");
        stream.write_all(text.as_bytes()).await.expect("sent");
        stream
    }

    async fn until_no_connection_is_open(&self) {
        let begun = Instant::now();
        while !self.connections.is_empty() {
            assert!(begun.elapsed() < AT_MOST, "{} connections are still open", self.connections.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// All that comes until the server ends the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(AT_MOST, stream.read_to_end(&mut bytes)).await.expect("it ends");
    // A reset is an end, too.
    let _ = read;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn a_slow_head_is_given_up_and_so_is_an_idle_connection() {
    let server = Server::start(Limits { head: SHORT, ..Limits::default() }, None).await;
    for sent in ["", "GET / HT", "GET / HTTP/1.1\r\nhost: a\r\nx: "] {
        let answer = rest(&mut server.send(sent).await).await;
        assert!(!answer.contains("200 OK"), "{sent:?}: {answer}");
    }
    let mut idle = server.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let answer = rest(&mut idle).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("to 127.0.0.1"), "{answer}");
    server.until_no_connection_is_open().await;
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let server = Server::start(Limits { head_bytes: 8 * 1024, ..Limits::default() }, None).await;
    let head = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(20_000));
    let answer = rest(&mut server.send(&head).await).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let many: String = (0..200).map(|n| format!("x{n}: y\r\n")).collect();
    let answer = rest(&mut server.send(&format!("GET / HTTP/1.1\r\nhost: a\r\n{many}\r\n")).await).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn a_stream_outlasts_every_limit() {
    let limits = Limits { head: SHORT, standstill: SHORT, ..Limits::default() };
    let server = Server::start(limits, None).await;
    let mut stream = server.send("GET /ticks HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let (mut seen, mut buffer) = (String::new(), [0; 4_096]);
    while seen.matches("data: tick").count() < 20 {
        let read =
            tokio::time::timeout(AT_MOST, stream.read(&mut buffer)).await.expect("it goes on").expect("no error");
        assert_ne!(read, 0, "the stream ended: {seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

#[tokio::test]
async fn who_takes_nothing_of_an_answer_is_given_up() {
    let server = Server::start(Limits { standstill: SHORT, ..Limits::default() }, None).await;
    let _greedy = server.send("GET /endless HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let mut read = server.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(rest(&mut read).await.starts_with("HTTP/1.1 200 OK"));
    server.until_no_connection_is_open().await;
}

#[tokio::test]
async fn more_connections_than_there_may_be_wait_for_a_place() {
    let server = Server::start(Limits { connections: 1, head: SHORT, ..Limits::default() }, None).await;
    let mut first = server.send("").await;
    let mut second = server.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(rest(&mut second).await.starts_with("HTTP/1.1 200 OK"), "answered once the idle one was given up");
    assert!(!rest(&mut first).await.contains("200 OK"));
}

#[tokio::test]
async fn what_is_under_way_is_answered_at_the_end_and_nothing_is_accepted_any_more() {
    let server = Server::start(Limits::default(), None).await;
    let mut idle = server.send("").await;
    let begun = Instant::now();
    while server.connections.is_empty() {
        assert!(begun.elapsed() < AT_MOST, "never accepted");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop.cancel();
    rest(&mut idle).await;
    server.until_no_connection_is_open().await;
    let begun = Instant::now();
    while TcpStream::connect(server.address).await.is_ok() {
        assert!(begun.elapsed() < AT_MOST, "still listening");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Writes a certificate for 127.0.0.1 that vouches for itself, and gives it.
fn certificate(files: &TlsFiles, name: &str) -> Vec<u8> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).expect("a curve");
    let key = PKey::from_ec_key(EcKey::generate(&group).expect("a key")).expect("a key");
    let mut subject = X509NameBuilder::new().expect("a name");
    subject.append_entry_by_text("CN", name).expect("a name");
    let subject = subject.build();
    let mut builder = X509::builder().expect("a certificate");
    builder.set_version(2).expect("version 3");
    let mut serial = BigNum::new().expect("a number");
    serial.rand(64, openssl::bn::MsbOption::MAYBE_ZERO, false).expect("a number");
    builder.set_serial_number(&serial.to_asn1_integer().expect("a number")).expect("a number");
    builder.set_subject_name(&subject).expect("a name");
    builder.set_issuer_name(&subject).expect("a name");
    builder.set_not_before(&Asn1Time::days_from_now(0).expect("a time")).expect("a time");
    builder.set_not_after(&Asn1Time::days_from_now(2).expect("a time")).expect("a time");
    builder.set_pubkey(&key).expect("a key");
    let alternative = SubjectAlternativeName::new().ip("127.0.0.1").build(&builder.x509v3_context(None, None));
    builder.append_extension(alternative.expect("an extension")).expect("an extension");
    builder.sign(&key, MessageDigest::sha256()).expect("signed");
    let pem = builder.build().to_pem().expect("PEM");
    std::fs::write(&files.certificate, &pem).expect("written");
    std::fs::write(&files.key, key.private_key_to_pem_pkcs8().expect("PEM")).expect("written");
    pem
}

fn files(folder: &Path) -> TlsFiles {
    TlsFiles { certificate: folder.join("tls.pem"), key: folder.join("tls.key") }
}

fn client(root: &[u8]) -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = reqwest::Certificate::from_pem(root).expect("a certificate");
    reqwest::Client::builder().no_proxy().timeout(AT_MOST).tls_certs_only([root]).build().expect("a client")
}

#[tokio::test]
async fn tls_ends_here_and_a_renewed_certificate_is_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = files(folder.path());
    let first = certificate(&files, "first");
    let tls = Tls::looking_every(&files, Duration::ZERO).expect("a good certificate");
    let server = Server::start(Limits { handshake: SHORT, ..Limits::default() }, Some(tls)).await;
    let url = format!("https://{}/", server.address);
    let answer = client(&first).get(&url).send().await.expect("by TLS").text().await.expect("text");
    assert_eq!(answer, "to 127.0.0.1");
    // Plain text is no handshake, and silence neither.
    let plain = rest(&mut server.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await).await;
    assert!(!plain.contains("HTTP/1.1"), "{plain}");
    rest(&mut server.send("").await).await;

    // Half a renewal: the certificate before goes on to hold.
    std::fs::write(&files.key, "no key").expect("written");
    client(&first).get(&url).send().await.expect("still the first one");
    let second = certificate(&files, "second");
    let begun = Instant::now();
    while let Err(error) = client(&second).get(&url).send().await {
        assert!(begun.elapsed() < AT_MOST, "the renewed certificate is not used: {error:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    client(&first).get(&url).send().await.expect_err("not the first one any more");
}

#[test]
fn what_is_no_certificate_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = files(folder.path());
    certificate(&files, "one");
    let other = TlsFiles { key: folder.path().join("other.key"), certificate: folder.path().join("other.pem") };
    certificate(&other, "other");
    for (certificate, key, named) in [
        (&files.certificate, &folder.path().join("none"), "none"),
        (&folder.path().join("none"), &files.key, "none"),
        (&files.key, &files.key, "tls.key: there is no certificate in it (PEM)"),
        (&files.certificate, &files.certificate, "tls.pem"),
        (&files.certificate, &other.key, "tls.pem"),
    ] {
        let files = TlsFiles { certificate: certificate.clone(), key: key.clone() };
        let why = Tls::open(&files).expect_err("refused");
        assert!(why.contains(named), "{why}");
        assert!(!why.contains("PRIVATE"), "{why}");
    }
}
