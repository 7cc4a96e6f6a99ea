//! Each way in which TLS can fail is told apart, against peers in this process.

use openssl::ssl::SslVersion;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;
use unstuck_wire::{Connection, Tcp};

use super::*;
use crate::testing::{Files, For, Issued, Shown, issue, serve};
use crate::{Identity, Material, Secret, Security};

/// Generous: what is awaited comes at once or never.
const DEADLINE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

fn ca() -> Issued {
    issue("Test CA", &For::Issuing, None)
}

fn inline(pem: String) -> Material {
    Material::Inline(Secret::value(pem))
}

fn trusting(ca: &Issued) -> Tls {
    Tls { ca: Some(inline(ca.pem())), ..Tls::default() }
}

fn dialer(tls: &Tls) -> SecureDial {
    SecureDial::new(Arc::new(Tcp), tls.clone())
}

/// Opens the connection, says something, and reads what comes back.
async fn exchange_with(dialer: &SecureDial, address: &str, host: &str) -> Result<Vec<u8>, WireError> {
    let exchanged = async {
        let mut stream = dialer.dial_as(address, host, Instant::now() + DEADLINE).await?;
        let of_stream = |error: io::Error| WireError::from_stream(&error);
        stream.flush().await.map_err(of_stream)?;
        stream.write_all(b"hello").await.map_err(of_stream)?;
        let mut read = vec![0; 64];
        let length = stream.read(&mut read).await.map_err(of_stream)?;
        read.truncate(length);
        Ok(read)
    };
    timeout(DEADLINE, exchanged).await.unwrap_or(Err(WireError::Silent))
}

async fn exchange(tls: &Tls, address: &str, host: &str) -> Result<Vec<u8>, WireError> {
    exchange_with(&dialer(tls), address, host).await
}

#[tokio::test]
async fn a_trusted_peer_is_talked_to_by_name_and_by_ip() {
    let ca = ca();
    let broker = issue("kafka-1", &For::Hosts(&["kafka-1.example", "127.0.0.1"]), Some(&ca));
    for newest in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let address = serve(Shown { newest, ..Shown::new(broker.clone()) }).await;
        for host in ["kafka-1.example", "127.0.0.1"] {
            assert_eq!(exchange(&trusting(&ca), &address, host).await, Ok(b"hello back".to_vec()), "{host}");
        }
    }
}

#[tokio::test]
async fn an_old_protocol_is_not_spoken() {
    let ca = ca();
    let broker = issue("kafka-1", &For::Hosts(&["127.0.0.1"]), Some(&ca));
    let address = serve(Shown { newest: SslVersion::TLS1_1, ..Shown::new(broker) }).await;
    let end = exchange(&trusting(&ca), &address, "127.0.0.1").await;
    assert!(matches!(&end, Err(WireError::TlsRefused(words)) if words.contains("protocol version")), "{end:?}");
}

#[tokio::test]
async fn an_unknown_ca_is_named() {
    let (ours, theirs) = (ca(), issue("Another CA", &For::Issuing, None));
    let broker = issue("kafka-1", &For::Hosts(&["127.0.0.1"]), Some(&theirs));
    let address = serve(Shown::new(broker)).await;
    let end = exchange(&trusting(&ours), &address, "127.0.0.1").await;
    assert_eq!(end, Err(WireError::CertificateNotTrusted("CN=kafka-1, issued by CN=Another CA".to_owned())));
    let alone = issue("kafka-2", &For::Hosts(&["127.0.0.1"]), None);
    let address = serve(Shown::new(alone.clone())).await;
    let end = exchange(&trusting(&ours), &address, "127.0.0.1").await;
    assert_eq!(end, Err(WireError::CertificateNotTrusted("CN=kafka-2, issued by itself".to_owned())));
    let end = exchange(&trusting(&alone), &address, "127.0.0.1").await;
    assert_eq!(end, Ok(b"hello back".to_vec()), "trusted by itself, as a trust store may have it");
}

#[tokio::test]
async fn an_expired_certificate_says_when() {
    let ca = ca();
    let broker = issue("kafka-1", &For::ExpiredHosts(&["127.0.0.1"]), Some(&ca));
    let address = serve(Shown::new(broker)).await;
    let end = exchange(&trusting(&ca), &address, "127.0.0.1").await;
    let words = "the one of CN=kafka-1 expired on Sep 13 12:26:40 2020 GMT";
    assert_eq!(end, Err(WireError::CertificateExpired(words.to_owned())));
}

#[tokio::test]
async fn a_certificate_for_another_name_says_which_it_has() {
    let ca = ca();
    let broker = issue("kafka-1", &For::Hosts(&["kafka-1.example", "10.0.0.1"]), Some(&ca));
    let address = serve(Shown::new(broker)).await;
    let names = vec!["kafka-1.example".to_owned(), "10.0.0.1".to_owned()];
    for host in ["kafka-2.example", "127.0.0.1"] {
        let end = exchange(&trusting(&ca), &address, host).await;
        assert_eq!(end, Err(WireError::CertificateForOthers { host: host.to_owned(), names: names.clone() }));
        let lenient = Tls { verify_host: false, ..trusting(&ca) };
        assert_eq!(exchange(&lenient, &address, host).await, Ok(b"hello back".to_vec()), "verify_host = false");
    }
}

#[tokio::test]
async fn a_client_certificate_gets_in_however_it_is_given() {
    let (ca, files) = (ca(), Files::new());
    let broker = issue("kafka-1", &For::Hosts(&["127.0.0.1"]), Some(&ca));
    let us = issue("unstuck", &For::Hosts(&["unstuck.example"]), Some(&ca));
    let pem = |key: String, password: Option<&str>| Identity::Pem {
        certificates: inline(us.pem()),
        key: inline(key),
        password: password.map(Secret::value),
    };
    let both = files.put("both.pem", us.pem() + &us.key_pem());
    let store = files.put("us.p12", us.pkcs12("opensesame"));
    let password = files.put("password", "opensesame\n");
    let ways = [
        pem(us.key_pem(), None),
        pem(us.encrypted_key_pem("opensesame"), Some("opensesame")),
        Identity::Pem { certificates: Material::File(both.clone()), key: Material::File(both), password: None },
        Identity::Pkcs12 { file: store, password: Some(Secret::File(password)) },
    ];
    for newest in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let clients = Some(ca.certificate.clone());
        let address = serve(Shown { newest, clients, ..Shown::new(broker.clone()) }).await;
        for identity in &ways {
            let tls = Tls { identity: Some(identity.clone()), ..trusting(&ca) };
            assert_eq!(exchange(&tls, &address, "127.0.0.1").await, Ok(b"hello back".to_vec()), "{identity:?}");
        }
        let end = exchange(&trusting(&ca), &address, "127.0.0.1").await;
        let without = matches!(&end, Err(WireError::TlsRefused(words)) if words.ends_with("; we show no certificate"));
        assert!(without, "{end:?}");
        let stranger = issue("stranger", &For::Hosts(&["unstuck.example"]), None);
        let identity =
            Identity::Pem { certificates: inline(stranger.pem()), key: inline(stranger.key_pem()), password: None };
        let end = exchange(&Tls { identity: Some(identity), ..trusting(&ca) }, &address, "127.0.0.1").await;
        assert!(matches!(&end, Err(WireError::TlsRefused(words)) if words.contains("unknown CA")), "{end:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_used_is_told_with_setting_and_file_before_anybody_connects() {
    let (ca, files) = (ca(), Files::new());
    let us = issue("unstuck", &For::Hosts(&["unstuck.example"]), Some(&ca));
    let another = issue("another", &For::Hosts(&["unstuck.example"]), Some(&ca));
    let of = |certificates: Material, key: Material, password: Option<&str>| Tls {
        identity: Some(Identity::Pem { certificates, key, password: password.map(Secret::value) }),
        ..trusting(&ca)
    };
    let with_ca = |ca: Material| Tls { ca: Some(ca), ..Tls::default() };
    let pkcs12 = |file, password: &str| Tls {
        identity: Some(Identity::Pkcs12 { file, password: Some(Secret::value(password)) }),
        ..trusting(&ca)
    };
    let gone = std::path::PathBuf::from("/no/such/ca.pem");
    let noise = files.put("noise.pem", "-----BEGIN NOISE-----");
    let binary = files.put("binary.pem", [0xff, 0xfe, 0]);
    let store = files.put("us.p12", us.pkcs12("opensesame"));
    let locked = files.put("locked.pem", us.encrypted_key_pem("opensesame"));
    let ours = || inline(us.pem());
    let cases = [
        with_ca(Material::File(gone)),
        with_ca(Material::File(noise.clone())),
        with_ca(Material::File(binary)),
        of(inline(us.key_pem()), inline(us.key_pem()), None),
        of(ours(), Material::File(noise.clone()), None),
        of(ours(), Material::File(locked.clone()), None),
        of(ours(), Material::File(locked), Some("guess-the-password")),
        of(ours(), inline(another.key_pem()), None),
        pkcs12(noise, "opensesame"),
        pkcs12(store, "guess-the-password"),
    ];
    let mut told = String::new();
    for tls in cases {
        let checked = Security { tls: Some(tls.clone()), sasl: None }.check().expect_err("of no use").to_string();
        let dialed = exchange(&tls, "127.0.0.1:1", "127.0.0.1").await;
        assert_eq!(dialed, Err(WireError::Unusable(checked.clone())));
        assert!(!checked.contains("guess-the-password") && !checked.contains("PRIVATE"), "{checked}");
        let folder = files.put("x", "").parent().expect("a folder").display().to_string();
        told += &(checked.replace(&folder, "FOLDER") + "\n");
    }
    insta::assert_snapshot!(told);
    assert_eq!(Security { tls: Some(trusting(&ca)), sasl: None }.check(), Ok(()));
}

#[tokio::test]
async fn renewed_files_are_read_again() {
    let (ca, other, files) = (ca(), issue("Another CA", &For::Issuing, None), Files::new());
    let broker = issue("kafka-1", &For::Hosts(&["127.0.0.1"]), Some(&ca));
    let address = serve(Shown::new(broker)).await;
    let path = files.put("ca.pem", other.pem());
    let dialer = dialer(&Tls { ca: Some(Material::File(path)), ..Tls::default() });
    let end = exchange_with(&dialer, &address, "127.0.0.1").await;
    assert!(matches!(end, Err(WireError::CertificateNotTrusted(_))), "{end:?}");
    // Another length, as the time of a file may be coarse.
    files.put("ca.pem", ca.pem() + "\n\n");
    assert_eq!(exchange_with(&dialer, &address, "127.0.0.1").await, Ok(b"hello back".to_vec()), "at once");
}

#[tokio::test]
async fn after_a_failure_nobody_knocks_for_a_while() {
    let (ours, theirs) = (ca(), issue("Another CA", &For::Issuing, None));
    let broker = issue("kafka-1", &For::Hosts(&["127.0.0.1"]), Some(&theirs));
    let address = serve(Shown::new(broker)).await;
    let dialer = SecureDial::new(Arc::new(Once(Mutex::new(true))), trusting(&ours));
    let first = exchange_with(&dialer, &address, "127.0.0.1").await;
    assert!(matches!(first, Err(WireError::CertificateNotTrusted(_))), "{first:?}");
    assert_eq!(exchange_with(&dialer, &address, "127.0.0.1").await, first, "without another connection");
}

/// Connects once.
struct Once(Mutex<bool>);

impl Dial for Once {
    fn dial<'a>(&'a self, address: &'a str, until: Instant) -> Dialing<'a> {
        assert!(std::mem::take(&mut *self.0.lock().expect("no panic")), "a second connection");
        Box::pin(async move { Tcp.dial(address, until).await })
    }
}

#[tokio::test]
async fn a_peer_without_tls_is_told_from_one_that_hangs_and_one_that_is_gone() {
    let tls = trusting(&ca());
    let speaks = |answer: &'static [u8]| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut read = [0; 4096];
                    let _: io::Result<usize> = stream.read(&mut read).await;
                    let _: io::Result<()> = stream.write_all(answer).await;
                });
            }
        });
        address
    };
    assert_eq!(exchange(&tls, &speaks(b"HTTP/1.1 400 Bad Request\r\n\r\n").await, "h").await, Err(WireError::NotTls));
    assert_eq!(exchange(&tls, &speaks(b"\0\0\0\x0aKafka it is").await, "h").await, Err(WireError::NotTls));
    assert_eq!(exchange(&tls, &speaks(b"").await, "h").await, Err(WireError::Closed));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let hung = listener.local_addr().expect("bound").to_string();
    let dialer = dialer(&tls);
    let mut connection = Connection::connect_by(&dialer, &hung, "test", DEADLINE).await.expect("TCP stands");
    for _ in 0..2 {
        assert_eq!(connection.handshake(SHORT).await, Err(WireError::Silent), "hung, and asked again");
    }
    drop(listener);
    let gone = Connection::connect_by(&dialer, &hung, "test", DEADLINE).await.err();
    assert_eq!(gone, Some(WireError::Refused));
}

#[tokio::test]
async fn an_end_and_a_large_answer_arrive() {
    let ca = ca();
    let broker = issue("kafka-1", &For::Hosts(&["127.0.0.1"]), Some(&ca));
    let large = vec![7; 3 << 20];
    let address = serve(Shown { answer: large.clone(), ..Shown::new(broker) }).await;
    let dialer = dialer(&trusting(&ca));
    let mut stream = dialer.dial(&address, Instant::now() + DEADLINE).await.expect("TCP stands");
    stream.write_all(b"more").await.expect("written");
    let mut read = vec![0; large.len()];
    timeout(DEADLINE, stream.read_exact(&mut read)).await.expect("in time").expect("all of it");
    assert_eq!(read, large);
    stream.shutdown().await.expect("half closed");
    let mut rest = Vec::new();
    timeout(DEADLINE, stream.read_to_end(&mut rest)).await.expect("in time").ok();
    assert!(rest.is_empty());
}

#[tokio::test]
async fn this_machines_own_certificates_do_not_have_ours() {
    let ca = ca();
    let broker = issue("kafka-1", &For::Hosts(&["127.0.0.1"]), Some(&ca));
    let address = serve(Shown::new(broker)).await;
    let end = exchange(&Tls::default(), &address, "127.0.0.1").await;
    // Unusable on a machine that trusts nobody.
    assert!(matches!(end, Err(WireError::CertificateNotTrusted(_) | WireError::Unusable(_))), "{end:?}");
}
