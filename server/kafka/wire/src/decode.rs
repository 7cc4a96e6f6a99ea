//! Bounded decoding, on top of the codec's primitives.
//!
//! The codec clamps what it reserves for an array, but not always tightly (a tagged-field count may reserve forty bytes
//! per byte that is left in the frame). So large answers are decoded element by element, each element in a window of
//! its own size limit: what one element can make the codec reserve is bounded by the window, not by the frame.

use bytes::{Buf, Bytes};
use kacrab_protocol::{KafkaString, primitives, string, tagged};

use crate::WireError;

/// Runs `read` on at most the next `window` bytes and moves on by what it consumed.
pub(crate) fn windowed<T>(
    body: &mut Bytes,
    window: usize,
    read: impl FnOnce(&mut Bytes) -> kacrab_protocol::Result<T>,
) -> Result<T, WireError> {
    let mut view = body.slice(..window.min(body.len()));
    let before = view.len();
    let value = read(&mut view).map_err(|error| WireError::malformed(&error))?;
    body.advance(before - view.len());
    Ok(value)
}

/// The length of an array; `None` for the null array. A length above what is left in the body (each element takes at
/// least a byte) is an error.
pub(crate) fn array_length(body: &mut Bytes, compact: bool) -> Result<Option<usize>, WireError> {
    let length = windowed(body, 8, |view| {
        Ok(if compact { primitives::read_compact_array_length(view)? } else { primitives::read_array_length(view)? })
    })?;
    if length < 0 {
        return Ok(None);
    }
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > body.len() {
        return Err(WireError::Malformed(format!("an array of {length} elements in {} bytes", body.len())));
    }
    Ok(Some(length))
}

pub(crate) fn int16(body: &mut Bytes) -> Result<i16, WireError> {
    windowed(body, 2, |view| Ok(primitives::read_i16(view)?))
}

pub(crate) fn int32(body: &mut Bytes) -> Result<i32, WireError> {
    windowed(body, 4, |view| Ok(primitives::read_i32(view)?))
}

pub(crate) fn nullable_string(body: &mut Bytes, compact: bool) -> Result<Option<String>, WireError> {
    let text = windowed(body, STRING_WINDOW, |view| {
        Ok(if compact { string::read_compact_nullable_string(view)? } else { string::read_nullable_string(view)? })
    })?;
    Ok(text.map(|text| text.as_str().to_owned()))
}

/// Skips a tagged-field section; none of the tags matters to us.
pub(crate) fn tags(body: &mut Bytes) -> Result<(), WireError> {
    windowed(body, TAGS_WINDOW, |view| Ok(tagged::read_tagged_fields(view)?)).map(drop)
}

/// Longest string of the protocol with its length prefix.
const STRING_WINDOW: usize = 32_767 + 8;
const TAGS_WINDOW: usize = 64 << 10;

/// Text for the wire, refused if it does not fit.
pub(crate) fn text(from: &str) -> Result<KafkaString, WireError> {
    if from.len() > 32_767 {
        return Err(WireError::StringTooLong(from.len()));
    }
    Ok(KafkaString::from(from.to_owned()))
}

/// Text from the wire.
pub(crate) fn owned(from: &KafkaString) -> String {
    from.as_str().to_owned()
}
