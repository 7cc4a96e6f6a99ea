//! One connection to one broker, one request in flight.

mod session;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use kacrab_protocol::frame::{RequestFrameSpec, encode_request_frame};
use kacrab_protocol::version::response_header_version;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use self::session::Session;
use crate::dial::{Dial, Stream, Tcp, dial, host_of, is_http, is_tls};
use crate::messages::api_versions::ApiVersionsRequest;
use crate::messages::{Decoded, Request};
use crate::{Api, Login, Peer, VersionTable, WireError};

/// The first correlation id. As bytes it is two line ends: a server that waits for the end of an HTTP request line
/// answers our first request at once, so that a port that speaks HTTP says so instead of looking silent.
const FIRST_CORRELATION: i32 = 0x0d0a_0d0a;

/// No throttle time is believed beyond this; a hostile answer must not stretch our deadlines for ever.
const LONGEST_THROTTLE: Duration = Duration::from_secs(30);

/// A connection to a broker. Requests go one at a time. Where it has a [`Login`], nothing but ApiVersions is sent before
/// that is through, and it is repeated before the session ends (KIP-368).
///
/// A request that times out stays outstanding: the next call first waits for its late answer (and drops it) before it
/// sends anything, so that a hung broker is not piled up with requests, no answer is mistaken for another, and each
/// further call tells whether the broker still hangs. A call must not be dropped half-way and the connection used on.
pub struct Connection {
    stream: Box<dyn Stream>,
    client_id: String,
    versions: VersionTable,
    received: BytesMut,
    next_correlation: i32,
    outstanding: Option<Outstanding>,
    /// In which version ApiVersions is asked, and whether it was: a broker takes it once before a login.
    greeting: (i16, bool),
    /// The login, where there is one.
    session: Option<Session>,
    /// Whether requests need one; so that a connection whose login was dropped half-way cannot do without.
    logs_in: bool,
    /// Answers received so far; the first one is always that to ApiVersions.
    answers: u64,
    throttle: Duration,
    /// Set when a request could be written only in part: nothing sensible can follow on this connection.
    torn: bool,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    correlation: i32,
    limit: usize,
}

/// An answer, and what it cost.
#[derive(Clone, Debug)]
pub struct Answered<A> {
    /// The answer.
    pub answer: A,
    /// For how long the broker throttles us from now on; already added to this connection's next deadline.
    pub throttle: Duration,
    /// From sending the request to having the answer.
    pub took: Duration,
}

impl Connection {
    /// Opens a TCP connection to `host:port`. Nothing is sent yet.
    ///
    /// # Errors
    /// Name not found, refused, unreachable, or no answer within the deadline, each as its own variant.
    pub async fn connect(address: &str, client_id: &str, deadline: Duration) -> Result<Self, WireError> {
        Self::connect_by(&Tcp, address, client_id, deadline).await
    }

    /// Opens a connection to `host:port` by a dialer of the caller's. Nothing is sent yet.
    ///
    /// # Errors
    /// What the dialer says; [`WireError::ConnectTimeout`] if it has said nothing when the deadline is over.
    pub async fn connect_by(
        dialer: &dyn Dial,
        address: &str,
        client_id: &str,
        deadline: Duration,
    ) -> Result<Self, WireError> {
        let peer = Peer { address: address.to_owned(), host: host_of(address).to_owned() };
        Self::enter(dialer, peer, None, client_id, deadline).await
    }

    /// Opens a connection to a peer by a dialer of the caller's, to log in there. Nothing is sent yet.
    ///
    /// # Errors
    /// As [`connect_by`](Self::connect_by); what the login says if it is too early for another attempt.
    pub async fn enter(
        dialer: &dyn Dial,
        peer: Peer,
        login: Option<Arc<dyn Login>>,
        client_id: &str,
        deadline: Duration,
    ) -> Result<Self, WireError> {
        if let Some(login) = &login {
            login.worth(&peer)?;
        }
        Ok(Self {
            stream: dial(dialer, &peer.address, &peer.host, Instant::now() + deadline).await?,
            client_id: client_id.to_owned(),
            versions: VersionTable::default(),
            received: BytesMut::new(),
            next_correlation: FIRST_CORRELATION,
            outstanding: None,
            greeting: (3, false),
            logs_in: login.is_some(),
            session: login.map(|login| Session::new(login, peer)),
            answers: 0,
            throttle: Duration::ZERO,
            torn: false,
        })
    }

    /// Does what has to be done before the first request: TLS, then the broker's API versions, from which all later
    /// requests are negotiated, then the login. API versions are asked for in version 3, then in version 0, as clients do
    /// (KIP-511). May be called again after [`WireError::Silent`], and goes on where it was.
    ///
    /// # Errors
    /// As [`call`](Self::call). Each step may take `deadline`.
    pub async fn handshake(&mut self, deadline: Duration) -> Result<(), WireError> {
        let until = Instant::now() + deadline;
        match timeout_at(until, self.stream.flush()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(self.ending(&error)),
            Err(_) => return Err(WireError::Silent),
        }
        while self.versions.0.is_empty() {
            let (version, mut sent) = self.greeting;
            let asked = self.exchange(&ApiVersionsRequest, version, until, &mut sent).await;
            self.greeting = (version, sent);
            let (answered, _) = asked?;
            match answered.error {
                0 if answered.versions.0.is_empty() => {
                    return Err(WireError::Malformed("ApiVersions offers nothing".to_owned()));
                }
                0 => self.versions = answered.versions,
                35 if version != 0 => self.greeting = (0, false),
                35 => return Err(WireError::Malformed("ApiVersions version 0 is refused as unsupported".to_owned())),
                code => return Err(WireError::Malformed(format!("ApiVersions answered error {code}"))),
            }
        }
        self.log_in(deadline).await
    }

    /// What the broker offers; empty before [`handshake`](Self::handshake).
    #[must_use]
    pub fn versions(&self) -> &VersionTable {
        &self.versions
    }

    /// The version in which a request would be sent.
    #[must_use]
    pub fn version(&self, api: Api) -> Option<i16> {
        self.versions.common(api)
    }

    /// Whether a request is still unanswered after its deadline.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Sends a request in the highest common version and waits for its answer, at most for `deadline` plus the
    /// throttle time of the last answer.
    ///
    /// # Errors
    /// [`WireError::Silent`] if the deadline passes (the connection stays usable); [`WireError::TooOld`],
    /// [`WireError::StringTooLong`] and [`WireError::Unwritable`] before anything is sent; after any other error
    /// the connection is of no more use.
    pub async fn call<R: Request>(
        &mut self,
        request: &R,
        deadline: Duration,
    ) -> Result<Answered<R::Answer>, WireError> {
        let version = self.versions.common(R::API).ok_or(WireError::TooOld(R::API.name()))?;
        self.call_in(request, version, deadline).await
    }

    /// As [`call`](Self::call), in a version that the caller chose among the common ones.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_in<R: Request>(
        &mut self,
        request: &R,
        version: i16,
        deadline: Duration,
    ) -> Result<Answered<R::Answer>, WireError> {
        self.log_in(deadline).await?;
        let until = Instant::now() + deadline + self.throttle;
        let started = Instant::now();
        let (answer, throttle) = self.exchange(request, version, until, &mut false).await?;
        Ok(Answered { answer, throttle, took: started.elapsed() })
    }

    /// Waits for the answer to a call that ended with [`WireError::Silent`], and drops it. At once if none is owed.
    ///
    /// # Errors
    /// [`WireError::Silent`] if it is still not there after `deadline`; after any other error the connection is of no
    /// more use.
    pub async fn late_answer(&mut self, deadline: Duration) -> Result<(), WireError> {
        let until = Instant::now() + deadline;
        if self.torn {
            return Err(timeout_at(until, self.end()).await.unwrap_or(WireError::Silent));
        }
        match self.outstanding {
            Some(late) => self.receive(late, until).await.map(drop),
            None => Ok(()),
        }
    }

    /// Waits until the peer ends the connection, or sends something that nobody asked for. For use while no request
    /// is unanswered (else it never returns); may be dropped at any time.
    pub async fn ended(&mut self) -> WireError {
        if self.outstanding.is_some() {
            return std::future::pending().await;
        }
        self.end().await
    }

    async fn end(&mut self) -> WireError {
        match self.stream.read_buf(&mut self.received).await {
            Ok(0) => self.closed(),
            Ok(_) => WireError::Malformed("bytes that nobody asked for".to_owned()),
            Err(error) => WireError::from_stream(&error),
        }
    }

    /// Sends a request, unless it was `sent` before and its answer is still owed, and waits for the answer.
    async fn exchange<R: Request>(
        &mut self,
        request: &R,
        version: i16,
        until: Instant,
        sent: &mut bool,
    ) -> Result<(R::Answer, Duration), WireError> {
        if self.torn {
            // Takes its time like any other unanswered call: callers ask again at once after silence.
            return Err(timeout_at(until, self.end()).await.unwrap_or(WireError::Silent));
        }
        let asked = match self.outstanding {
            Some(asked) if *sent => asked,
            _ => {
                let asked = self.send(request, version, until).await?;
                *sent = true;
                asked
            }
        };
        let mut answer = self.receive(asked, until).await?;
        if response_header_version(R::API.key(), version) > 0 {
            crate::decode::tags(&mut answer)?;
        }
        let Decoded { answer: decoded, throttle_ms } = request.decode(version, &mut answer)?;
        if answer.has_remaining() {
            return Err(WireError::Malformed(format!(
                "{} bytes left over after {} version {version}",
                answer.remaining(),
                R::API.name()
            )));
        }
        let throttle = u64::try_from(throttle_ms).map_or(Duration::ZERO, Duration::from_millis).min(LONGEST_THROTTLE);
        self.throttle = throttle;
        Ok((decoded, throttle))
    }

    /// Sends a request, after the late answer to the one before if that is owed.
    async fn send<R: Request>(&mut self, request: &R, version: i16, until: Instant) -> Result<Outstanding, WireError> {
        let correlation = self.next_correlation;
        let key = R::API.codec_key();
        let spec = RequestFrameSpec {
            api_key: key,
            api_version: version,
            correlation_id: correlation,
            client_id: &self.client_id,
            capacity_hint: 256,
        };
        let mut body = BytesMut::new();
        request.encode(version, &mut body)?;
        let frame = encode_request_frame(spec, |frame| {
            frame.extend_from_slice(&body);
            Ok(())
        })
        .map_err(|error| WireError::Unwritable(error.to_string()))?;

        if let Some(late) = self.outstanding {
            self.receive(late, until).await?;
        }
        self.next_correlation = self.next_correlation.wrapping_add(1);
        match timeout_at(until, self.stream.write_all(&frame)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(self.ending(&error)),
            Err(_) => {
                self.torn = true;
                return Err(WireError::Silent);
            }
        }
        let asked = Outstanding { correlation, limit: R::API.answer_limit() };
        self.outstanding = Some(asked);
        Ok(asked)
    }

    /// Waits for the answer to `asked`; its body starts after the correlation id.
    async fn receive(&mut self, asked: Outstanding, until: Instant) -> Result<Bytes, WireError> {
        loop {
            if let Some(mut frame) = self.next_frame(asked.limit)? {
                let correlation = frame.get_i32();
                if correlation != asked.correlation {
                    return Err(WireError::Malformed(format!(
                        "answer to request {correlation}, but {} was asked",
                        asked.correlation
                    )));
                }
                self.outstanding = None;
                self.answers += 1;
                return Ok(frame);
            }
            match timeout_at(until, self.stream.read_buf(&mut self.received)).await {
                Ok(Ok(0)) => return Err(self.closed()),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(self.ending(&error)),
                Err(_) => return Err(WireError::Silent),
            }
        }
    }

    /// Takes one whole frame off the bytes received, if there is one. Memory grows only with bytes that arrived,
    /// never with the length that a frame claims.
    fn next_frame(&mut self, limit: usize) -> Result<Option<Bytes>, WireError> {
        if self.answers == 0 {
            self.foreign()?;
        }
        let Some(head) = self.received.first_chunk::<4>() else { return Ok(None) };
        let claimed = i32::from_be_bytes(*head);
        let length = usize::try_from(claimed).unwrap_or(usize::MAX);
        if length < 4 || length > limit {
            return Err(WireError::Malformed(format!("a frame of {claimed} bytes (4 to {limit} are read)")));
        }
        if self.received.len() - 4 < length {
            return Ok(None);
        }
        self.received.advance(4);
        Ok(Some(self.received.split_to(length).freeze()))
    }

    /// Another protocol in place of the first answer.
    fn foreign(&self) -> Result<(), WireError> {
        if is_http(&self.received) {
            return Err(WireError::SpeaksHttp);
        }
        if is_tls(&self.received) {
            return Err(WireError::SpeaksTls);
        }
        Ok(())
    }

    /// The peer closed the connection in order: what that means depends on how far we had come.
    fn closed(&self) -> WireError {
        match self.answers {
            // Half an answer and an end: not Kafka, or a broker that died while it wrote.
            0 if !self.received.is_empty() && self.outstanding.is_some() => {
                self.foreign().err().unwrap_or(WireError::Closed)
            }
            1 if self.outstanding.is_some() && !self.logs_in => WireError::ClosedAfterApiVersions,
            _ => WireError::Closed,
        }
    }

    fn ending(&self, error: &std::io::Error) -> WireError {
        match WireError::from_stream(error) {
            WireError::Closed => self.closed(),
            other => other,
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("client_id", &self.client_id)
            .field("outstanding", &self.outstanding)
            .field("answers", &self.answers)
            .field("torn", &self.torn)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
