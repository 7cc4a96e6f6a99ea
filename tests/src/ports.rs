//! Free ports on 127.0.0.1, below the range from which the system takes ports of outgoing connections.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, bail};

const FIRST: u32 = 23_000;
const COUNT: u32 = 9_000;

/// A port that was free a moment ago and that this process has not handed out before. Another process may still take
/// it first, so whoever listens there must be ready to try again with another.
///
/// # Errors
/// If none of 9,000 ports is free.
pub fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..COUNT {
        // Processes begin at different places, so that two of them seldom meet.
        let offset = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id().wrapping_mul(101)) % COUNT;
        let port = u16::try_from(FIRST + offset)?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port from {FIRST} to {}", FIRST + COUNT - 1)
}
