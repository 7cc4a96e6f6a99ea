//! Logging in at an identity provider: OpenID Connect's authorization code flow with PKCE (RFC 7636), state and nonce.
//!
//! ```text
//! /login/start ─→ provider ─→ /login/callback?code&state ─→ token endpoint ─→ ID token, verified ─→ session
//! ```
//!
//! What belongs to a login under way is kept here under its state, and the state is in a cookie of the browser that began:
//! a link to `/login/callback` that somebody else made is of no use. Each is used once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreJwsSigningAlgorithm, CoreProviderMetadata,
};
use openidconnect::{
    AuthType, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointMaybeSet, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, IssuerUrl, Nonce, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    TokenResponse,
};
use serde_json::{Map, Value};
use unstuck_security::Secret;

use super::Role;
use super::credentials::Hash;
use super::proxy::EVERYBODY;
use crate::config::ConfigError;

/// How long somebody may take at the provider.
pub(super) const LOGIN: Duration = Duration::from_secs(600);
/// How many logins are under way at most; the oldest ones make room. Anybody may begin one, so it takes many to push out
/// somebody who is typing a password.
const MOST: usize = 10_000;
/// The longest address that a login leads back to, in bytes, since it is kept meanwhile.
const BACK: usize = 4_096;
/// How long what the provider says of itself is believed, and its keys.
const FRESH: Duration = Duration::from_secs(300);
/// How long one request to the provider may take. All of a login have to fit into the deadline of a page.
const REQUEST: Duration = Duration::from_secs(3);
/// How large an answer of the provider may be, in bytes.
const ANSWER: usize = 1024 * 1024;
/// Signatures with a public key of the provider; not `none`, and none with a shared secret.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 8] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
];

/// An identity provider, and what is believed of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcConfig {
    /// Its address, as it stands in its tokens.
    pub issuer: String,
    /// What Unstuck is called there.
    pub client_id: String,
    /// What Unstuck shows there, if it is no public client.
    pub client_secret: Option<Secret>,
    /// Where browsers come back to: the public address and `/login/callback`.
    pub redirect: String,
    /// What is asked for beside `openid`.
    pub scopes: Vec<String>,
    /// The claim with the name; else it is `email`, else `sub`.
    pub name_claim: String,
    /// The claim that tells editors, a text or a list of them.
    pub editor_claim: String,
    /// Values of it that make an editor; `*` is everybody.
    pub editor_values: Vec<String>,
}

type Client =
    CoreClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointMaybeSet, EndpointMaybeSet>;

/// Logins at one provider.
#[derive(Debug)]
pub(crate) struct Oidc {
    config: OidcConfig,
    http: reqwest::Client,
    /// What the provider says of itself, and when it said so.
    provider: tokio::sync::Mutex<Option<(Instant, CoreProviderMetadata)>>,
    under_way: Mutex<HashMap<[u8; 32], UnderWay>>,
}

#[derive(Debug)]
struct UnderWay {
    nonce: Nonce,
    verifier: PkceCodeVerifier,
    back: String,
    ends: Instant,
}

/// Somebody who has logged in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Person {
    /// Their name.
    pub(super) name: String,
    /// What they may do.
    pub(super) role: Role,
    /// The page that they wanted.
    pub(super) back: String,
}

/// Why a login did not come about.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoPerson {
    /// It was not begun in this browser, or too long ago, or came back before.
    #[error("this login was not begun in this browser, or is over already")]
    NotUnderWay,
    /// The provider cannot be asked, or answers otherwise than it should.
    #[error("{0}")]
    Provider(String),
    /// What it says of the person cannot be believed.
    #[error("the identity provider's token is not accepted: {0}")]
    Token(String),
}

/// A request to the provider failed.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("{0}")]
    Failed(String),
    #[error("the answer is larger than {ANSWER} bytes")]
    TooLarge,
    #[error("the answer cannot be read")]
    Unreadable(#[from] http::Error),
}

async fn ask(client: reqwest::Client, request: HttpRequest) -> Result<HttpResponse, AskError> {
    let failed = |error: reqwest::Error| AskError::Failed(crate::lookup::words(&error));
    let (parts, body) = request.into_parts();
    let request = client.request(parts.method, parts.uri.to_string()).headers(parts.headers).body(body);
    let mut response = request.send().await.map_err(failed)?;
    let mut answer = http::Response::builder().status(response.status());
    if let Some(headers) = answer.headers_mut() {
        *headers = response.headers().clone();
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(failed)? {
        if body.len() + piece.len() > ANSWER {
            return Err(AskError::TooLarge);
        }
        body.extend_from_slice(&piece);
    }
    Ok(answer.body(body)?)
}

/// All that an error says, from the outermost to the innermost.
fn words(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        said = format!("{said}: {inner}");
        source = inner.source();
    }
    unstuck_diagnosis::visible(&said)
}

impl Oidc {
    /// Without any login yet. The provider is asked at the first one, so that Unstuck starts without it, too.
    ///
    /// # Errors
    /// The client's secret cannot be read, or the client for HTTP cannot be made.
    pub(crate) fn new(config: OidcConfig) -> Result<Self, ConfigError> {
        // It is read again at each login, so a new one counts at once.
        let secret = config.client_secret.as_ref().map(Secret::read).transpose();
        secret.map_err(|error| ConfigError::bad_client_secret(&error.to_string()))?;
        // A provider that leads elsewhere could lead into our own network.
        let http = reqwest::Client::builder().timeout(REQUEST).redirect(reqwest::redirect::Policy::none()).build();
        let http = http.map_err(|error| ConfigError::no_provider(&crate::lookup::words(&error)))?;
        Ok(Self { config, http, provider: tokio::sync::Mutex::default(), under_way: Mutex::default() })
    }

    /// The provider's host, for people.
    pub(super) fn host(&self) -> String {
        let url = reqwest::Url::parse(&self.config.issuer).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    async fn client(&self, young: Duration) -> Result<Client, NoPerson> {
        let mut known = self.provider.lock().await;
        let fresh = known.take_if(|(at, _)| at.elapsed() <= young);
        let (at, metadata) = match fresh {
            Some(fresh) => fresh,
            None => {
                let wrong = |why: String| NoPerson::Provider(format!("the identity provider cannot be asked: {why}"));
                let issuer = IssuerUrl::new(self.config.issuer.clone()).map_err(|error| wrong(words(&error)))?;
                let http = |request| ask(self.http.clone(), request);
                let metadata = CoreProviderMetadata::discover_async(issuer, &http).await;
                (Instant::now(), metadata.map_err(|error| wrong(words(&error)))?)
            }
        };
        *known = Some((at, metadata.clone()));
        let secret = match &self.config.client_secret {
            None => None,
            Some(secret) => {
                let secret =
                    secret.read().map_err(|error| NoPerson::Provider(format!("the client's secret: {error}")))?;
                Some(ClientSecret::new(secrecy::ExposeSecret::expose_secret(&secret).to_owned()))
            }
        };
        let redirect =
            RedirectUrl::new(self.config.redirect.clone()).map_err(|error| NoPerson::Provider(words(&error)))?;
        let id = ClientId::new(self.config.client_id.clone());
        let in_body = secret_in_body(&metadata);
        let client = CoreClient::from_provider_metadata(metadata, id, secret).set_redirect_uri(redirect);
        Ok(if in_body { client.set_auth_type(AuthType::RequestBody) } else { client })
    }

    /// Begins a login that leads to `back`: where the browser has to go, and the state that it has to bring along.
    pub(super) async fn begin(&self, back: &str, now: Instant) -> Result<(String, String), NoPerson> {
        let client = self.client(FRESH).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let request = client.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
        let scopes = self.config.scopes.iter().map(|scope| Scope::new(scope.clone()));
        let (url, state, nonce) = request.add_scopes(scopes).set_pkce_challenge(challenge).url();
        let state = state.into_secret();
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.retain(|_, login| login.ends > now);
        while under_way.len() >= MOST {
            let Some(oldest) = under_way.iter().min_by_key(|(_, login)| login.ends).map(|(key, _)| *key) else { break };
            under_way.remove(&oldest);
        }
        let back = if back.len() <= BACK { back } else { "/" };
        let login = UnderWay { nonce, verifier, back: back.to_owned(), ends: now + LOGIN };
        under_way.insert(Hash::of(&state).bytes(), login);
        Ok((url.into(), state))
    }

    /// Ends a login: the code and the state that came back, and the state that the browser brought along.
    pub(super) async fn finish(
        &self,
        code: &str,
        state: &str,
        brought: Option<&str>,
        now: Instant,
    ) -> Result<Person, NoPerson> {
        if !brought.is_some_and(|brought| Hash::of(brought).is(Hash::of(state))) {
            return Err(NoPerson::NotUnderWay);
        }
        let key = Hash::of(state).bytes();
        let login = self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        let login = login.filter(|login| login.ends > now).ok_or(NoPerson::NotUnderWay)?;
        let client = self.client(FRESH).await?;
        let http = |request| ask(self.http.clone(), request);
        let exchange = client.exchange_code(AuthorizationCode::new(code.to_owned()));
        let exchange = exchange.map_err(|error| NoPerson::Provider(words(&error)))?;
        let answer = exchange.set_pkce_verifier(login.verifier).request_async(&http).await;
        let answer = answer.map_err(|error| {
            NoPerson::Provider(format!("the identity provider refuses the code: {}", words(&error)))
        })?;
        let token = answer.id_token().ok_or_else(|| NoPerson::Token("there is none in its answer".to_owned()))?;
        let verifier = client.id_token_verifier().set_allowed_algs(ALGORITHMS);
        if let Err(first) = token.claims(&verifier, &login.nonce) {
            // Its keys may have been changed since we read them.
            let client = self.client(Duration::ZERO).await?;
            let verifier = client.id_token_verifier().set_allowed_algs(ALGORITHMS);
            token.claims(&verifier, &login.nonce).map_err(|_| NoPerson::Token(words(&first)))?;
        }
        let claims = payload(&token.to_string()).ok_or_else(|| NoPerson::Token("it cannot be read".to_owned()))?;
        let name = self.name(&claims).ok_or_else(|| NoPerson::Token("it names nobody".to_owned()))?;
        Ok(Person { name, role: self.role(&claims), back: login.back })
    }

    fn name(&self, claims: &Map<String, Value>) -> Option<String> {
        let named = [self.config.name_claim.as_str(), "email", "sub"].into_iter();
        let mut named = named.filter_map(|name| claim(claims, name)?.as_str());
        let name = named.find(|name| !name.trim().is_empty())?;
        Some(name.chars().filter(|letter| !letter.is_control()).take(crate::incidents::NAME_CAP).collect())
    }

    fn role(&self, claims: &Map<String, Value>) -> Role {
        let is_editor = |value: &str| self.config.editor_values.iter().any(|editors| editors == value);
        let edits = match claim(claims, &self.config.editor_claim) {
            Some(Value::String(value)) => is_editor(value),
            Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).any(is_editor),
            _ => false,
        };
        if edits || is_editor(EVERYBODY) { Role::Editor } else { Role::Viewer }
    }
}

/// Whether the provider takes the client's secret in the body of a request alone. Without a list it takes it in the header
/// (OpenID Connect Discovery 1.0, section 3).
fn secret_in_body(metadata: &CoreProviderMetadata) -> bool {
    metadata.token_endpoint_auth_methods_supported().is_some_and(|methods| {
        methods.contains(&CoreClientAuthMethod::ClientSecretPost)
            && !methods.contains(&CoreClientAuthMethod::ClientSecretBasic)
    })
}

/// A claim by its name, which may be an address with dots; else by the names of the objects that it is in, with dots
/// between them, as `realm_access.roles`.
fn claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    claims.get(name).or_else(|| {
        let (outer, inner) = name.split_once('.')?;
        claim(claims.get(outer)?.as_object()?, inner)
    })
}

/// All claims of a token whose signature has been verified.
fn payload(token: &str) -> Option<Map<String, Value>> {
    use base64::Engine as _;
    let part = token.split('.').nth(1)?;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok()
}
