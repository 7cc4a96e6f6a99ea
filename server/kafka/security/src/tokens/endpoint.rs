//! Tokens of an OAuth 2 token endpoint, for a client with a secret (RFC 6749, section 4.4).

use std::error::Error as _;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use reqwest::{Certificate, Client, Response, StatusCode, Url, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::{Token, TokenError, token};
use crate::{Material, Secret, Unreadable};

const CONNECT: Duration = Duration::from_secs(5);
/// The deadline of the whole request. A login waits for it.
const DEADLINE: Duration = Duration::from_secs(10);
/// The largest answer that is read, in bytes.
const LARGEST: usize = 64 * 1024;
/// How much of what an endpoint says about a failure is kept, in characters.
const WORDS: usize = 300;

/// A token endpoint and who asks it.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) url: String,
    pub(super) client_id: String,
    pub(super) client_secret: Secret,
    pub(super) scope: Option<String>,
    pub(super) ca: Option<Material>,
}

/// How the client's id and secret are written before they are joined by a colon and encoded (basic authentication).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// As they are: what Kafka's client does unless `sasl.oauthbearer.header.urlencode` is set.
    AsTheyAre,
    /// As in a form: RFC 6749, section 2.3.1.
    AsInAForm,
}

impl Endpoint {
    /// Asks for a token. `secret` is the client's.
    pub(super) async fn ask(&self, secret: Option<&SecretString>) -> Result<Token, TokenError> {
        let secret = secret.map_or("", ExposeSecret::expose_secret);
        let asking = Asking { url: self.url()?, secret, endpoint: self };
        let client = asking.client().await?;
        let plain = self.client_id.contains(':');
        let first = if plain { Written::AsInAForm } else { Written::AsTheyAre };
        let answer = asking.post(&client, first).await?;
        // Both ways are in use. They differ only where there are characters other than letters, digits and - _ . in one.
        let differ = !plain && (in_a_form(secret) != secret || in_a_form(&self.client_id) != self.client_id);
        if differ
            && matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::BAD_REQUEST)
            && answer.denies_client()
        {
            let again = asking.post(&client, Written::AsInAForm).await?;
            return asking.token(&again);
        }
        asking.token(&answer)
    }

    /// The address, if it can be asked. Over plaintext the secret would be readable, so that is for loopback only.
    fn url(&self) -> Result<Url, TokenError> {
        let unusable = |endpoint: &str, why: &str| {
            Err(TokenError::Unusable { endpoint: endpoint.to_owned(), why: why.to_owned() })
        };
        let Ok(url) = Url::parse(&self.url) else {
            // Not shown: who knows what stands there.
            return unusable("in the configuration", "its address is no URL");
        };
        let loopback = url.host_str().is_some_and(|host| {
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        });
        match url.scheme() {
            "https" => Ok(url),
            "http" if loopback => Ok(url),
            "http" => {
                unusable(&shown(&url), "the client's secret would be readable on the network: it has to be https")
            }
            _ => unusable(&shown(&url), "it has to be https"),
        }
    }
}

/// The address without what may be secret in it.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that cannot have a user.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// As in a form: `application/x-www-form-urlencoded`.
fn in_a_form(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Sees to it that rustls has something to compute with. Programs install that at start; where none did, this does.
pub(super) fn install_provider() {
    // It fails where there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// One attempt.
struct Asking<'a> {
    url: Url,
    secret: &'a str,
    endpoint: &'a Endpoint,
}

/// An answer that was read whole.
struct Answer {
    status: StatusCode,
    /// Its JSON, if it is that.
    json: Option<Value>,
}

impl Answer {
    fn text(&self, name: &str) -> Option<&str> {
        self.json.as_ref()?.get(name)?.as_str()
    }

    fn denies_client(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED || self.text("error") == Some("invalid_client")
    }
}

impl Asking<'_> {
    async fn client(&self) -> Result<Client, TokenError> {
        let unusable = |why: String| TokenError::Unusable { endpoint: shown(&self.url), why };
        // Redirects are not followed: the secret is for this address.
        let mut client =
            Client::builder().redirect(redirect::Policy::none()).connect_timeout(CONNECT).timeout(DEADLINE);
        if self.url.scheme() == "http" {
            // Loopback: no proxy leads there.
            client = client.no_proxy();
        }
        if let Some(ca) = &self.endpoint.ca {
            let pem = pem(ca).await?;
            let certificates = Certificate::from_pem_bundle(pem.expose_secret().as_bytes());
            let certificates = certificates.map_err(|_| unusable("its CA is no certificate in PEM".to_owned()))?;
            if certificates.is_empty() {
                return Err(unusable("no certificate in PEM is in its CA".to_owned()));
            }
            client = client.tls_certs_only(certificates);
        }
        install_provider();
        client.build().map_err(|error| unusable(innermost(&error)))
    }

    async fn post(&self, client: &Client, written: Written) -> Result<Answer, TokenError> {
        let mut form = vec![("grant_type", "client_credentials")];
        form.extend(self.endpoint.scope.as_deref().map(|scope| ("scope", scope)));
        let request = client
            .post(self.url.clone())
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(AUTHORIZATION, self.authorization(written)?)
            .form(&form);
        let mut answer = request.send().await.map_err(|error| self.failed(&error))?;
        let status = answer.status();
        let body = self.read(&mut answer).await?;
        Ok(Answer { status, json: serde_json::from_slice(&body).ok() })
    }

    fn authorization(&self, written: Written) -> Result<HeaderValue, TokenError> {
        let Endpoint { client_id, .. } = self.endpoint;
        let joined = match written {
            Written::AsTheyAre => format!("{client_id}:{}", self.secret),
            Written::AsInAForm => format!("{}:{}", in_a_form(client_id), in_a_form(self.secret)),
        };
        let header = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(joined)));
        let mut header = header.map_err(|error| self.unusable(&error.to_string()))?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// The whole body, unless it is larger than an answer with a token ever is.
    async fn read(&self, answer: &mut Response) -> Result<Vec<u8>, TokenError> {
        let mut body = Vec::new();
        while let Some(more) = answer.chunk().await.map_err(|error| self.failed(&error))? {
            if body.len() + more.len() > LARGEST {
                return Err(self.without("it is larger than 64 KiB"));
            }
            body.extend_from_slice(&more);
        }
        Ok(body)
    }

    fn token(&self, answer: &Answer) -> Result<Token, TokenError> {
        if answer.status != StatusCode::OK {
            let said = |name| answer.text(name).map(|text| self.words(text)).filter(|text| !text.is_empty());
            return Err(TokenError::Refused {
                endpoint: shown(&self.url),
                status: answer.status.as_u16(),
                error: said("error"),
                description: said("error_description"),
            });
        }
        let Some(json) = &answer.json else { return Err(self.without("it is no JSON")) };
        let Some(value) = json["access_token"].as_str() else {
            return Err(self.without("there is no access_token in it"));
        };
        let seconds = &json["expires_in"];
        let seconds = seconds.as_i64().or_else(|| seconds.as_str()?.parse().ok());
        let place = format!("the token of {}", shown(&self.url));
        let life = seconds.map(SignedDuration::from_secs);
        token(SecretString::from(value.to_owned()), &place, life, Timestamp::now())
    }

    fn unusable(&self, why: &str) -> TokenError {
        TokenError::Unusable { endpoint: shown(&self.url), why: why.to_owned() }
    }

    fn without(&self, why: &'static str) -> TokenError {
        TokenError::NoToken { endpoint: shown(&self.url), why }
    }

    /// What an endpoint says: in one line, not longer than people read, and without what we sent.
    fn words(&self, text: &str) -> String {
        let mut text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let as_in_a_form = in_a_form(self.secret);
        let sent = [Written::AsTheyAre, Written::AsInAForm].map(|written| self.authorization(written));
        let sent = sent.iter().flatten().filter_map(|header| header.to_str().ok()?.strip_prefix("Basic "));
        for secret in sent.chain([self.secret, as_in_a_form.as_str()]).filter(|secret| !secret.is_empty()) {
            text = text.replace(secret, "***");
        }
        let text = text.trim();
        match text.char_indices().nth(WORDS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        }
    }

    /// What went wrong on the way.
    fn failed(&self, error: &reqwest::Error) -> TokenError {
        let endpoint = shown(&self.url);
        let why = innermost(error);
        if let Some(tls) = tls(error) {
            TokenError::Tls { endpoint, why: tls }
        } else if error.is_connect() && error.is_timeout() {
            TokenError::Unreachable { endpoint, why: format!("no connection within {} s", CONNECT.as_secs()) }
        } else if error.is_connect() {
            TokenError::Unreachable { endpoint, why }
        } else if error.is_timeout() {
            TokenError::NoAnswer { endpoint, why: format!("nothing for {} s", DEADLINE.as_secs()) }
        } else {
            TokenError::NoAnswer { endpoint, why }
        }
    }
}

/// Certificates in PEM.
async fn pem(material: &Material) -> Result<SecretString, TokenError> {
    let secret = match material {
        Material::Inline(secret) => secret.clone(),
        Material::File(path) => Secret::File(path.clone()),
    };
    let read = spawn_blocking(move || secret.read()).await.map_err(|_| TokenError::Ending)?;
    read.map_err(|error: Unreadable| TokenError::Unreadable(error))
}

/// The words of what a failure comes from: those around it only say that it failed, and name the address again.
fn innermost(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    if innermost.is::<reqwest::Error>() {
        return "the request could not be made".to_owned();
    }
    innermost.to_string()
}

/// What TLS says, if that is what failed.
fn tls(error: &reqwest::Error) -> Option<String> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref::<rustls::Error>().or_else(|| wrapped(error.downcast_ref()?)) {
            return Some(explained(tls));
        }
        next = error.source();
    }
    None
}

/// What TLS says within errors of I/O, which may be wrapped into each other and do not tell of it as their source.
fn wrapped(error: &io::Error) -> Option<&rustls::Error> {
    let within = error.get_ref()?;
    within.downcast_ref::<rustls::Error>().or_else(|| wrapped(within.downcast_ref()?))
}

fn explained(error: &rustls::Error) -> String {
    use rustls::CertificateError as Certificate;
    let rustls::Error::InvalidCertificate(certificate) = error else { return error.to_string() };
    match certificate {
        // The latter, if somebody of the same name who is trusted did not.
        Certificate::UnknownIssuer | Certificate::BadSignature => {
            "nobody who is trusted issued its certificate; give its CA".to_owned()
        }
        Certificate::Expired | Certificate::ExpiredContext { .. } => "its certificate expired".to_owned(),
        Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
            "its certificate is for another name".to_owned()
        }
        _ => error.to_string(),
    }
}
