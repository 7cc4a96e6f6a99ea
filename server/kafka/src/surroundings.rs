//! What the collector touches of the world: connections, the clock, and the client library. All of it can be replaced,
//! so that the checks of drills watch a long incident of a scripted cluster in simulated time, and see the same each
//! time.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Instant;
use unstuck_wire::{Dial, Tcp};

/// What a collector looks through, and what time it has. The default is the real world: TCP, the wall clock, and
/// librdkafka as the client.
#[derive(Clone)]
pub struct Surroundings {
    /// Opens all connections of the probe, of group details, and of [`ClientEye::Wire`].
    pub dialer: Arc<dyn Dial>,
    /// Dates everything that was seen. Pauses and deadlines follow tokio's clock in any case.
    pub clock: Clock,
    /// How the cluster is seen as by an ordinary client.
    pub client_eye: ClientEye,
}

impl Surroundings {
    /// Simulated time over connections that `dialer` gives, beginning now at `base`.
    ///
    /// Two runs of the same script give the same sequence of snapshots if the runtime has one thread and starts with a
    /// paused clock (`tokio::runtime::Builder::start_paused` of tokio's feature `test-util`, which advances the clock
    /// whenever nothing is left to do), and if the script itself does the same each time. What does not in tokio:
    /// `select!` without `biased`, and the order in which several receivers of one `watch` channel wake.
    #[must_use]
    pub fn simulated(dialer: Arc<dyn Dial>, base: Timestamp) -> Self {
        Self { dialer, clock: Clock::simulated(base), client_eye: ClientEye::Wire }
    }
}

impl Default for Surroundings {
    fn default() -> Self {
        Self { dialer: Arc::new(Tcp), clock: Clock::default(), client_eye: ClientEye::default() }
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("clock", &self.clock)
            .field("client_eye", &self.client_eye)
            .finish_non_exhaustive()
    }
}

/// Where times of day come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The system's clock.
    #[default]
    Wall,
    /// Follows tokio's clock, also while that is paused and advances by itself.
    Simulated {
        /// The time of day at `from`.
        base: Timestamp,
        /// When it began.
        from: Instant,
    },
}

impl Clock {
    /// A simulated clock that shows `base` now.
    #[must_use]
    pub fn simulated(base: Timestamp) -> Self {
        Self::Simulated { base, from: Instant::now() }
    }

    /// The time of day.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Wall => Timestamp::now(),
            Self::Simulated { base, from } => base.saturating_add(from.elapsed()).unwrap_or(Timestamp::MAX),
        }
    }
}

/// How the cluster is seen as by an ordinary client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientEye {
    /// Through librdkafka, with every security mechanism that clients have. It has threads and time of its own.
    #[default]
    Librdkafka,
    /// Over a connection of ours: plaintext without login, for simulated time, which librdkafka cannot follow.
    Wire,
}
