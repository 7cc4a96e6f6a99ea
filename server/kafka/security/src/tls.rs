//! TLS around a connection, and what each way in which it can fail means.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use openssl::error::ErrorStack;
use openssl::ssl::{self, SslConnector, SslVerifyMode};
use openssl::x509::{X509Ref, X509StoreContextRef};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use tokio_openssl::SslStream;
use unstuck_wire::{Dial, Dialing, Stream, WireError};

use crate::material::{Stamp, connector, subject, words};
use crate::{Tls, Unusable};

/// How long nobody tries again after a TLS handshake that failed for a reason that only somebody's hand changes: each
/// attempt leaves a line in a broker's log.
const PAUSE: Duration = Duration::from_secs(5);
/// Names of a certificate that are told.
const NAMES: usize = 10;

/// Opens TLS connections over those of another dialer. Certificates and keys are read when they changed.
///
/// A peer has to prove that it is the host that it is known by ([`Dial::dial_as`]): the one that it advertises, also where
/// it is reached at another address. With a host name that is said in the hello as well (SNI).
pub(crate) struct SecureDial {
    inner: Arc<dyn Dial>,
    tls: Tls,
    loaded: Mutex<Option<(Stamp, SslConnector)>>,
    held: Arc<Held>,
}

impl SecureDial {
    pub(crate) fn new(inner: Arc<dyn Dial>, tls: Tls) -> Self {
        Self { inner, tls, loaded: Mutex::default(), held: Arc::default() }
    }

    fn connector(&self) -> Result<SslConnector, Unusable> {
        let stamp = Stamp::of(&self.tls);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, connector)) = loaded.as_ref().filter(|(of, _)| *of == stamp) {
            return Ok(connector.clone());
        }
        let connector = connector(&self.tls)?;
        *loaded = Some((stamp, connector.clone()));
        self.held.forget();
        Ok(connector)
    }

    fn wrap(
        &self,
        connector: &SslConnector,
        peer: Addressed<'_>,
        stream: Box<dyn Stream>,
    ) -> Result<TlsStream, ErrorStack> {
        let seen: Arc<Mutex<Option<WireError>>> = Arc::default();
        let mut configured = connector.configure()?;
        configured.set_verify_hostname(self.tls.verify_host);
        configured.set_verify_callback(SslVerifyMode::PEER, {
            let (seen, host) = (Arc::clone(&seen), peer.host.to_owned());
            move |well, context| {
                if !well {
                    let problem = problem(context, &host);
                    seen.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
                }
                well
            }
        });
        let ssl = configured.into_ssl(peer.host)?;
        Ok(TlsStream {
            stream: SslStream::new(ssl, stream)?,
            stage: Stage::Opening,
            seen,
            shows_certificate: self.tls.identity.is_some(),
            address: peer.address.to_owned(),
            held: Arc::clone(&self.held),
        })
    }
}

impl fmt::Debug for SecureDial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecureDial").field("tls", &self.tls).finish_non_exhaustive()
    }
}

/// Where to, and as whom.
#[derive(Clone, Copy)]
struct Addressed<'a> {
    address: &'a str,
    host: &'a str,
}

impl Dial for SecureDial {
    fn dial<'a>(&'a self, address: &'a str, until: Instant) -> Dialing<'a> {
        self.dial_as(address, unstuck_wire::host_of(address), until)
    }

    fn dial_as<'a>(&'a self, address: &'a str, host: &'a str, until: Instant) -> Dialing<'a> {
        Box::pin(async move {
            let connector = self.connector().map_err(|error| WireError::Unusable(error.to_string()))?;
            self.held.free(address)?;
            let stream = self.inner.dial_as(address, host, until).await?;
            let stream = self.wrap(&connector, Addressed { address, host }, stream);
            let stream: Box<dyn Stream> = Box::new(stream.map_err(|error| WireError::TlsFailed(words(&error)))?);
            Ok(stream)
        })
    }
}

/// What TLS failed with at each address, and when.
#[derive(Debug, Default)]
struct Held(Mutex<HashMap<String, (Instant, WireError)>>);

impl Held {
    fn free(&self, address: &str) -> Result<(), WireError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, (since, _)| since.elapsed() < PAUSE);
        held.get(address).map_or(Ok(()), |(_, error)| Err(error.clone()))
    }

    fn hold(&self, address: &str, error: &WireError) {
        let lasts = matches!(
            error,
            WireError::NotTls
                | WireError::TlsRefused(_)
                | WireError::TlsFailed(_)
                | WireError::CertificateNotTrusted(_)
                | WireError::CertificateExpired(_)
                | WireError::CertificateForOthers { .. }
        );
        if lasts {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            held.insert(address.to_owned(), (Instant::now(), error.clone()));
        }
    }

    fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The handshake is to be made.
    Opening,
    /// It is through for us. In TLS 1.3 the peer may still refuse it: what it then says comes in place of the first answer.
    Opened,
    /// The peer has said something in it.
    Answered,
}

/// A TLS connection. Its handshake is made while it is flushed, or at the first read or write.
struct TlsStream {
    stream: SslStream<Box<dyn Stream>>,
    stage: Stage,
    /// What is wrong with the peer's certificate.
    seen: Arc<Mutex<Option<WireError>>>,
    shows_certificate: bool,
    address: String,
    held: Arc<Held>,
}

impl TlsStream {
    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.stage == Stage::Opening {
            if let Err(error) = ready!(Pin::new(&mut self.stream).poll_connect(context)) {
                return Poll::Ready(Err(self.failed(&error)));
            }
            self.stage = Stage::Opened;
        }
        Poll::Ready(Ok(()))
    }

    fn failed(&self, error: &ssl::Error) -> io::Error {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).take();
        let why = seen.unwrap_or_else(|| meaning(error, self.shows_certificate));
        self.held.hold(&self.address, &why);
        io::Error::other(why)
    }

    fn translate(&self, error: io::Error) -> io::Error {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<ssl::Error>()) {
            Some(inner) if self.stage == Stage::Opened => self.failed(inner),
            Some(_) => io::Error::other(WireError::Closed),
            None => error,
        }
    }
}

impl AsyncRead for TlsStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(context))?;
        let before = into.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, into));
        if into.filled().len() > before {
            self.stage = Stage::Answered;
        }
        Poll::Ready(read.map_err(|error| self.translate(error)))
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?;
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        Poll::Ready(written.map_err(|error| self.translate(error)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Codes of OpenSSL's verification (`x509_vfy.h`).
mod verify {
    pub(super) const NOT_YET_VALID: i32 = 9;
    pub(super) const HAS_EXPIRED: i32 = 10;
    pub(super) const HOSTNAME_MISMATCH: i32 = 62;
    pub(super) const IP_ADDRESS_MISMATCH: i32 = 64;
    /// Self-signed, or an issuer that nobody trusts.
    pub(super) const UNTRUSTED: [i32; 4] = [18, 19, 20, 21];
}

/// What is wrong with a certificate of the peer's.
fn problem(context: &X509StoreContextRef, host: &str) -> WireError {
    let error = context.error();
    let Some(certificate) = context.current_cert() else {
        return WireError::CertificateNotTrusted(error.error_string().to_owned());
    };
    let whose = subject(certificate.subject_name());
    match error.as_raw() {
        verify::HAS_EXPIRED => {
            WireError::CertificateExpired(format!("the one of {whose} expired on {}", certificate.not_after()))
        }
        verify::NOT_YET_VALID => {
            WireError::CertificateExpired(format!("the one of {whose} is valid from {} on", certificate.not_before()))
        }
        verify::HOSTNAME_MISMATCH | verify::IP_ADDRESS_MISMATCH => {
            WireError::CertificateForOthers { host: host.to_owned(), names: names(certificate) }
        }
        code if verify::UNTRUSTED.contains(&code) => {
            let issuer = subject(certificate.issuer_name());
            let who = if issuer == whose { "itself".to_owned() } else { issuer };
            WireError::CertificateNotTrusted(format!("{whose}, issued by {who}"))
        }
        _ => WireError::CertificateNotTrusted(format!("{whose}: {}", error.error_string())),
    }
}

/// The hosts that a certificate is for: its alternative names, else its common name (RFC 6125).
fn names(certificate: &X509Ref) -> Vec<String> {
    let alternative = certificate.subject_alt_names();
    let mut names: Vec<String> = alternative
        .iter()
        .flatten()
        .filter_map(|name| match (name.dnsname(), name.ipaddress()) {
            (Some(host), _) => Some(host.to_owned()),
            (None, Some(bytes)) => ip(bytes),
            (None, None) => None,
        })
        .collect();
    if names.is_empty() {
        names.push(subject(certificate.subject_name()));
    }
    names.truncate(NAMES);
    names
}

fn ip(bytes: &[u8]) -> Option<String> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(std::net::Ipv4Addr::from(four).to_string());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|sixteen| std::net::Ipv6Addr::from(sixteen).to_string())
}

/// Reasons of OpenSSL's handshakes (`sslerr.h`).
mod reason {
    pub(super) const UNEXPECTED_EOF: i32 = 294;
    /// What does not begin as TLS does.
    pub(super) const NOT_TLS: [i32; 5] = [
        267, // wrong version number
        198, // packet length too long
        252, // unknown protocol
        156, // http request
        244, // unexpected message
    ];
    /// Alerts of the peer are this and their number.
    pub(super) const ALERT: i32 = 1_000;
}

/// What a failed handshake means, if it was not about the peer's certificate.
fn meaning(error: &ssl::Error, shows_certificate: bool) -> WireError {
    if let Some(error) = error.io_error() {
        return WireError::from_stream(error);
    }
    let Some(stack) = error.ssl_error() else { return WireError::Closed };
    for code in stack.errors().iter().map(openssl::error::Error::reason_code) {
        if code == reason::UNEXPECTED_EOF {
            return WireError::Closed;
        }
        if reason::NOT_TLS.contains(&code) {
            return WireError::NotTls;
        }
        if let Some(alert) = code.checked_sub(reason::ALERT).filter(|alert| (0..=255).contains(alert)) {
            let more = if shows_certificate { "" } else { "; we show no certificate" };
            return WireError::TlsRefused(format!("{}{more}", alert_words(alert)));
        }
    }
    WireError::TlsFailed(words(stack))
}

/// The alerts of TLS (RFC 8446 section 6) that a peer ends a handshake with.
fn alert_words(alert: i32) -> String {
    let words = match alert {
        40 => "handshake failure",
        42 => "bad certificate",
        43 => "unsupported certificate",
        44 => "certificate revoked",
        45 => "certificate expired",
        46 => "certificate unknown",
        48 => "unknown CA",
        49 => "access denied",
        70 => "protocol version",
        71 => "insufficient security",
        80 => "internal error",
        112 => "unrecognized name",
        116 => "certificate required",
        _ => return format!("alert {alert}"),
    };
    format!("alert {alert}, {words}")
}

#[cfg(test)]
mod tests;
