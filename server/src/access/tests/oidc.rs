//! Logging in at a provider that signs its tokens for real, and what a hostile one, or a thief, would try.

use std::sync::Mutex;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::SET_COOKIE;
use jiff::Timestamp;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::sign::Signer;
use reqwest::Url;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use super::super::oidc::OidcConfig;
use super::*;

const CLIENT: &str = "unstuck";
const CLIENT_SECRET: &str = "clients-secret-0123456789";

/// How the provider's token differs from a good one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Token {
    #[default]
    Good,
    OtherNonce,
    NoNonce,
    OtherAudience,
    OtherIssuer,
    Expired,
    Unsigned,
    SignedWithTheSecret,
    SignedByAnother,
    Changed,
}

struct Provider {
    issuer: String,
    key: PKey<Private>,
    other: PKey<Private>,
    /// What was asked for last, by its code, and how it is answered.
    asked: Mutex<Option<(String, String)>>,
    token: Mutex<Token>,
    claims: Mutex<Value>,
    exchanged: Mutex<usize>,
    /// It has begun to sign with its other key, under another name.
    rotated: Mutex<bool>,
    /// It wants the client's secret in the body, rather than in the header.
    in_body: bool,
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

impl Provider {
    async fn start() -> Arc<Self> {
        Self::start_with(false).await
    }

    async fn start_with(in_body: bool) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let key = || PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
        let provider = Arc::new(Self {
            issuer: format!("http://{}", listener.local_addr().expect("an address")),
            key: key(),
            other: key(),
            asked: Mutex::default(),
            token: Mutex::default(),
            claims: Mutex::new(json!({ "preferred_username": "ada", "groups": ["dev", "sre"] })),
            exchanged: Mutex::default(),
            rotated: Mutex::default(),
            in_body,
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/jwks", get(jwks))
            .route("/token", post(token))
            .with_state(Arc::clone(&provider));
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    fn says(&self, token: Token) {
        *self.token.lock().expect("no panic") = token;
    }

    /// The key that it signs with now, and its name.
    fn current(&self) -> (&PKey<Private>, &'static str) {
        if *self.rotated.lock().expect("no panic") { (&self.other, "two") } else { (&self.key, "one") }
    }

    fn id_token(&self, nonce: &str) -> String {
        let how = *self.token.lock().expect("no panic");
        let now = Timestamp::now().as_second();
        let mut claims = self.claims.lock().expect("no panic").clone();
        claims["iss"] = json!(if how == Token::OtherIssuer { "https://evil.example" } else { &self.issuer });
        claims["aud"] = json!(if how == Token::OtherAudience { "somebody-else" } else { CLIENT });
        claims["sub"] = json!("248289761001");
        claims["iat"] = json!(now);
        claims["exp"] = json!(if how == Token::Expired { now - 3_600 } else { now + 300 });
        match how {
            Token::NoNonce => {}
            Token::OtherNonce => claims["nonce"] = json!("another"),
            _ => claims["nonce"] = json!(nonce),
        }
        let algorithm = match how {
            Token::Unsigned => "none",
            Token::SignedWithTheSecret => "HS256",
            _ => "RS256",
        };
        let (key, name) = self.current();
        let signed = format!("{}.{}", part(&json!({ "alg": algorithm, "kid": name, "typ": "JWT" })), part(&claims));
        let key = match how {
            Token::SignedByAnother => &self.other,
            _ => key,
        };
        let signature = match how {
            Token::Unsigned => Vec::new(),
            Token::SignedWithTheSecret => {
                let key = PKey::hmac(CLIENT_SECRET.as_bytes()).expect("a key");
                let mut signer = Signer::new(MessageDigest::sha256(), &key).expect("a signer");
                signer.update(signed.as_bytes()).expect("signed");
                signer.sign_to_vec().expect("signed")
            }
            _ => {
                let mut signer = Signer::new(MessageDigest::sha256(), key).expect("a signer");
                signer.update(signed.as_bytes()).expect("signed");
                signer.sign_to_vec().expect("signed")
            }
        };
        let signed = if how == Token::Changed {
            claims["preferred_username"] = json!("mallory");
            format!("{}.{}", signed.split('.').next().expect("a head"), part(&claims))
        } else {
            signed
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

async fn discovery(State(provider): State<Arc<Provider>>) -> Json<Value> {
    let issuer = &provider.issuer;
    let way = if provider.in_body { "client_secret_post" } else { "client_secret_basic" };
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/jwks"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "token_endpoint_auth_methods_supported": [way],
        // A provider that offers too much.
        "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
    }))
}

async fn jwks(State(provider): State<Arc<Provider>>) -> Json<Value> {
    let (key, name) = provider.current();
    let rsa = key.rsa().expect("a key");
    let number = |number: &openssl::bn::BigNumRef| URL_SAFE_NO_PAD.encode(number.to_vec());
    Json(
        json!({ "keys": [{ "kty": "RSA", "use": "sig", "kid": name, "alg": "RS256", "n": number(rsa.n()), "e": number(rsa.e()) }] }),
    )
}

async fn token(State(provider): State<Arc<Provider>>, headers: http::HeaderMap, body: String) -> Response {
    use axum::response::IntoResponse as _;
    let form: std::collections::BTreeMap<String, String> =
        crate::api::pairs(body.as_bytes()).expect("a form").into_iter().collect();
    let refused = (http::StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" }))).into_response();
    let basic = headers.get("authorization").map(|value| value.to_str().expect("ASCII"));
    let in_body = form.get("client_secret").map(String::as_str);
    let known = if provider.in_body {
        (basic, in_body) == (None, Some(CLIENT_SECRET))
    } else {
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{CLIENT}:{CLIENT_SECRET}"));
        (basic, in_body) == (Some(format!("Basic {pair}").as_str()), None)
    };
    if !known {
        return refused;
    }
    // Each code is good once.
    let Some((nonce, challenge)) = provider.asked.lock().expect("no panic").take() else { return refused };
    let verifier = form.get("code_verifier").map(String::as_str).unwrap_or_default();
    if URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())) != challenge {
        return refused;
    }
    *provider.exchanged.lock().expect("no panic") += 1;
    Json(json!({ "access_token": "opaque", "token_type": "Bearer", "id_token": provider.id_token(&nonce) }))
        .into_response()
}

async fn site(provider: &Provider) -> Site {
    site_with(provider, |_| {}).await
}

async fn site_with(provider: &Provider, change: impl FnOnce(&mut OidcConfig)) -> Site {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = OidcConfig {
        issuer: provider.issuer.clone(),
        client_id: CLIENT.to_owned(),
        client_secret: Some(unstuck_security::Secret::value(CLIENT_SECRET)),
        redirect: "https://unstuck.example/login/callback".to_owned(),
        scopes: vec!["profile".to_owned()],
        name_claim: "preferred_username".to_owned(),
        editor_claim: "groups".to_owned(),
        editor_values: vec!["sre".to_owned()],
    };
    change(&mut config);
    let public_url = Some("https://unstuck.example".parse().expect("a URL"));
    Site::new(|_| AccessConfig { mode: Mode::Oidc(config), public_url, tls: None }).await
}

/// A login that has been begun: what came in the address, and the cookie.
struct Begun {
    state: String,
    cookie: String,
}

/// Goes to the provider, which notes what it was asked.
async fn begin(site: &Site, provider: &Provider, back: &str) -> Begun {
    let response = site.get(&format!("/login/start?back={back}"), &[]).await;
    assert_eq!(response.status(), 303);
    let set = response.headers()[SET_COOKIE].to_str().expect("ASCII").to_owned();
    assert!(set.starts_with("__Host-unstuck-login=") && set.contains("HttpOnly; SameSite=Lax; Secure"), "{set}");
    let url: Url = response.headers()["location"].to_str().expect("ASCII").parse().expect("a URL");
    assert!(url.as_str().starts_with(&format!("{}/authorize?", provider.issuer)), "{url}");
    let asked: std::collections::BTreeMap<String, String> = url.query_pairs().into_owned().collect();
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", CLIENT),
        ("code_challenge_method", "S256"),
        ("redirect_uri", "https://unstuck.example/login/callback"),
        ("scope", "openid profile"),
    ] {
        assert_eq!(asked[name], value, "{url}");
    }
    assert!(!url.as_str().contains("clients-secret"));
    *provider.asked.lock().expect("no panic") = Some((asked["nonce"].clone(), asked["code_challenge"].clone()));
    Begun { state: asked["state"].clone(), cookie: set.split(';').next().expect("a pair").to_owned() }
}

async fn come_back(site: &Site, state: &str, cookie: &str) -> Response {
    site.get(&format!("/login/callback?code=abc&state={state}"), &[("cookie", cookie)]).await
}

/// The cookie of the session that a callback has begun.
fn session(response: &Response) -> Option<String> {
    let mut set = response.headers().get_all(SET_COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    set.find(|set| set.starts_with("__Host-unstuck=")).map(|set| set.split(';').next().expect("a pair").to_owned())
}

#[tokio::test]
async fn somebody_logs_in_at_the_provider_and_out_here() {
    let provider = Provider::start().await;
    let site = site(&provider).await;
    let page = site.get("/c/production?x=1", &[("accept", "text/html")]).await;
    assert_eq!(page.headers()["location"], "/login?back=%2Fc%2Fproduction%3Fx%3D1");
    let form = text(site.get("/login?back=/c/production?x=1", &[]).await).await;
    assert!(form.contains(r#"href="/login/start?back=%2Fc%2Fproduction%3Fx%3D1">Log in at 127.0.0.1"#), "{form}");

    let begun = begin(&site, &provider, "/c/production").await;
    let response = come_back(&site, &begun.state, &begun.cookie).await;
    assert_eq!(
        (response.status().as_u16(), response.headers()["location"].to_str().expect("ASCII")),
        (303, "/c/production")
    );
    let cookie = session(&response).expect("a session");
    let html = text(site.get("/", &[("cookie", &cookie)]).await).await;
    assert!(html.contains("Here as <strong><bdi>ada</bdi></strong>, editor."), "{html}");
    assert_eq!(site.post("/c/production/incidents", &[("cookie", &cookie)], "").await.status(), 303);
    site.post("/logout", &[("cookie", &cookie)], "").await;
    assert_eq!(site.get("/", &[("cookie", &cookie)]).await.status(), 401);
}

#[tokio::test]
async fn claims_make_editors_and_names() {
    let provider = Provider::start().await;
    let site = site(&provider).await;
    for (claims, words) in [
        (json!({ "preferred_username": "ada", "groups": "sre" }), "ada</bdi></strong>, editor"),
        (json!({ "preferred_username": "ada", "groups": ["dev"] }), "ada</bdi></strong>, viewer"),
        (json!({ "preferred_username": "ada" }), "ada</bdi></strong>, viewer"),
        (
            json!({ "email": "grace@example.com", "groups": { "sre": true } }),
            "grace@example.com</bdi></strong>, viewer",
        ),
        (json!({ "preferred_username": " ", "groups": [7] }), "248289761001</bdi></strong>, viewer"),
        (json!({ "preferred_username": "<b>" }), "&lt;b&gt;</bdi></strong>, viewer"),
    ] {
        *provider.claims.lock().expect("no panic") = claims.clone();
        let begun = begin(&site, &provider, "/").await;
        let response = come_back(&site, &begun.state, &begun.cookie).await;
        let cookie = session(&response).expect("a session");
        let html = text(site.get("/", &[("cookie", &cookie)]).await).await;
        assert!(html.contains(words), "{claims}");
    }
}

#[tokio::test]
async fn a_token_that_is_not_exactly_right_lets_nobody_in() {
    let provider = Provider::start().await;
    let site = site(&provider).await;
    for wrong in [
        Token::OtherNonce,
        Token::NoNonce,
        Token::OtherAudience,
        Token::OtherIssuer,
        Token::Expired,
        Token::Unsigned,
        Token::SignedWithTheSecret,
        Token::SignedByAnother,
        Token::Changed,
    ] {
        provider.says(wrong);
        let begun = begin(&site, &provider, "/").await;
        let response = come_back(&site, &begun.state, &begun.cookie).await;
        assert_eq!((response.status().as_u16(), session(&response)), (401, None), "{wrong:?}");
        let html = text(response).await;
        assert!(html.contains("is not accepted") && !html.contains("clients-secret"), "{wrong:?}: {html}");
    }
    assert_eq!(*provider.exchanged.lock().expect("no panic"), 9, "each was refused for its token");
    provider.says(Token::Good);
    let begun = begin(&site, &provider, "/").await;
    assert!(session(&come_back(&site, &begun.state, &begun.cookie).await).is_some());
}

#[tokio::test]
async fn a_state_is_good_once_and_only_in_the_browser_that_began() {
    let provider = Provider::start().await;
    let site = site(&provider).await;
    let (mine, theirs) = (begin(&site, &provider, "/").await, begin(&site, &provider, "/").await);
    for (state, cookie) in [
        (mine.state.as_str(), theirs.cookie.as_str()),
        (mine.state.as_str(), ""),
        ("made-up", mine.cookie.as_str()),
        ("made-up", "__Host-unstuck-login=made-up"),
        ("", "__Host-unstuck-login="),
    ] {
        let response = come_back(&site, state, cookie).await;
        assert_eq!((response.status().as_u16(), session(&response)), (401, None), "{state} {cookie}");
        assert!(text(response).await.contains("was not begun in this browser"));
    }
    assert_eq!(*provider.exchanged.lock().expect("no panic"), 0, "the code was never shown to the provider");
    assert!(session(&come_back(&site, &theirs.state, &theirs.cookie).await).is_some());
    let again = come_back(&site, &theirs.state, &theirs.cookie).await;
    assert_eq!((again.status().as_u16(), session(&again)), (401, None), "a replay");
}

#[tokio::test]
async fn a_code_of_somebody_else_is_of_no_use() {
    let provider = Provider::start().await;
    let site = site(&provider).await;
    let victim = begin(&site, &provider, "/").await;
    let of_the_victim = provider.asked.lock().expect("no panic").clone();
    let thief = begin(&site, &provider, "/").await;
    // The thief has the victim's code; the provider knows the challenge that belongs to it.
    *provider.asked.lock().expect("no panic") = of_the_victim;
    let response = come_back(&site, &thief.state, &thief.cookie).await;
    assert_eq!((response.status().as_u16(), session(&response)), (401, None));
    assert!(text(response).await.contains("refuses the code"));
    drop(victim);
}

#[tokio::test]
async fn the_provider_leads_to_no_other_server_and_its_words_are_not_repeated_as_html() {
    let provider = Provider::start().await;
    let site = site(&provider).await;
    for back in ["https://evil.example", "//evil.example", "/%5Cevil.example"] {
        assert_eq!(site.get(&format!("/login/start?back={back}"), &[]).await.status(), 400, "{back}");
    }
    let begun = begin(&site, &provider, "/").await;
    let path = format!("/login/callback?error=access_denied&error_description=%3Cscript%3E&state={}", begun.state);
    let response = site.get(&path, &[("cookie", &begun.cookie)]).await;
    assert_eq!(response.status(), 401);
    let html = text(response).await;
    assert!(html.contains("access_denied") && !html.contains("<script>"), "{html}");
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_named_and_nothing_else_is_hurt() {
    let provider = Provider::start().await;
    let mut gone = Provider {
        issuer: "http://127.0.0.1:1".to_owned(),
        key: provider.key.clone(),
        other: provider.other.clone(),
        asked: Mutex::default(),
        token: Mutex::default(),
        claims: Mutex::default(),
        exchanged: Mutex::default(),
        rotated: Mutex::default(),
        in_body: false,
    };
    let site = site(&gone).await;
    gone.issuer.clear();
    let response =
        tokio::time::timeout(Duration::from_secs(60), site.get("/login/start", &[])).await.expect("an answer");
    assert_eq!(response.status(), 503);
    assert!(text(response).await.contains("the identity provider cannot be asked"));
    assert_eq!(site.get("/healthz", &[]).await.status(), 200);
}

#[tokio::test]
async fn a_claim_in_another_one_and_one_with_dots_in_its_name_are_found() {
    let provider = Provider::start().await;
    for (name, claims) in [
        ("realm_access.roles", json!({ "realm_access": { "roles": ["sre"] } })),
        ("https://ours.example/groups", json!({ "https://ours.example/groups": ["sre"] })),
        ("a.b.c", json!({ "a": { "b.c": "sre" } })),
    ] {
        let site = site_with(&provider, |config| config.editor_claim = name.to_owned()).await;
        for (claims, role) in [(claims, "editor"), (json!({ "realm_access": "sre", "a": ["sre"] }), "viewer")] {
            *provider.claims.lock().expect("no panic") = claims;
            let begun = begin(&site, &provider, "/").await;
            let cookie = session(&come_back(&site, &begun.state, &begun.cookie).await).expect("a session");
            let html = text(site.get("/", &[("cookie", &cookie)]).await).await;
            assert!(html.contains(&format!("</bdi></strong>, {role}.")), "{name}: {html}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_changes_its_keys_is_asked_for_them_again() {
    let provider = Provider::start().await;
    let site = site(&provider).await;
    let begun = begin(&site, &provider, "/").await;
    assert!(session(&come_back(&site, &begun.state, &begun.cookie).await).is_some());
    *provider.rotated.lock().expect("no panic") = true;
    let begun = begin(&site, &provider, "/").await;
    assert!(session(&come_back(&site, &begun.state, &begun.cookie).await).is_some());
}

#[tokio::test]
async fn the_clients_secret_is_shown_where_the_provider_wants_it() {
    let provider = Provider::start_with(true).await;
    let site = site(&provider).await;
    let begun = begin(&site, &provider, "/").await;
    assert!(session(&come_back(&site, &begun.state, &begun.cookie).await).is_some());
}
