//! What stands around every route: is this the host that is meant, who comes, and may they?

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, HeaderValue, Method, header};
use jiff::Timestamp;
use leptos::prelude::{FromServerFnError as _, ServerFnError};

use super::attempts::Attempts;
use super::credentials::Hash;
use super::needs::{self, Need};
use super::oidc::Oidc;
use super::proxy::ProxyHeader;
use super::sessions::{Origin, Sessions};
use super::tokens::{NoToken, Token, TokenFile};
use super::{Peer, Who};
use crate::config::{AccessConfig, ConfigError, Mode};
use crate::connections::tls::Tls;
use crate::problem::Problem;
use crate::same_site::{OnLoopback, header_text, names_this_machine};

/// For how long browsers are told to come by TLS alone: a year.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// What the server functions of `app/src/fetch.rs` begin with.
const PAGES_ASK: &str = "/_page/";

/// How Unstuck is entered, and who is in.
#[derive(Debug)]
pub struct Door {
    pub(super) rule: Rule,
    pub(super) sessions: Sessions,
    attempts: Attempts,
    /// The host of the public address, without port.
    host: Option<String>,
    /// Whether whoever comes has to come by TLS.
    secure: bool,
    /// The certificate, if TLS ends here.
    tls: Option<Arc<Tls>>,
}

/// Who is let in.
#[derive(Debug)]
pub(super) enum Rule {
    /// Everybody, as an editor.
    Open,
    /// Whoever has a token.
    Token(TokenFile),
    /// Whom a proxy names.
    Proxy(ProxyHeader),
    /// Whom an identity provider names.
    Oidc(Box<Oidc>),
}

/// What is said to whoever is not let in.
#[derive(Debug)]
pub(super) enum Refused {
    /// They may log in.
    LogIn(Problem),
    /// There is nothing that they could do here.
    Away(Problem),
}

impl Door {
    /// As configured.
    ///
    /// # Errors
    /// The file of tokens, the client's secret, or the certificate cannot be used.
    pub fn new(config: &AccessConfig) -> Result<Self, ConfigError> {
        let rule = match &config.mode {
            Mode::Open => Rule::Open,
            Mode::Token(path) => {
                Rule::Token(TokenFile::open(path).map_err(|why| ConfigError::bad_tokens_file(path, &why))?)
            }
            Mode::ProxyHeader(proxy) => Rule::Proxy(proxy.clone()),
            Mode::Oidc(oidc) => Rule::Oidc(Box::new(Oidc::new(oidc.clone())?)),
        };
        let secure = config.is_secure();
        let host = config.public_url.as_ref().and_then(|url| url.host_str()).map(str::to_owned);
        let tls = config.tls.as_ref().map(|files| Tls::open(files).map_err(|why| ConfigError::bad_certificate(&why)));
        let tls = tls.transpose()?.map(Arc::new);
        Ok(Self { rule, sessions: Sessions::new(secure), attempts: Attempts::default(), host, secure, tls })
    }

    /// Open to whoever reaches it.
    #[must_use]
    pub fn open() -> Self {
        Self {
            rule: Rule::Open,
            sessions: Sessions::new(false),
            attempts: Attempts::default(),
            host: None,
            secure: false,
            tls: None,
        }
    }

    /// The certificate, if TLS ends here.
    pub(crate) fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.clone()
    }

    /// What the address of this server begins with.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Says what is dangerous, where something is.
    pub(crate) fn warn(&self, listen: std::net::SocketAddr) {
        if listen.ip().to_canonical().is_loopback() {
            return;
        }
        match &self.rule {
            Rule::Open => tracing::warn!("whoever reaches {listen} may read everything and write notes: --access open"),
            Rule::Token(_) | Rule::Oidc(_) if !self.secure => {
                tracing::warn!(
                    "tokens and cookies can be read on their way to {listen}: give a certificate with --tls-certificate, or \
                                put a proxy with TLS in front and say --public-url https://…"
                );
            }
            Rule::Token(_) | Rule::Proxy(_) | Rule::Oidc(_) => {}
        }
    }

    /// Whether a request is meant for this server. A name other than those known may be one that somebody let point to
    /// this machine (DNS rebinding): their page would then read ours as its own.
    fn knows_host(&self, headers: &HeaderMap, on_loopback: bool) -> Result<(), Problem> {
        if !on_loopback && self.host.is_none() {
            return Ok(());
        }
        let Some(host) = header_text(headers, header::HOST.as_str()) else { return Ok(()) };
        let ours = self.host.as_deref().is_some_and(|ours| {
            host.parse::<http::uri::Authority>().is_ok_and(|host| host.host().eq_ignore_ascii_case(ours))
        });
        if ours || names_this_machine(host) { Ok(()) } else { Err(Problem::unknown_host(host)) }
    }

    /// Who sends a request.
    pub(super) fn who(&self, headers: &HeaderMap, from: Option<IpAddr>) -> Result<Who, Refused> {
        match &self.rule {
            Rule::Open => Ok(Who::anybody()),
            Rule::Proxy(proxy) => proxy.who(headers, from).map_err(Refused::Away),
            Rule::Oidc(_) => self.by_session(headers).ok_or_else(|| Refused::LogIn(Problem::no_login_at_provider())),
            Rule::Token(file) => match bearer(headers) {
                Some(token) => {
                    self.by_token(file, token, from).map(|token| of_token(token, false)).map_err(Refused::Away)
                }
                None => self.by_session(headers).ok_or_else(|| Refused::LogIn(Problem::no_login())),
            },
        }
    }

    /// The line of a token that somebody shows.
    pub(super) fn by_token(&self, file: &TokenFile, token: &str, from: Option<IpAddr>) -> Result<Token, Problem> {
        file.find(Hash::of(token), Timestamp::now()).map_err(|why| match self.attempts.wrong(from, Instant::now()) {
            Ok(()) => {
                let from = from.map_or_else(|| "unknown".to_owned(), |from| from.to_string());
                tracing::warn!(from, ?why, "a token was refused");
                match why {
                    NoToken::Unknown => Problem::wrong_token(),
                    NoToken::Over(until) => Problem::token_over(until),
                }
            }
            Err(wait) => Problem::too_many_attempts(wait.max(Duration::from_secs(1))),
        })
    }

    fn by_session(&self, headers: &HeaderMap) -> Option<Who> {
        match (self.sessions.of(headers, Instant::now())?, &self.rule) {
            (Origin::Token(hash), Rule::Token(file)) => Some(of_token(file.find(hash, Timestamp::now()).ok()?, true)),
            (Origin::Person { name, role }, Rule::Oidc(_)) => Some(Who { name: Some(name), role, session: true }),
            _ => None,
        }
    }
}

fn of_token(token: Token, session: bool) -> Who {
    Who { name: Some(token.name), role: token.role, session }
}

/// The token of `Authorization: Bearer`; whatever else is in that header is a wrong one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = header_text(headers, header::AUTHORIZATION.as_str())?;
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    Some(if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" })
}

/// Lets a request through to its handler, or answers it.
pub(crate) async fn admit(State(door): State<Arc<Door>>, mut request: Request, next: Next) -> Response {
    let mut response = match door.pass(&mut request) {
        Ok(()) => next.run(request).await,
        Err(answer) => *answer,
    };
    if door.secure {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    response
}

impl Door {
    fn pass(&self, request: &mut Request) -> Result<(), Box<Response>> {
        let from = request.extensions().get::<Peer>().map(|peer| peer.ip());
        let on_loopback = request.extensions().get::<OnLoopback>().is_some();
        if !needs::is_probe(request) {
            self.knows_host(request.headers(), on_loopback).map_err(|problem| Box::new(problem.into_response()))?;
        }
        let Need::AtLeast(role) = needs::of(request) else {
            if matches!(self.rule, Rule::Open) {
                request.extensions_mut().insert(Who::anybody());
            }
            return Ok(());
        };
        match self.who(request.headers(), from) {
            Ok(who) if who.role >= role => {
                request.extensions_mut().insert(who);
                Ok(())
            }
            Ok(who) => Err(Box::new(Problem::not_permitted(who.role, role).into_response())),
            Err(refused) => Err(Box::new(refused.answer(request))),
        }
    }
}

impl Refused {
    fn answer(self, request: &Request) -> Response {
        if request.uri().path().starts_with(PAGES_ASK) {
            return self.into_page_words();
        }
        match self {
            Self::Away(problem) => problem.into_response(),
            Self::LogIn(problem) if !is_page(request) => problem.into_response(),
            Self::LogIn(_) => {
                let readable = matches!(*request.method(), Method::GET | Method::HEAD);
                let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
                // What a form sent is lost, but the browser still has it one step back.
                let back = if readable { path } else { "/" };
                let mut response = Redirect::to(&super::login::path(back)).into_response();
                response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                response
            }
        }
    }
}

impl Refused {
    /// To an open page that wants to know more, so that it shows a sentence.
    fn into_page_words(self) -> Response {
        let (problem, words) = match self {
            Self::LogIn(problem) => (problem, "The login of this page has ended. Load it again to log in.".to_owned()),
            Self::Away(problem) => {
                let words = format!("{} {}", problem.detail, problem.advice);
                (problem, words)
            }
        };
        // As server functions write errors of what stands before them.
        let refusal: ServerFnError = ServerFnError::MiddlewareError(words);
        let mut response = problem.into_response();
        *response.body_mut() = refusal.ser().into();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        response
    }
}

/// Whether a person waits for a page, rather than a program for an answer.
fn is_page(request: &Request) -> bool {
    let accept = header_text(request.headers(), header::ACCEPT.as_str()).unwrap_or_default();
    accept.contains("text/html") && !request.uri().path().starts_with("/api/")
}

/// Whom a request comes from. The door has seen to it; without one (in tests of single routes) nobody is asked.
pub(crate) fn who_of(extensions: &http::Extensions) -> Who {
    extensions.get::<Who>().cloned().unwrap_or_else(Who::anybody)
}
