//! The bit that changes.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::support::relay::{Meddle, Way};

/// Flips one bit of all that passes.
pub(super) struct Flip {
    /// Which byte, and which bit of it.
    target: Option<(u64, u8)>,
    began: Instant,
    passed: Mutex<Passed>,
    hit: watch::Sender<Option<Hit>>,
}

/// What has passed.
#[derive(Clone, Debug, Default)]
pub(super) struct Passed {
    /// How many bytes, both ways.
    pub(super) bytes: u64,
    /// Where in them frames began.
    pub(super) frames: Vec<u64>,
    ways: BTreeMap<(u64, Way), Frames>,
}

/// One direction of one connection.
#[derive(Clone, Copy, Debug, Default)]
struct Frames {
    passed: u64,
    /// Where the next one begins.
    next: u64,
    begun: usize,
}

/// Where the bit was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) way: Way,
    /// In the frame with this number on its way; the first one is about API versions, and the second one too, if the
    /// broker is too old for the first question.
    pub(super) frame: usize,
}

impl Flip {
    /// Changes nothing.
    pub(super) fn nothing() -> Self {
        let (began, passed) = (Instant::now(), Mutex::default());
        Self { target: None, began, passed, hit: watch::Sender::new(None) }
    }

    /// Flips this bit of this byte.
    pub(super) fn at(byte: u64, bit: u8) -> Self {
        Self { target: Some((byte, bit)), ..Self::nothing() }
    }

    pub(super) fn began(&self) -> Instant {
        self.began
    }

    pub(super) fn passed(&self) -> Passed {
        self.passed.lock().expect("no panic").clone()
    }

    /// Waits until it was flipped.
    pub(super) async fn hit(&self) -> Hit {
        let mut hit = self.hit.subscribe();
        hit.wait_for(Option::is_some).await.expect("it is there").expect("some")
    }
}

impl Meddle for Flip {
    fn pass(&self, connection: u64, way: Way, bytes: &mut [u8]) {
        let mut passed = self.passed.lock().expect("no panic");
        let passed = &mut *passed;
        let before = passed.bytes;
        let frames = passed.ways.entry((connection, way)).or_default();
        let length = u64::try_from(bytes.len()).expect("short");
        let mut frame_of_target = frames.begun.saturating_sub(1);
        while frames.next < frames.passed + length {
            let at = usize::try_from(frames.next - frames.passed).expect("short");
            let start = before + (frames.next - frames.passed);
            if self.target.is_some_and(|(byte, _)| byte >= start) {
                frame_of_target = frames.begun;
            }
            passed.frames.push(start);
            frames.begun += 1;
            // A length that is cut in two does not matter: the rest is counted to the same frame.
            let head = bytes[at..].first_chunk::<4>();
            let claimed = head.map_or(u64::from(u32::MAX), |head| u64::from(u32::from_be_bytes(*head)));
            frames.next += 4 + claimed;
        }
        frames.passed += length;
        passed.bytes += length;
        if let Some((byte, bit)) = self.target
            && (before..passed.bytes).contains(&byte)
        {
            bytes[usize::try_from(byte - before).expect("short")] ^= 1 << bit;
            self.hit.send_replace(Some(Hit { way, frame: frame_of_target }));
        }
    }
}
