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
use reqsign_core::{Context, Env, OsEnv, ProvideCredentialDyn};
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
        Self::within(region, OsEnv)
    }

    fn within(region: &str, environment: impl Env) -> Self {
        let context = Context::new().with_file_read(TokioFileRead).with_env(environment);
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
    use reqsign_core::StaticEnv;
    use secrecy::ExposeSecret;

    use super::*;

    fn environment(folder: &tempfile::TempDir, more: &[(&str, &str)]) -> StaticEnv {
        let elsewhere = [("AWS_EC2_METADATA_DISABLED", "true")];
        let envs = elsewhere.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        StaticEnv { home_dir: Some(folder.path().to_owned()), envs: envs.collect() }
    }

    #[tokio::test]
    async fn credentials_are_found_in_environment_and_profile() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let none = Msk::within("eu-west-1", environment(&folder, &[])).ask().await.err().map(|error| error.to_string());
        assert_eq!(none.as_deref(), Some("no credentials of AWS to sign a token with: none is given"));

        std::fs::create_dir(folder.path().join(".aws"))?;
        let profile = "[default]\naws_access_key_id = AKPROFILE\naws_secret_access_key = of-the-profile\n";
        std::fs::write(folder.path().join(".aws/credentials"), profile)?;
        let given = [("AWS_ACCESS_KEY_ID", "AKENV"), ("AWS_SECRET_ACCESS_KEY", "of-the-environment")];
        for (more, whose) in [(&[][..], "AKPROFILE"), (&given[..], "AKENV")] {
            let msk = Msk::within("eu-west-1", environment(&folder, more));
            let token = msk.ask().await.expect("a token");
            let url = BASE64_URL_SAFE_NO_PAD.decode(token.value.expose_secret()).expect("base64url without padding");
            let url = String::from_utf8(url).expect("an address");
            assert!(url.starts_with("https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect&"), "{url}");
            assert!(url.contains(&format!("X-Amz-Credential={whose}%2F")), "{url}");
            let life = token.expires.expect("it ends").duration_since(Timestamp::now()).as_secs();
            assert!((600..=900).contains(&life), "{life}");
            assert!(!format!("{msk:?}{token:?}").contains("of-the-"));
        }
        Ok(())
    }

    fn credential(session: Option<&str>) -> Credential {
        Credential {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: session.map(str::to_owned),
            expires_in: None,
        }
    }

    /// The addresses are those that AWS' own library for Python makes of the same (`SigV4QueryAuth` of botocore).
    #[test]
    fn an_address_is_signed_as_aws_does_it() {
        let at = Timestamp::from_second(1_700_000_000).expect("a moment");
        let begin = "https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect&X-Amz-Algorithm=AWS4-HMAC-SHA256\
            &X-Amz-Credential=AKIDEXAMPLE%2F20231114%2Feu-west-1%2Fkafka-cluster%2Faws4_request\
            &X-Amz-Date=20231114T221320Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host";
        let cases = [
            (None, "&X-Amz-Signature=26794ad200e10e2e7b4c6228b6953ca4aaa8dfc38515ae16882689fcb5f066a9"),
            (
                Some("session/token+with=signs"),
                "&X-Amz-Security-Token=session%2Ftoken%2Bwith%3Dsigns\
                 &X-Amz-Signature=e7f569dfae64f510f3c77748bddf03c2c738915e392383ea5088ced5c6938342",
            ),
        ];
        // The order of what stands in an address does not matter: what is signed is sorted.
        let parts = |url: &str| {
            let mut parts: Vec<String> = url.split(['?', '&']).map(str::to_owned).collect();
            parts.sort();
            parts
        };
        for (session, end) in cases {
            let url = signed("eu-west-1", &credential(session), at).expect("an address");
            let agent = format!("&User-Agent={}", USER_AGENT.replace('/', "%2F"));
            assert_eq!(parts(&url), parts(&format!("{begin}{end}{agent}")), "{url}");
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
