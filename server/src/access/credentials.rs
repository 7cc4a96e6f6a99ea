//! Random secrets, and what is kept of them.
//!
//! Tokens and session ids have 256 bits from the operating system's generator. Of such a secret one round of SHA-256 is
//! kept, without salt: there is no dictionary of random numbers, so a slow hash would cost time and protect nothing.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What tokens begin with, so that scanners of repositories and logs know them.
pub(crate) const PREFIX: &str = "unstuck_";

/// SHA-256 of a secret: what is kept of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hash([u8; 32]);

/// Not even the hash is shown: it is of no use to anybody who reads a log.
impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash(…)")
    }
}

impl Hash {
    /// Of a secret as it is sent.
    pub(crate) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// From 64 hexadecimal digits.
    pub(crate) fn of_hex(hex: &str) -> Option<Self> {
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// As 64 hexadecimal digits.
    pub(crate) fn hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// As a key of a map.
    pub(crate) fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// Whether both are of the same secret, in a time that does not depend on where they differ.
    pub(crate) fn is(self, other: Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// 256 random bits, as 43 characters that need no escaping anywhere.
///
/// # Errors
/// The operating system gives no random numbers; then there must be no secret either.
pub(crate) fn random() -> Result<String, getrandom::Error> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    let mut text = String::with_capacity(43);
    for three in bytes.chunks(3) {
        let mut bits = 0_u32;
        for at in 0..3 {
            bits = bits << 8 | u32::from(three.get(at).copied().unwrap_or_default());
        }
        for digit in 0..=three.len() {
            let index = (bits >> (18 - 6 * digit)) & 63;
            text.push(char::from(DIGITS[index as usize]));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_and_never_the_same() {
        let (one, other) = (random().expect("random"), random().expect("random"));
        assert_eq!(one.len(), 43);
        assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')));
        assert_ne!(one, other);
    }

    #[test]
    fn a_hash_is_that_of_sha256sum() {
        let hash = Hash::of("abc");
        assert_eq!(hash.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(Hash::of_hex(&hash.hex()).is_some_and(|read| read.is(hash)));
        assert!(!hash.is(Hash::of("abd")));
        for wrong in ["", "ba78", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(Hash::of_hex(wrong), None, "{wrong}");
        }
        assert_eq!(format!("{hash:?}"), "Hash(…)");
    }
}
