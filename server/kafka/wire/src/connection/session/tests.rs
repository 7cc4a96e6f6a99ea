//! Logging in, against peers that keep to the order and peers that do not.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::{BufMut, BytesMut};

use super::*;
use crate::messages::groups::ListGroupsRequest;
use crate::testing::{Asked, DEADLINE, Peer as Broker, listen};
use crate::{Beginning, Tcp};

const HANDSHAKE: i16 = 17;
const AUTHENTICATE: i16 = 36;
const LIST_GROUPS: i16 = 16;
const SHORT: Duration = Duration::from_millis(100);

/// Says `hello`, and when it hears `who` says `me`; is through when it hears `welcome`.
#[derive(Default)]
struct Polite {
    begun: AtomicU32,
    ends: Mutex<Vec<Result<(), WireError>>>,
    stalled: AtomicU32,
}

struct Talking {
    of: Arc<Polite>,
    expects: &'static [&'static [u8]],
}

impl Login for Arc<Polite> {
    fn mechanism(&self) -> &str {
        "POLITE"
    }

    fn worth(&self, peer: &Peer) -> Result<(), WireError> {
        if peer.host == "banned" { Err(WireError::LoginRefused("before".to_owned())) } else { Ok(()) }
    }

    fn begin<'a>(&'a self, _: &'a Peer) -> Beginning<'a> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let talking = Talking { of: Arc::clone(self), expects: &[b"who", b"welcome"] };
        Box::pin(async move {
            let talking: Box<dyn Conversation> = Box::new(talking);
            Ok(talking)
        })
    }
}

impl Conversation for Talking {
    fn next(&mut self, said: Option<&[u8]>) -> Result<Option<Vec<u8>>, WireError> {
        let Some(said) = said else { return Ok(Some(b"hello".to_vec())) };
        match self.expects.split_first() {
            Some((first, rest)) if *first == said => {
                self.expects = rest;
                Ok((!rest.is_empty()).then(|| b"me".to_vec()))
            }
            _ => Err(WireError::PeerNotProven("out of order".to_owned())),
        }
    }

    fn words(&self, text: &str) -> String {
        text.replace("secret", "***")
    }

    fn stalled(&mut self) {
        self.of.stalled.fetch_add(1, Ordering::SeqCst);
    }

    fn ended(&mut self, end: Result<(), &WireError>) {
        self.of.ends.lock().expect("no panic").push(end.map_err(Clone::clone));
    }
}

async fn enter(address: &str, login: &Arc<Polite>, deadline: Duration) -> Result<Connection, WireError> {
    let login: Arc<dyn Login> = Arc::new(Arc::clone(login));
    let peer = Peer { address: address.to_owned(), host: "broker".to_owned() };
    let mut connection = Connection::enter(&Tcp, peer, Some(login), "test", DEADLINE).await?;
    connection.handshake(deadline).await?;
    Ok(connection)
}

impl Broker {
    async fn must(&mut self, api: i16) -> Option<Asked> {
        let asked = self.asked().await?;
        assert_eq!(asked.api, api, "in this order");
        Some(asked)
    }

    /// Offers ListGroups, SaslHandshake and SaslAuthenticate.
    async fn offer_login(&mut self) -> Option<()> {
        let asked = self.must(18).await?;
        let mut body = BytesMut::new();
        body.put_i16(0);
        body.put_u8(4);
        for (api, highest) in [(LIST_GROUPS, 0), (HANDSHAKE, 1), (AUTHENTICATE, 1)] {
            body.put_i16(api);
            body.put_i16(0);
            body.put_i16(highest);
            body.put_u8(0);
        }
        body.put_slice(&[0; 5]);
        self.answer(asked.correlation, &body).await
    }

    async fn name(&mut self, error: i16, offered: &[&str]) -> Option<()> {
        let asked = self.must(HANDSHAKE).await?;
        assert!(asked.rest.ends_with(b"\0\x06POLITE"), "{:?}", asked.rest);
        let mut body = BytesMut::new();
        body.put_i16(error);
        body.put_i32(i32::try_from(offered.len()).ok()?);
        for name in offered {
            body.put_i16(i16::try_from(name.len()).ok()?);
            body.put_slice(name.as_bytes());
        }
        self.answer(asked.correlation, &body).await
    }

    async fn hear(&mut self, said: &[u8]) -> Option<i32> {
        let asked = self.must(AUTHENTICATE).await?;
        assert_eq!(asked.version, 1);
        assert!(asked.rest.ends_with(said), "{:?}", asked.rest);
        Some(asked.correlation)
    }

    async fn say(
        &mut self,
        correlation: i32,
        error: i16,
        message: Option<&str>,
        said: &[u8],
        session: i64,
    ) -> Option<()> {
        let mut body = BytesMut::new();
        body.put_i16(error);
        match message {
            Some(message) => {
                body.put_i16(i16::try_from(message.len()).ok()?);
                body.put_slice(message.as_bytes());
            }
            None => body.put_i16(-1),
        }
        body.put_i32(i32::try_from(said.len()).ok()?);
        body.put_slice(said);
        body.put_i64(session);
        self.answer(correlation, &body).await
    }

    async fn let_in(&mut self, session: i64) -> Option<()> {
        self.name(0, &["POLITE"]).await?;
        let first = self.hear(b"hello").await?;
        self.say(first, 0, None, b"who", 0).await?;
        let second = self.hear(b"me").await?;
        self.say(second, 0, None, b"welcome", session).await
    }

    async fn list_groups(&mut self) -> Option<()> {
        let asked = self.must(LIST_GROUPS).await?;
        self.answer(asked.correlation, &[0; 6]).await
    }
}

#[tokio::test]
async fn the_login_comes_before_the_first_request() {
    let address = listen(|mut broker| async move {
        broker.offer_login().await?;
        broker.let_in(0).await?;
        broker.list_groups().await?;
        broker.list_groups().await
    })
    .await;
    let login = Arc::default();
    let mut connection = enter(&address, &login, DEADLINE).await.expect("let in");
    for _ in 0..2 {
        connection.call(&ListGroupsRequest, DEADLINE).await.expect("an answer");
    }
    assert_eq!(login.begun.load(Ordering::SeqCst), 1);
    assert_eq!(*login.ends.lock().expect("no panic"), [Ok(())]);
}

#[tokio::test]
async fn it_is_repeated_before_the_session_ends() {
    let address = listen(|mut broker| async move {
        broker.offer_login().await?;
        broker.let_in(1_500).await?;
        broker.list_groups().await?;
        broker.let_in(0).await?;
        broker.list_groups().await
    })
    .await;
    let login = Arc::default();
    let mut connection = enter(&address, &login, DEADLINE).await.expect("let in");
    connection.call(&ListGroupsRequest, DEADLINE).await.expect("an answer");
    tokio::time::sleep(Duration::from_millis(1_400)).await;
    connection.call(&ListGroupsRequest, DEADLINE).await.expect("an answer in the second session");
    assert_eq!(login.begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_refusal_has_the_brokers_words_without_the_secret_and_nothing_follows() {
    let address = listen(|mut broker| async move {
        broker.offer_login().await?;
        broker.name(0, &[]).await?;
        let asked = broker.hear(b"hello").await?;
        broker.say(asked, 58, Some("no\nsecret here"), &[], 0).await?;
        assert!(broker.asked().await.is_none(), "nothing is sent without a login");
        Some(())
    })
    .await;
    let login: Arc<Polite> = Arc::default();
    let entering: Arc<dyn Login> = Arc::new(Arc::clone(&login));
    let peer = Peer { address, host: "broker".to_owned() };
    let mut connection = Connection::enter(&Tcp, peer, Some(entering), "test", DEADLINE).await.expect("it stands");
    let refused = WireError::LoginRefused("no *** here".to_owned());
    assert_eq!(connection.handshake(DEADLINE).await, Err(refused.clone()));
    assert_eq!(connection.call(&ListGroupsRequest, DEADLINE).await.err(), Some(refused.clone()));
    assert_eq!(*login.ends.lock().expect("no panic"), [Err(refused)]);
}

#[tokio::test]
async fn a_mechanism_that_is_not_offered_is_told_with_those_that_are() {
    let address = listen(|mut broker| async move {
        broker.offer_login().await?;
        broker.name(33, &["PLAIN", "GSSAPI"]).await?;
        broker.hang().await
    })
    .await;
    let offered = vec!["PLAIN".to_owned(), "GSSAPI".to_owned()];
    let failure = enter(&address, &Arc::default(), DEADLINE).await.err();
    assert_eq!(failure, Some(WireError::MechanismNotOffered { mechanism: "POLITE".to_owned(), offered }));
}

#[tokio::test]
async fn a_listener_that_takes_no_login_says_so() {
    let address = listen(|mut broker| async move {
        broker.offer_login().await?;
        broker.name(34, &[]).await?;
        broker.hang().await
    })
    .await;
    assert_eq!(enter(&address, &Arc::default(), DEADLINE).await.err(), Some(WireError::NoLoginHere));
    let address = listen(|mut broker| async move {
        broker.offer_list_groups().await?;
        broker.hang().await
    })
    .await;
    assert_eq!(enter(&address, &Arc::default(), DEADLINE).await.err(), Some(WireError::NoLoginHere));
}

#[tokio::test]
async fn whoever_says_more_than_the_mechanism_has_is_not_believed() {
    let address = listen(|mut broker| async move {
        broker.offer_login().await?;
        broker.name(0, &[]).await?;
        let asked = broker.hear(b"hello").await?;
        broker.say(asked, 0, None, b"welcome", 0).await?;
        broker.hang().await
    })
    .await;
    let failure = enter(&address, &Arc::default(), DEADLINE).await.err();
    assert_eq!(failure, Some(WireError::PeerNotProven("out of order".to_owned())));
}

#[tokio::test]
async fn answers_out_of_order_and_hostile_lengths_are_malformed() {
    let address = listen(|mut broker| async move {
        broker.offer_login().await?;
        broker.name(0, &[]).await?;
        let asked = broker.hear(b"hello").await?;
        broker.say(asked.wrapping_add(1), 0, None, b"who", 0).await?;
        broker.hang().await
    })
    .await;
    let failure = enter(&address, &Arc::default(), DEADLINE).await.err();
    assert!(matches!(failure, Some(WireError::Malformed(_))), "{failure:?}");
    for length in [i32::MAX, -2, i32::MIN, 70_000] {
        let address = listen(move |mut broker| async move {
            broker.offer_login().await?;
            broker.name(0, &[]).await?;
            let asked = broker.hear(b"hello").await?;
            let mut body = BytesMut::new();
            body.put_slice(&[0, 0, 0xff, 0xff]);
            body.put_i32(length);
            body.put_slice(b"who");
            broker.answer(asked, &body).await?;
            broker.hang().await
        })
        .await;
        let failure = enter(&address, &Arc::default(), DEADLINE).await.err();
        assert!(
            matches!(failure, Some(WireError::Malformed(_) | WireError::PeerNotProven(_))),
            "{length}: {failure:?}"
        );
    }
}

#[tokio::test]
async fn a_slow_broker_is_waited_for_and_asked_once() {
    let address = listen(|mut broker| async move {
        let asked = broker.must(18).await?;
        tokio::time::sleep(SHORT * 3).await;
        let mut body = BytesMut::new();
        body.put_slice(&[0, 0, 3]);
        for api in [HANDSHAKE, AUTHENTICATE] {
            body.put_i16(api);
            body.put_slice(&[0, 0, 0, 1, 0]);
        }
        body.put_slice(&[0; 5]);
        broker.answer(asked.correlation, &body).await?;
        broker.name(0, &[]).await?;
        let first = broker.hear(b"hello").await?;
        tokio::time::sleep(SHORT * 3).await;
        broker.say(first, 0, None, b"who", 0).await?;
        let second = broker.hear(b"me").await?;
        broker.say(second, 0, None, b"welcome", 0).await?;
        broker.hang().await
    })
    .await;
    let login: Arc<Polite> = Arc::default();
    let entering: Arc<dyn Login> = Arc::new(Arc::clone(&login));
    let peer = Peer { address, host: "broker".to_owned() };
    let mut connection = Connection::enter(&Tcp, peer, Some(entering), "test", DEADLINE).await.expect("it stands");
    let mut silent = 0;
    while let Err(error) = connection.handshake(SHORT).await {
        assert_eq!(error, WireError::Silent);
        silent += 1;
    }
    assert!(silent >= 2, "{silent}");
    assert!(login.stalled.load(Ordering::SeqCst) >= 1, "others need not wait for it");
    assert_eq!(*login.ends.lock().expect("no panic"), [Ok(())]);
}

#[tokio::test]
async fn nobody_connects_while_it_is_too_early() {
    let login: Arc<dyn Login> = Arc::new(Arc::<Polite>::default());
    let peer = Peer { address: "no-such-host.invalid:9092".to_owned(), host: "banned".to_owned() };
    let failure = Connection::enter(&Tcp, peer, Some(login), "test", DEADLINE).await.err();
    assert_eq!(failure, Some(WireError::LoginRefused("before".to_owned())));
}
