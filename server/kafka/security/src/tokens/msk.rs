//! Tokens for Amazon MSK: a URL that asks for `kafka-cluster:Connect`, signed in advance and written in base64url. The
//! brokers let IAM judge it. The format is that of AWS' own libraries (`aws-msk-iam-sasl-signer`).
//!
//! Nothing of it is our cryptography: `aws-sigv4` signs, and `reqsign-aws-core` finds the credentials in the places where
//! programs of AWS look. The signer that comes with the latter writes `UNSIGNED-PAYLOAD` into what is signed, which
//! brokers do not take: they expect the hash of an empty body.

use std::fmt;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign};
use aws_sigv4::sign::v4;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use reqsign_aws_core::{
    AssumeRoleWithWebIdentityCredentialProvider, Credential, ECSCredentialProvider, EnvCredentialProvider,
    IMDSv2CredentialProvider, ProfileCredentialProvider, SSOCredentialProvider,
};
use reqsign_core::{Context, OsEnv, ProvideCredentialDyn};
use reqsign_file_read_tokio::TokioFileRead;
use reqsign_http_send_reqwest::ReqwestHttpSend;
use reqwest::{Client, Url};
use secrecy::SecretString;
use tracing::subscriber::{NoSubscriber, with_default};

use super::{Token, TokenError};

/// How long a token is good: what AWS' libraries take, and IAM allows.
const LIFE: Duration = Duration::from_secs(900);
/// The deadline of one question for credentials. On machines outside of AWS nobody answers at the address of its metadata.
const PATIENCE: Duration = Duration::from_secs(3);
/// What the token calls us; it shows up in the logs of AWS.
const USER_AGENT: &str = concat!("unstuck/", env!("CARGO_PKG_VERSION"));
/// How much of what a place says about its failure is kept, in characters.
const WORDS: usize = 200;

/// Whoever signs tokens for one region.
pub(super) struct Msk {
    region: String,
    context: Context,
    places: Vec<Place>,
}

/// A place where credentials may be, and what it is called.
type Place = (&'static str, Box<dyn ProvideCredentialDyn<Credential = Credential>>);

impl fmt::Debug for Msk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Msk").field("region", &self.region).finish_non_exhaustive()
    }
}

impl Msk {
    /// Looks for credentials where the programs of AWS do, in their order.
    pub(super) fn new(region: &str) -> Self {
        let context = Context::new().with_file_read(TokioFileRead).with_env(OsEnv);
        let web = AssumeRoleWithWebIdentityCredentialProvider::new().with_region(region.to_owned());
        let places: Vec<Place> = vec![
            ("the environment", Box::new(EnvCredentialProvider::new())),
            ("the profile", Box::new(ProfileCredentialProvider::new())),
            ("single sign-on", Box::new(SSOCredentialProvider::new())),
            ("the web identity", Box::new(web.with_regional_sts_endpoint())),
            ("the container's role", Box::new(ECSCredentialProvider::new())),
            ("the machine's role", Box::new(IMDSv2CredentialProvider::new())),
        ];
        Self { region: region.to_owned(), context, places }
    }

    /// Finds credentials and signs a token with them.
    pub(super) async fn ask(&self) -> Result<Token, TokenError> {
        let credential = self.credential().await?;
        let now = Timestamp::now();
        let failed = |why: String| TokenError::Aws { why };
        let url = signed(&self.region, &credential, now).map_err(failed)?;
        let end = now.checked_add(LIFE).unwrap_or(Timestamp::MAX);
        // Credentials of roles end too, and so does what is signed with them.
        let until = credential.expires_in.and_then(|end| Timestamp::try_from(end.as_system_time()).ok());
        Ok(Token {
            value: SecretString::from(BASE64_URL_SAFE_NO_PAD.encode(url)),
            principal: None,
            expires: Some(until.map_or(end, |until| until.min(end))),
        })
    }

    async fn credential(&self) -> Result<Credential, TokenError> {
        let failed = |why: String| TokenError::Aws { why };
        super::endpoint::install_provider();
        let client = Client::builder().connect_timeout(PATIENCE).timeout(PATIENCE).build();
        let client = client.map_err(|_| failed("no certificates are trusted on this machine".to_owned()))?;
        let context = self.context.clone().with_http_send(ReqwestHttpSend::new(client));
        let mut said = Vec::new();
        for (place, provider) in &self.places {
            match provider.provide_credential_dyn(&context).await {
                Ok(Some(credential)) => return Ok(credential),
                Ok(None) => {}
                // Only the message: what else such an error holds is for programmers.
                Err(error) => said.push(format!("{place}: {}", line(&error.to_string()))),
            }
        }
        Err(failed(if said.is_empty() { "none is given".to_owned() } else { said.join("; ") }))
    }
}

/// What a place says, in one line.
fn line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(WORDS).collect()
}

/// The signed address.
fn signed(region: &str, credential: &Credential, now: Timestamp) -> Result<String, String> {
    // It becomes a part of the host's name.
    if region.is_empty() || !region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err("the region is none: eu-west-1 is one".to_owned());
    }
    let mut url = Url::parse(&format!("https://kafka.{region}.amazonaws.com/?Action=kafka-cluster%3AConnect"))
        .map_err(|error| error.to_string())?;
    let Credential { access_key_id, secret_access_key, session_token, .. } = credential.clone();
    let identity = Credentials::new(access_key_id, secret_access_key, session_token, None, "unstuck").into();
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(LIFE);
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("kafka-cluster")
        .time(now.into())
        .settings(settings)
        .build()
        .map_err(|error| error.to_string())?
        .into();
    let request = SignableRequest::new("GET", url.as_str(), std::iter::empty(), SignableBody::Bytes(&[]))
        .map_err(|error| error.to_string())?;
    // Its trace shows what it signs, and with that the session's token.
    let output = with_default(NoSubscriber::default(), || sign(request, &params)).map_err(|error| error.to_string())?;
    let (instructions, _signature) = output.into_parts();
    let mut query = url.query_pairs_mut();
    for (name, value) in instructions.params() {
        query.append_pair(name, value);
    }
    // It is no part of what is signed.
    query.append_pair("User-Agent", USER_AGENT);
    drop(query);
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use openssl::hash::MessageDigest;
    use openssl::pkey::PKey;
    use openssl::sha::sha256;
    use openssl::sign::Signer;

    use super::*;

    fn hmac(key: &[u8], text: &str) -> Vec<u8> {
        let key = PKey::hmac(key).expect("a key");
        let mut signer = Signer::new(MessageDigest::sha256(), &key).expect("a signer");
        signer.sign_oneshot_to_vec(text.as_bytes()).expect("a signature")
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The signature that such an address should have, computed anew from AWS' description of Signature Version 4.
    fn expected(url: &str, secret: &str, payload: &str) -> String {
        let (host, query) = url.strip_prefix("https://").and_then(|rest| rest.split_once('?')).expect("a query");
        let (host, path) = host.split_once('/').expect("a path");
        let pairs: BTreeMap<&str, &str> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .filter(|(name, _)| !["X-Amz-Signature", "User-Agent"].contains(name))
            .collect();
        let query: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let canonical = format!("GET\n/{path}\n{}\nhost:{host}\n\nhost\n{payload}", query.join("&"));
        let date = pairs["X-Amz-Date"];
        let scope = pairs["X-Amz-Credential"].split_once("%2F").expect("a scope").1.replace("%2F", "/");
        let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&sha256(canonical.as_bytes())));
        let key = scope.split('/').fold(format!("AWS4{secret}").into_bytes(), |key, part| hmac(&key, part));
        hex(&hmac(&key, &to_sign))
    }

    fn credential(session: Option<&str>) -> Credential {
        Credential {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: session.map(str::to_owned),
            expires_in: None,
        }
    }

    /// The example that AWS publishes: "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)".
    #[test]
    fn the_check_below_agrees_with_the_example_of_aws() {
        let url = "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
            &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
            &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host";
        assert_eq!(
            expected(url, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "UNSIGNED-PAYLOAD"),
            "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
        );
    }

    #[test]
    fn an_address_is_signed_as_iam_expects_it() {
        let at = Timestamp::from_second(1_700_000_000).expect("a moment");
        for session in [None, Some("session/token+with=signs")] {
            let url = signed("eu-west-1", &credential(session), at).expect("an address");
            let begin = "https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect&X-Amz-";
            assert!(url.starts_with(begin), "{url}");
            let pairs: BTreeMap<String, String> = Url::parse(&url)
                .expect("a URL")
                .query_pairs()
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect();
            let of = |name: &str| pairs.get(name).map(String::as_str);
            assert_eq!(of("X-Amz-Credential"), Some("AKIDEXAMPLE/20231114/eu-west-1/kafka-cluster/aws4_request"));
            assert_eq!(of("X-Amz-Date"), Some("20231114T221320Z"));
            assert_eq!(of("X-Amz-Expires"), Some("900"));
            assert_eq!(of("X-Amz-SignedHeaders"), Some("host"));
            assert_eq!(of("X-Amz-Security-Token"), session);
            assert_eq!(of("User-Agent"), Some(USER_AGENT));
            let right = expected(&url, &credential(None).secret_access_key, &hex(&sha256(b"")));
            assert_eq!(of("X-Amz-Signature"), Some(right.as_str()));
        }
    }

    #[test]
    fn a_region_cannot_lead_elsewhere() {
        let at = Timestamp::UNIX_EPOCH;
        for region in ["", "eu-west-1.example.com/", "a@b", "eu west"] {
            assert!(signed(region, &credential(None), at).is_err(), "{region}");
        }
    }
}
