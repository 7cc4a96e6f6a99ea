//! The other end of a connection: reading requests and framing answers, for peers that imitate a broker.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kacrab_protocol::generated::{ApiKey, client_api_info};
use kacrab_protocol::version::{request_header_version, response_header_version};

use crate::WireError;
use crate::decode::{nullable_string, tags};

/// The longest request that is read, in bytes. Kafka's own limit is 100 MiB (`socket.request.max.bytes`); nothing that
/// tools send comes near this one.
pub const LONGEST_REQUEST: usize = 16 << 20;

/// A request as it arrived: its header, and the body still encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The API key.
    pub api: i16,
    /// The version that the body is encoded in.
    pub version: i16,
    /// The number by which the asker knows the answer.
    pub correlation: i32,
    /// How the asker calls itself.
    pub client_id: Option<String>,
    /// The body.
    pub body: Bytes,
}

/// Takes one whole request off the bytes received, if there is one. Memory grows only with bytes that arrived.
///
/// # Errors
/// [`WireError::Malformed`] if what arrived is no request; nothing sensible can follow.
pub fn next_request(received: &mut BytesMut) -> Result<Option<Asked>, WireError> {
    let Some(head) = received.first_chunk::<4>() else { return Ok(None) };
    let claimed = i32::from_be_bytes(*head);
    let length = usize::try_from(claimed).unwrap_or(usize::MAX);
    if !(8..=LONGEST_REQUEST).contains(&length) {
        return Err(WireError::Malformed(format!("a request of {claimed} bytes (8 to {LONGEST_REQUEST} are read)")));
    }
    if received.len() - 4 < length {
        return Ok(None);
    }
    received.advance(4);
    let mut frame = received.split_to(length).freeze();
    let (api, version, correlation) = (frame.get_i16(), frame.get_i16(), frame.get_i32());
    // The client id is never compact, in no version of the header (KIP-482).
    let client_id = nullable_string(&mut frame, false)?;
    if request_header_version(api, version) >= 2 {
        tags(&mut frame)?;
    }
    Ok(Some(Asked { api, version, correlation, client_id, body: frame }))
}

/// A whole answer: length, header, body.
///
/// # Errors
/// [`WireError::Unwritable`] if the body does not fit a frame.
pub fn answer_frame(asked: &Asked, body: &[u8]) -> Result<Bytes, WireError> {
    let flexible = response_header_version(asked.api, asked.version) > 0;
    let length = 4 + usize::from(flexible) + body.len();
    let claimed = i32::try_from(length).map_err(|_| WireError::Unwritable(format!("an answer of {length} bytes")))?;
    let mut frame = BytesMut::with_capacity(4 + length);
    frame.put_i32(claimed);
    frame.put_i32(asked.correlation);
    if flexible {
        frame.put_u8(0);
    }
    frame.put_slice(body);
    Ok(frame.freeze())
}

/// The versions of an API that the codec can read requests and write answers in; `None` for an unknown key.
#[must_use]
pub fn spoken(api: i16) -> Option<(i16, i16)> {
    let info = client_api_info(ApiKey::from_i16(api)?);
    Some((info.min_version, info.max_version))
}

/// Kafka's name of an API.
#[must_use]
pub fn api_name(api: i16) -> Option<String> {
    ApiKey::from_i16(api).map(|key| format!("{key:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(bytes: &[u8]) -> BytesMut {
        let mut frame = BytesMut::new();
        frame.put_i32(i32::try_from(bytes.len()).expect("short"));
        frame.put_slice(bytes);
        frame
    }

    #[test]
    fn a_request_is_read_when_it_is_whole() {
        let whole = request(&[0, 18, 0, 3, 0, 0, 0, 7, 0, 2, b'm', b'e', 0, 1, 2]);
        for cut in 0..whole.len() {
            assert_eq!(next_request(&mut BytesMut::from(&whole[..cut])), Ok(None));
        }
        let asked = next_request(&mut whole.clone()).expect("a request").expect("whole");
        assert_eq!((asked.api, asked.version, asked.correlation), (18, 3, 7));
        assert_eq!((asked.client_id.as_deref(), asked.body.as_ref()), (Some("me"), [1, 2].as_slice()));
    }

    #[test]
    fn what_is_no_request_is_refused_before_memory_is_taken() {
        for bytes in [[0x7f, 0xff, 0xff, 0xff], [0xff, 0xff, 0xff, 0xff], [0, 0, 0, 3]] {
            assert!(next_request(&mut BytesMut::from(bytes.as_slice())).is_err(), "{bytes:?}");
        }
        // A client id that is longer than the frame.
        assert!(next_request(&mut request(&[0, 3, 0, 0, 0, 0, 0, 1, 0x7f, 0xff])).is_err());
    }

    #[test]
    fn the_header_of_an_answer_follows_the_version() {
        let asked = |api, version| Asked { api, version, correlation: 5, client_id: None, body: Bytes::new() };
        let frame = |api, version| answer_frame(&asked(api, version), &[9]).expect("short").to_vec();
        assert_eq!(frame(3, 1), [0, 0, 0, 5, 0, 0, 0, 5, 9]);
        assert_eq!(frame(3, 9), [0, 0, 0, 6, 0, 0, 0, 5, 0, 9]);
        assert_eq!(frame(18, 3), [0, 0, 0, 5, 0, 0, 0, 5, 9], "never flexible (KIP-511)");
    }
}
