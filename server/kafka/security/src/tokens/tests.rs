use std::io;

use serde_json::json;

use super::*;

mod peer;

use peer::{Certificates, Peer};

const SECRET: &str = "correct horse/battery+staple";

fn days(days: i64) -> Timestamp {
    Timestamp::now().checked_add(jiff::SignedDuration::from_hours(24 * days)).expect("a near day")
}

/// An unsecured token, as the brokers of tests take it.
fn jwt(subject: &str, expires: Timestamp) -> String {
    use base64::Engine as _;
    let part = |json: serde_json::Value| base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
    let claims = json!({ "sub": subject, "exp": expires.as_second() });
    format!("{}.{}.", part(json!({ "alg": "none" })), part(claims))
}

fn client(endpoint: &str, client_secret: Secret, ca: Option<crate::Material>) -> Tokens {
    Tokens::new(&TokenSource::ClientCredentials {
        endpoint: endpoint.to_owned(),
        client_id: "unstuck".to_owned(),
        client_secret,
        scope: Some("kafka read".to_owned()),
        ca,
    })
}

async fn words(tokens: &Tokens) -> String {
    let words = tokens.token("broker").await.expect_err("no token").to_string();
    assert!(!words.contains(SECRET), "{words}");
    words
}

#[tokio::test]
async fn a_file_is_read_before_each_login() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("token");
    let tokens = Tokens::new(&TokenSource::Token(Secret::File(path.clone())));
    let missing = words(&tokens).await;
    assert!(missing.contains("token cannot be read"), "{missing}");
    for subject in ["alice", "bob"] {
        let written = jwt(subject, days(1));
        std::fs::write(&path, &written)?;
        let token = tokens.token("broker").await.expect("a token");
        assert_eq!(token.value.expose_secret(), written);
        assert_eq!(token.principal.as_deref(), Some(subject));
        assert!(token.expires.is_some_and(|at| at > Timestamp::now()));
        assert!(!format!("{token:?}{tokens:?}").contains(&written));
    }
    let old = jwt("alice", days(-1));
    std::fs::write(&path, &old)?;
    let expired = words(&tokens).await;
    assert!(expired.contains("expired at") && !expired.contains(&old), "{expired}");
    Ok(())
}

#[tokio::test]
async fn an_opaque_token_is_taken_and_what_would_break_a_login_is_not() {
    let given = |text: &str| Tokens::new(&TokenSource::Token(Secret::value(text)));
    let token = given("b64+/token==").token("broker").await.expect("a token");
    assert_eq!((token.expires, token.principal), (None, None));
    for wrong in ["secret\u{1}auth=Bearer other", "two words", "müde", "==", "a=b"] {
        let words = words(&given(wrong)).await;
        assert!(words.contains("is no bearer token") && !words.contains(wrong), "{words}");
    }
}

#[tokio::test]
async fn all_connections_share_one_request() {
    let value = jwt("service", days(1));
    let answer = json!({ "access_token": value, "expires_in": 3600 }).to_string();
    let peer = Peer::answering(move |_| (200, answer.clone())).await;
    let tokens = client(&peer.url, Secret::value("simple"), None);
    let logins = (0..20).map(|_| {
        let tokens = tokens.clone();
        tokio::spawn(async move { tokens.token("broker").await })
    });
    for login in logins.collect::<Vec<_>>() {
        let token = login.await.expect("it ends").expect("a token");
        assert_eq!(token.value.expose_secret(), value);
        assert_eq!(token.principal.as_deref(), Some("service"));
        let life = token.expires.expect("it ends").duration_since(Timestamp::now());
        assert!(life <= jiff::SignedDuration::from_hours(1), "the shorter of both lives counts: {life}");
    }
    let asked = peer.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].line, "POST /oauth/token HTTP/1.1");
    assert_eq!(asked[0].client, "unstuck:simple");
    assert_eq!(asked[0].body, "grant_type=client_credentials&scope=kafka+read");
}

#[tokio::test]
async fn a_login_that_gives_up_does_not_take_the_answer_with_it() {
    let answer = json!({ "access_token": "opaque", "expires_in": "3600" }).to_string();
    let peer = Peer::answering(move |_| (200, answer.clone())).await;
    let tokens = client(&peer.url, Secret::value(SECRET), None);
    {
        let mut login = std::pin::pin!(tokens.token("broker"));
        tokio::select! {
            biased;
            _ = &mut login => {}
            () = tokio::task::yield_now() => {}
        }
    }
    tokens.token("broker").await.expect("a token");
    assert_eq!(peer.asked().len(), 1);
}

/// Kafka's client presents itself as it is written unless it is told otherwise, RFC 6749 wants it written as in a form.
#[tokio::test]
async fn an_endpoint_that_follows_the_rfc_is_asked_its_way() {
    let peer = Peer::answering(|asked| {
        if asked.client == "unstuck:correct+horse%2Fbattery%2Bstaple" {
            (200, json!({ "access_token": "opaque", "expires_in": 60 }).to_string())
        } else {
            (401, json!({ "error": "invalid_client" }).to_string())
        }
    })
    .await;
    client(&peer.url, Secret::value(SECRET), None).token("broker").await.expect("a token");
    let asked = peer.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].client, format!("unstuck:{SECRET}"));
}

#[tokio::test]
async fn each_failure_is_a_sentence() {
    let denied = json!({ "error": "invalid_client", "error_description": format!("secret\n{SECRET} is wrong") });
    let scope = json!({ "error": "invalid_scope" });
    let old = json!({ "access_token": jwt("a", Timestamp::from_second(1_000_000_000).expect("a moment")) });
    let cases = [
        (
            401,
            denied.to_string(),
            "answered 401: invalid_client (secret *** is wrong); look at the client id and its secret",
        ),
        (400, scope.to_string(), "answered 400: invalid_scope; look at the scope"),
        (503, "<html>".to_owned(), "answered 503"),
        (302, String::new(), "answered 302"),
        (200, "<html>".to_owned(), "answered without a token: it is no JSON"),
        (200, "{}".to_owned(), "answered without a token: there is no access_token in it"),
        (200, json!({ "access_token": 7 }).to_string(), "answered without a token: there is no access_token in it"),
        (200, "[".repeat(200_000), "answered without a token: it is larger than 64 KiB"),
        (200, "[".repeat(60_000), "answered without a token: it is no JSON"),
    ];
    for (status, body, said) in cases {
        let peer = Peer::answering(move |_| (status, body.clone())).await;
        let expected = format!("the token endpoint {} {said}", peer.url);
        assert_eq!(words(&client(&peer.url, Secret::value(SECRET), None)).await, expected);
    }
    let peer = Peer::answering(move |_| (200, old.to_string())).await;
    let expected = format!(
        "the token of {} expired at 2001-09-09T01:46:40Z, says this machine's clock: it has to be renewed, \
         or one of the clocks is wrong",
        peer.url
    );
    assert_eq!(words(&client(&peer.url, Secret::value(SECRET), None)).await, expected);
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_asked_is_not() {
    let of = |address: &str| client(address, Secret::value(SECRET), None);
    let readable = words(&of("http://user:pass@idp.example.com/token?key=value")).await;
    assert_eq!(
        readable,
        "the token endpoint http://idp.example.com/token cannot be asked: \
         the client's secret would be readable on the network: it has to be https"
    );
    assert!(words(&of("ftp://idp.example.com/")).await.ends_with("it has to be https"));
    assert!(words(&of("idp")).await.ends_with("its address is no URL"));
}

#[tokio::test]
async fn a_failure_is_told_again_until_the_secret_changes() -> io::Result<()> {
    let peer = Peer::answering(|asked| {
        if asked.client == "unstuck:new" {
            (200, json!({ "access_token": "opaque", "expires_in": 60 }).to_string())
        } else {
            (401, json!({ "error": "invalid_client" }).to_string())
        }
    })
    .await;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("secret");
    std::fs::write(&path, "old")?;
    let tokens = client(&peer.url, Secret::File(path.clone()), None);
    let first = words(&tokens).await;
    assert_eq!(words(&tokens).await, first);
    assert_eq!(peer.asked().len(), 1, "nobody is asked again with the same secret");
    std::fs::write(&path, "new")?;
    tokens.token("broker").await.expect("a token");
    assert_eq!(peer.asked().len(), 2);
    Ok(())
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_said_to_be_so() -> io::Result<()> {
    let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let words = words(&client(&format!("http://{address}/token"), Secret::value(SECRET), None)).await;
    assert!(words.starts_with(&format!("the token endpoint http://{address}/token cannot be reached: ")), "{words}");
    assert!(words.contains("refused"), "{words}");
    Ok(())
}

#[tokio::test]
async fn its_certificate_has_to_lead_to_the_given_one() {
    let certificates = Certificates::new();
    let answer = json!({ "access_token": "opaque", "expires_in": 60 }).to_string();
    let peer = Peer::with_tls(&certificates, move |_| (200, answer.clone())).await;
    let ca = |pem: &str| Some(crate::Material::Inline(Secret::value(pem)));
    let of = |address: &str, pem: &str| client(address, Secret::value(SECRET), ca(pem));
    of(&peer.url, &certificates.ca).token("broker").await.expect("a token");

    let elsewhere = words(&of(&peer.url, &Certificates::new().ca)).await;
    let expected = format!(
        "TLS with the token endpoint {} failed: nobody who is trusted issued its certificate; give its CA",
        peer.url
    );
    assert_eq!(elsewhere, expected);
    let other = words(&of(&peer.url.replace("localhost", "127.0.0.1"), &certificates.ca)).await;
    assert!(other.ends_with("its certificate is for another name"), "{other}");
    let none = words(&of(&peer.url, "no PEM")).await;
    assert!(none.ends_with("no certificate in PEM is in its CA"), "{none}");
    assert_eq!(peer.asked().len(), 1);
}
