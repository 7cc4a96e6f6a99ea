//! Each way in which a peer can fail is told apart.

use std::time::Duration;

use tokio::net::TcpListener;

use crate::messages::groups::{DescribeGroupsRequest, ListGroupsRequest};
use crate::testing::{DEADLINE, greet, listen};
use crate::{Api, Connection, Dial, Dialing, Stream, Tcp, WireError, speaks_tls};

/// Short, for peers that never answer.
const SHORT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn an_answer_is_read() {
    let address = listen(|mut peer| async move {
        peer.offer_list_groups().await?;
        let asked = peer.asked().await?;
        // No error, one group `g` of type `consumer`.
        peer.answer(asked.correlation, b"\0\0\0\0\0\x01\0\x01g\0\x08consumer").await
    })
    .await;
    let mut connection = greet(&address, DEADLINE).await.expect("a broker");
    assert_eq!(connection.version(Api::ListGroups), Some(0));
    let answer = connection.call(&ListGroupsRequest, DEADLINE).await.expect("an answer").answer;
    assert_eq!((answer.groups[0].id.as_str(), answer.groups[0].state.as_deref()), ("g", None));
}

#[tokio::test]
async fn api_versions_falls_back_to_version_0() {
    let address = listen(|mut peer| async move {
        let asked = peer.asked().await?;
        assert_eq!(asked.version, 3);
        // What Kafka before 2.4 says: error 35 in the layout of version 0, and nothing offered.
        peer.answer(asked.correlation, &[0, 35, 0, 0, 0, 0]).await?;
        let asked = peer.asked().await?;
        assert_eq!(asked.version, 0);
        peer.answer(asked.correlation, &[0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 5]).await
    })
    .await;
    let connection = greet(&address, DEADLINE).await.expect("a broker");
    assert_eq!(connection.version(Api::Metadata), Some(5));
}

#[tokio::test]
async fn what_a_broker_does_not_offer_is_too_old_and_is_not_sent() {
    let address = listen(|mut peer| async move {
        peer.offer_list_groups().await?;
        peer.hang().await
    })
    .await;
    let mut connection = greet(&address, DEADLINE).await.expect("a broker");
    let request = DescribeGroupsRequest { groups: vec!["g".to_owned()] };
    assert_eq!(connection.call(&request, DEADLINE).await.err(), Some(WireError::TooOld("DescribeGroups")));
    assert!(!connection.waits());
}

#[tokio::test]
async fn a_closed_port_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    drop(listener);
    assert_eq!(greet(&address, DEADLINE).await.err(), Some(WireError::Refused));
}

#[tokio::test]
async fn a_wrong_name_is_not_found() {
    let failure = greet("no-such-host.invalid:9092", DEADLINE).await.err();
    assert!(matches!(failure, Some(WireError::NameNotFound(_))), "{failure:?}");
    let failure = greet("no port", DEADLINE).await.err();
    assert!(matches!(failure, Some(WireError::NameNotFound(_))), "{failure:?}");
}

#[tokio::test]
async fn a_peer_that_hangs_up_is_closed() {
    let address = listen(|mut peer| async move { peer.asked().await.map(drop) }).await;
    assert_eq!(greet(&address, DEADLINE).await.err(), Some(WireError::Closed));
}

#[tokio::test]
async fn hanging_up_after_api_versions_is_what_a_sasl_listener_does() {
    let address = listen(|mut peer| async move {
        peer.offer_list_groups().await?;
        peer.asked().await.map(drop)
    })
    .await;
    let mut connection = greet(&address, DEADLINE).await.expect("a broker");
    let failure = connection.call(&ListGroupsRequest, DEADLINE).await.err();
    assert_eq!(failure, Some(WireError::ClosedAfterApiVersions));
}

#[tokio::test]
async fn half_a_frame_and_an_end_is_closed() {
    let address = listen(|mut peer| async move {
        let asked = peer.asked().await?;
        peer.raw(&[0, 0, 0, 99]).await?;
        peer.raw(&asked.correlation.to_be_bytes()).await
    })
    .await;
    assert_eq!(greet(&address, DEADLINE).await.err(), Some(WireError::Closed));
}

#[tokio::test]
async fn http_is_recognised_even_from_servers_that_wait_for_a_line() {
    use tokio::io::{AsyncBufReadExt, BufReader};
    let address = listen(|mut peer| async move {
        // Like any HTTP server: says nothing before it has read a line.
        let mut line = Vec::new();
        BufReader::new(&mut peer.stream).read_until(b'\n', &mut line).await.ok()?;
        peer.raw(b"HTTP/1.1 400 Bad Request\r\n\r\n").await?;
        peer.hang().await
    })
    .await;
    assert_eq!(greet(&address, DEADLINE).await.err(), Some(WireError::SpeaksHttp));
}

#[tokio::test]
async fn a_tls_alert_is_recognised() {
    let address = listen(|mut peer| async move {
        peer.asked().await?;
        peer.raw(&[0x15, 3, 3, 0, 2, 2, 10]).await
    })
    .await;
    assert_eq!(greet(&address, DEADLINE).await.err(), Some(WireError::SpeaksTls));
}

#[tokio::test]
async fn a_tls_listener_that_says_nothing_in_plaintext_answers_a_hello() {
    let tls = listen(|mut peer| async move {
        use tokio::io::AsyncReadExt;
        let mut head = [0; 3];
        peer.stream.read_exact(&mut head).await.ok()?;
        if head[0] == 0x16 { peer.raw(&[0x15, 3, 3, 0, 2, 2, 40]).await } else { None }
    })
    .await;
    let closing = listen(|mut peer| async move { peer.asked().await.map(drop) }).await;
    assert_eq!(greet(&tls, DEADLINE).await.err(), Some(WireError::Closed));
    assert!(speaks_tls(&Tcp, &tls, DEADLINE).await);
    assert!(!speaks_tls(&Tcp, &closing, DEADLINE).await);
}

#[tokio::test]
async fn hostile_lengths_are_refused() {
    for length in [i32::MAX, -1, 3, i32::MIN, 0x7000_0000] {
        let address = listen(move |mut peer| async move {
            peer.asked().await?;
            peer.raw(&length.to_be_bytes()).await?;
            peer.hang().await
        })
        .await;
        let failure = greet(&address, DEADLINE).await.err();
        assert!(matches!(failure, Some(WireError::Malformed(_))), "{length}: {failure:?}");
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_malformed() {
    let address = listen(|mut peer| async move {
        let asked = peer.asked().await?;
        peer.answer(asked.correlation.wrapping_add(1), &[0; 16]).await?;
        peer.hang().await
    })
    .await;
    let failure = greet(&address, DEADLINE).await.err();
    assert!(matches!(failure, Some(WireError::Malformed(_))), "{failure:?}");
}

#[tokio::test]
async fn bytes_left_over_are_malformed() {
    let address = listen(|mut peer| async move {
        peer.offer_list_groups().await?;
        let asked = peer.asked().await?;
        peer.answer(asked.correlation, &[0, 0, 0, 0, 0, 0, 77]).await?;
        peer.hang().await
    })
    .await;
    let mut connection = greet(&address, DEADLINE).await.expect("a broker");
    let failure = connection.call(&ListGroupsRequest, DEADLINE).await.err();
    assert_eq!(failure, Some(WireError::Malformed("1 bytes left over after ListGroups version 0".to_owned())));
}

#[tokio::test]
async fn a_hung_peer_is_silent_again_and_again_and_gets_one_request() {
    let address = listen(|mut peer| async move {
        peer.offer_list_groups().await?;
        peer.asked().await?;
        assert!(peer.asked().await.is_none(), "nothing is sent behind an unanswered request");
        Some(())
    })
    .await;
    let mut connection = greet(&address, DEADLINE).await.expect("a broker");
    for _ in 0..3 {
        assert_eq!(connection.call(&ListGroupsRequest, SHORT).await.err(), Some(WireError::Silent));
        assert!(connection.waits());
    }
}

#[tokio::test]
async fn a_late_answer_is_not_taken_for_the_next_one() {
    let address = listen(|mut peer| async move {
        peer.offer_list_groups().await?;
        let late = peer.asked().await?;
        tokio::time::sleep(SHORT * 3).await;
        peer.answer(late.correlation, b"\0\0\0\0\0\x01\0\x04late\0\0").await?;
        let next = peer.asked().await?;
        peer.answer(next.correlation, b"\0\0\0\0\0\x01\0\x04next\0\0").await
    })
    .await;
    let mut connection = greet(&address, DEADLINE).await.expect("a broker");
    assert_eq!(connection.call(&ListGroupsRequest, SHORT).await.err(), Some(WireError::Silent));
    assert_eq!(connection.late_answer(Duration::ZERO).await, Err(WireError::Silent));
    let answer = connection.call(&ListGroupsRequest, DEADLINE).await.expect("it answers again").answer;
    assert_eq!(answer.groups[0].id, "next");
}

#[tokio::test]
async fn a_late_answer_can_be_waited_for() {
    let address = listen(|mut peer| async move {
        peer.offer_list_groups().await?;
        let late = peer.asked().await?;
        tokio::time::sleep(SHORT * 2).await;
        peer.answer(late.correlation, b"\0\0\0\0\0\x01\0\x04late\0\0").await?;
        peer.hang().await
    })
    .await;
    let mut connection = greet(&address, DEADLINE).await.expect("a broker");
    assert_eq!(connection.late_answer(Duration::ZERO).await, Ok(()), "none is owed");
    assert_eq!(connection.call(&ListGroupsRequest, SHORT).await.err(), Some(WireError::Silent));
    assert_eq!(connection.late_answer(DEADLINE).await, Ok(()));
    assert!(!connection.waits());
}

#[tokio::test]
async fn the_end_of_an_idle_connection_is_an_event() {
    let address = listen(|mut peer| async move { peer.offer_list_groups().await }).await;
    let mut connection = greet(&address, DEADLINE).await.expect("a broker");
    let end = tokio::time::timeout(DEADLINE, connection.ended()).await;
    assert_eq!(end, Ok(WireError::Closed));
}

#[tokio::test]
async fn an_id_that_does_not_fit_is_refused_before_the_socket() {
    let address = listen(|mut peer| async move {
        let asked = peer.asked().await?;
        // DescribeGroups in version 5, a flexible one whose strings could be longer on the wire.
        peer.answer(asked.correlation, &[0, 0, 2, 0, 15, 0, 5, 0, 5, 0, 0, 0, 0, 0, 0]).await?;
        assert!(peer.asked().await.is_none(), "nothing is sent");
        Some(())
    })
    .await;
    let mut connection: Connection = greet(&address, DEADLINE).await.expect("a broker");
    let request = DescribeGroupsRequest { groups: vec!["é".repeat(16_384)] };
    assert_eq!(connection.call(&request, DEADLINE).await.err(), Some(WireError::StringTooLong(32_768)));
}

/// Leads to peers in memory, by the host: `open` stands, `refusing` refuses, anything else never answers.
struct Memory {
    /// How many bytes a connection holds that nobody has read yet.
    buffer: usize,
    peers: std::sync::Mutex<Vec<tokio::io::DuplexStream>>,
}

impl Memory {
    fn new(buffer: usize) -> Self {
        Self { buffer, peers: std::sync::Mutex::default() }
    }
}

impl Dial for Memory {
    fn dial<'a>(&'a self, address: &'a str, _until: tokio::time::Instant) -> Dialing<'a> {
        Box::pin(async move {
            match address {
                "open:1" => {
                    let (ours, theirs) = tokio::io::duplex(self.buffer);
                    self.peers.lock().expect("no panic").push(theirs);
                    let stream: Box<dyn Stream> = Box::new(ours);
                    Ok(stream)
                }
                "refusing:1" => Err(WireError::Refused),
                _ => std::future::pending().await,
            }
        })
    }
}

#[tokio::test]
async fn a_dialer_decides_where_connections_lead() {
    let memory = Memory::new(1 << 10);
    let connect = |address| Connection::connect_by(&memory, address, "test", SHORT);
    assert_eq!(connect("refusing:1").await.err(), Some(WireError::Refused));
    assert_eq!(connect("nowhere:1").await.err(), Some(WireError::ConnectTimeout));
    let mut connection = connect("open:1").await.expect("it stands");
    assert_eq!(connection.handshake(SHORT).await.err(), Some(WireError::Silent));
    memory.peers.lock().expect("no panic").clear();
    assert_eq!(connection.handshake(DEADLINE).await.err(), Some(WireError::Closed));
    assert!(!speaks_tls(&memory, "open:1", SHORT).await);
}

#[tokio::test]
async fn a_peer_that_takes_half_a_request_is_silent_for_the_whole_deadline_each_time() {
    let memory = Memory::new(8);
    let mut connection = Connection::connect_by(&memory, "open:1", "test", DEADLINE).await.expect("it stands");
    for _ in 0..3 {
        let started = std::time::Instant::now();
        assert_eq!(connection.handshake(SHORT).await.err(), Some(WireError::Silent));
        assert!(started.elapsed() >= SHORT, "else the caller, who asks again at once, spins");
    }
    memory.peers.lock().expect("no panic").clear();
    assert_eq!(connection.handshake(DEADLINE).await.err(), Some(WireError::Closed));
}
