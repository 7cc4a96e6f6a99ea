use std::io;

use super::*;

fn days(days: i64) -> Timestamp {
    Timestamp::now().checked_add(jiff::SignedDuration::from_hours(24 * days)).expect("a near day")
}

/// An unsecured token, as the brokers of tests take it.
fn jwt(subject: &str, expires: Timestamp) -> String {
    use base64::Engine as _;
    let part = |json: serde_json::Value| base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
    let claims = serde_json::json!({ "sub": subject, "exp": expires.as_second() });
    format!("{}.{}.", part(serde_json::json!({ "alg": "none" })), part(claims))
}

#[tokio::test]
async fn a_file_is_read_before_each_login() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("token");
    let tokens = Tokens::new(&TokenSource::Token(Secret::File(path.clone())));
    let missing = tokens.token("broker").await.expect_err("there is no file").to_string();
    assert!(missing.contains("token cannot be read"), "{missing}");
    for subject in ["alice", "bob"] {
        let written = jwt(subject, days(1));
        std::fs::write(&path, &written)?;
        let token = tokens.token("broker").await.expect("a token");
        assert_eq!(token.value.expose_secret(), written);
        assert_eq!(token.principal.as_deref(), Some(subject));
        assert_eq!(token.expires.map(|at| at.as_second()), Some(days(1).as_second()));
    }
    let old = jwt("alice", days(-1));
    std::fs::write(&path, &old)?;
    let expired = tokens.token("broker").await.expect_err("it expired").to_string();
    assert!(expired.contains("expired at") && !expired.contains(&old), "{expired}");
    Ok(())
}

#[tokio::test]
async fn an_opaque_token_is_taken_and_what_would_break_a_login_is_not() {
    let given = |text: &str| Tokens::new(&TokenSource::Token(Secret::value(text)));
    let token = given("b64+/token==").token("broker").await.expect("a token");
    assert_eq!((token.expires, token.principal), (None, None));
    for wrong in ["secret\u{1}auth=Bearer other", "two words", "müde", "=", "a=b"] {
        let words = given(wrong).token("broker").await.expect_err("no token").to_string();
        assert!(words.contains("is no bearer token") && !words.contains(wrong), "{words}");
    }
}
