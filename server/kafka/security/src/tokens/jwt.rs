//! What a token says about itself. Nobody's signature is checked: brokers do that. It only tells when to renew a token,
//! and whom it names.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::Value;

/// What is read of a JWT (RFC 7519), signed or not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    /// `exp`.
    pub(super) expires: Option<Timestamp>,
    /// `sub`: whom it names. Kafka's default for the principal (`sasl.oauthbearer.sub.claim.name`).
    pub(super) subject: Option<String>,
}

/// The claims of a token; nothing, if it is no JWT: tokens may be opaque.
pub(super) fn claims(token: &str) -> Claims {
    read(token).unwrap_or_default()
}

fn read(token: &str) -> Option<Claims> {
    let mut parts = token.split('.');
    let (_header, payload, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
    let payload: Value = serde_json::from_slice(&payload).ok()?;
    Some(Claims { expires: moment(&payload["exp"]), subject: payload["sub"].as_str().map(str::to_owned) })
}

/// A `NumericDate`: seconds since 1970, perhaps with a fraction, of which only the whole ones are kept.
fn moment(number: &Value) -> Option<Timestamp> {
    let seconds = number.as_i64().or_else(|| number.as_f64().map(|seconds| seconds as i64))?;
    Timestamp::from_second(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jwt(payload: &str) -> String {
        let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        format!("{header}.{}.", BASE64_URL_SAFE_NO_PAD.encode(payload))
    }

    #[test]
    fn a_token_tells_when_it_ends_and_whom_it_names() {
        let expires = |seconds| Timestamp::from_second(seconds).ok();
        let read = claims(&jwt(r#"{"exp":1700000000,"sub":"alice"}"#));
        assert_eq!(read, Claims { expires: expires(1_700_000_000), subject: Some("alice".to_owned()) });
        assert_eq!(claims(&jwt(r#"{"exp":1700000000.75}"#)).expires, expires(1_700_000_000));
    }

    #[test]
    fn what_is_no_jwt_tells_nothing() {
        let more = format!("{}x.y", jwt("{}"));
        for token in ["", "opaque", "a.b", "a.b.c", "..", more.as_str(), &jwt("[1]"), &jwt(r#"{"exp":"soon","sub":7}"#)]
        {
            assert_eq!(claims(token), Claims::default(), "{token}");
        }
        assert_eq!(claims(&jwt(r#"{"exp":1e300}"#)).expires, None);
    }
}
