//! The mechanisms against a broker's side of them, also one that lies.

use openssl::base64;
use openssl::hash::MessageDigest;
use openssl::pkcs5::pbkdf2_hmac;
use openssl::pkey::PKey;
use openssl::sign::Signer;

use super::*;
use crate::{ScramHash, Secret};

const SECRET: &str = "correct-horse-battery";

fn login_of(sasl: Sasl) -> SaslLogin {
    let tokens = crate::Tokens::of(&sasl);
    let tickets = Tickets::of(&sasl);
    SaslLogin::new(sasl, tokens, tickets)
}

fn plain() -> Sasl {
    Sasl::Plain { username: "ada".to_owned(), password: Secret::value(SECRET) }
}

fn scram(hash: ScramHash) -> Sasl {
    Sasl::Scram { hash, username: "ada".to_owned(), password: Secret::value(SECRET) }
}

fn peer() -> Peer {
    Peer { address: "broker:9092".to_owned(), host: "broker".to_owned() }
}

async fn begin(login: &SaslLogin) -> Box<dyn Conversation> {
    login.begin(&peer()).await.unwrap_or_else(|error| panic!("{error}"))
}

/// A broker's side of SCRAM (RFC 5802 section 3), which lets in whoever knows the password.
async fn against(login: &SaslLogin, digest: MessageDigest, password: &str) -> Result<(), WireError> {
    let hmac = |key: &[u8], text: &[u8]| {
        let key = PKey::hmac(key).expect("a key");
        Signer::new(digest, &key).and_then(|mut signer| signer.sign_oneshot_to_vec(text)).expect("signed")
    };
    let (salt, mut salted) = (b"some salt", vec![0; digest.size()]);
    pbkdf2_hmac(password.as_bytes(), salt, 4096, digest, &mut salted).expect("hashed");
    let (client_key, server_key) = (hmac(&salted, b"Client Key"), hmac(&salted, b"Server Key"));
    let stored_key = openssl::hash::hash(digest, &client_key).expect("hashed");

    let mut ours = begin(login).await;
    let first = String::from_utf8(ours.next(None)?.expect("a message")).expect("text");
    let bare = first.strip_prefix("n,,").expect("no channel binding");
    let nonce = bare.strip_prefix("n=ada,r=").expect("the name and a nonce");
    let answer = format!("r={nonce}more,s={},i=4096", base64::encode_block(salt));
    let last = String::from_utf8(ours.next(Some(answer.as_bytes()))?.expect("a proof")).expect("text");
    let (without_proof, proof) = last.rsplit_once(",p=").expect("a proof");
    assert_eq!(without_proof, format!("c=biws,r={nonce}more"));
    let all = format!("{bare},{answer},{without_proof}");
    let signature = hmac(&stored_key, all.as_bytes());
    let proof = base64::decode_block(proof).expect("base64");
    let shown: Vec<u8> = proof.iter().zip(&signature).map(|(one, other)| one ^ other).collect();
    if shown != client_key {
        return Err(WireError::LoginRefused("a wrong proof".to_owned()));
    }
    let verifier = format!("v={}", base64::encode_block(&hmac(&server_key, all.as_bytes())));
    assert_eq!(ours.next(Some(verifier.as_bytes()))?, None);
    Ok(())
}

#[tokio::test]
async fn plain_says_name_and_password_once() {
    let login = login_of(plain());
    let mut ours = begin(&login).await;
    assert_eq!(ours.next(None), Ok(Some(format!("\0ada\0{SECRET}").into_bytes())));
    assert_eq!(ours.next(Some(&[])), Ok(None));
}

#[tokio::test]
async fn scram_gets_in_with_the_password_alone() {
    for (hash, digest) in [(ScramHash::Sha256, MessageDigest::sha256()), (ScramHash::Sha512, MessageDigest::sha512())] {
        let login = login_of(scram(hash));
        let end = against(&login, digest, SECRET).await;
        assert_eq!(end, Ok(()), "{hash:?}");
        let end = against(&login, digest, "another").await;
        assert!(matches!(end, Err(WireError::LoginRefused(_))), "{hash:?}: {end:?}");
    }
}

#[tokio::test]
async fn scram_begins_as_kafka_reads_it() {
    let login = login_of(scram(ScramHash::Sha512));
    let first = begin(&login).await.next(None).expect("a message").expect("some");
    let first = String::from_utf8(first).expect("text");
    assert!(first.starts_with("n,,n=ada,r="), "no channel binding, no other name: {first}");
}

/// What the broker says to our first message, with our nonce.
fn first_answer(said: &[u8], iterations: &str) -> String {
    let text = std::str::from_utf8(said).expect("text");
    let nonce = text.rsplit_once("r=").expect("a nonce").1;
    format!("r={nonce}more,s=QSXCR+Q6sek8bf92,i={iterations}")
}

#[tokio::test]
async fn a_broker_that_does_not_know_the_password_is_not_believed() {
    let login = login_of(scram(ScramHash::Sha256));
    let lies = [
        ("v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "a signature that is wrong"),
        ("", "no signature"),
        ("v=", "an empty one"),
        ("e=other-error", "an error without its code"),
        ("\u{0}\u{1}", "noise"),
        ("v", "half of its name"),
        (",v=AAAA", "nothing first"),
    ];
    for (last, what) in lies {
        let mut ours = begin(&login).await;
        let first = ours.next(None).expect("a message").expect("some");
        ours.next(Some(first_answer(&first, "4096").as_bytes())).expect("a proof").expect("some");
        let end = ours.next(Some(last.as_bytes()));
        assert!(matches!(end, Err(WireError::PeerNotProven(_))), "{what}: {end:?}");
    }
}

#[tokio::test]
async fn nobody_keeps_us_busy_or_has_the_password_cheaply() {
    let login = login_of(scram(ScramHash::Sha256));
    for iterations in ["0", "1", "4095", "1000001", "4294967295", "4294967296", "-1", "", "many"] {
        let mut ours = begin(&login).await;
        let first = ours.next(None).expect("a message").expect("some");
        let end = ours.next(Some(first_answer(&first, iterations).as_bytes()));
        assert!(matches!(end, Err(WireError::PeerNotProven(_))), "{iterations}: {end:?}");
    }
}

#[tokio::test]
async fn a_broker_that_answers_another_login_is_not_believed() {
    let login = login_of(scram(ScramHash::Sha256));
    let mut ours = begin(&login).await;
    ours.next(None).expect("a message");
    let end = ours.next(Some(b"r=somebody-elses-nonce,s=QSXCR+Q6sek8bf92,i=4096"));
    assert!(matches!(end, Err(WireError::PeerNotProven(_))), "{end:?}");
}

#[tokio::test]
async fn hostile_first_answers_are_refused() {
    let login = login_of(scram(ScramHash::Sha256));
    for said in ["", ",", ",,", "r", "r=", "r=a,", "r=a,s", "r=a,s=b,i", "r=a,,i=4096", "m=x,r=a,s=b,i=4096", "\u{0}"] {
        let mut ours = begin(&login).await;
        ours.next(None).expect("a message");
        let end = ours.next(Some(said.as_bytes()));
        assert!(matches!(end, Err(WireError::PeerNotProven(_))), "{said}: {end:?}");
    }
}

#[tokio::test]
async fn a_token_is_sent_and_an_error_is_taken_note_of() {
    let login = login_of(Sasl::OAuthBearer(TokenSource::Token(Secret::value("abc.def.ghi"))));
    let mut ours = begin(&login).await;
    assert_eq!(ours.next(None), Ok(Some(b"n,,\x01auth=Bearer abc.def.ghi\x01\x01".to_vec())));
    assert_eq!(ours.next(Some(br#"{"status":"invalid_token"}"#)), Ok(Some(vec![1])));
    assert_eq!(ours.next(Some(&[])), Ok(None));
    ours.ended(Ok(()));
    let mut ours = begin(&login).await;
    ours.next(None).expect("a message");
    assert_eq!(ours.next(Some(&[])), Ok(None));
}

#[tokio::test]
async fn a_brokers_words_never_have_the_secret() {
    let login = login_of(plain());
    let ours = begin(&login).await;
    assert_eq!(ours.words(&format!("ada with {SECRET} is wrong")), "ada with *** is wrong");
    assert!(!format!("{login:?}").contains(SECRET));
}

#[tokio::test]
async fn after_a_refusal_another_password_is_tried_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    std::fs::write(&file, "first\n").expect("written");
    let login = login_of(Sasl::Plain { username: "ada".to_owned(), password: Secret::File(file.clone()) });
    let refused = WireError::LoginRefused("no".to_owned());
    begin(&login).await.ended(Err(&refused));
    assert_eq!(login.worth(&peer()), Err(refused.clone()));
    assert_eq!(login.begin(&peer()).await.err(), Some(refused));
    std::fs::write(&file, "second\n").expect("written");
    assert_eq!(login.worth(&peer()), Ok(()));
    assert_eq!(begin(&login).await.next(None), Ok(Some(b"\0ada\0second".to_vec())));
    std::fs::remove_file(&file).expect("removed");
    let gone = login.worth(&peer()).expect_err("no password").to_string();
    assert!(gone.starts_with("sasl.password: ") && gone.contains("password cannot be read: "), "{gone}");
}

#[cfg(not(feature = "kerberos"))]
#[tokio::test]
async fn without_kerberos_it_is_said_which_build_has_it() {
    let login = login_of(Sasl::Gssapi { service: "kafka".to_owned(), principal: None, keytab: None });
    let failure = login.worth(&peer()).expect_err("no Kerberos").to_string();
    let wanted = "sasl.mechanism: GSSAPI: this build has no Kerberos. Build Unstuck with `make build KERBEROS=1`; what has \
                  to be installed for it is in docs/configuration.md";
    assert_eq!(failure, wanted);
}
