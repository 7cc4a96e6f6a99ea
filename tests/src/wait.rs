//! Waiting for a condition, with a generous deadline and the last state in the failure.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine with two cores: a deadline says "never", it does not measure.
pub const GENEROUS: Duration = Duration::from_secs(90);

/// How long to rest between two looks.
const REST: Duration = Duration::from_millis(50);

/// Looks until `look` gives `Ok`; its `Err` is the last state, and is printed if the deadline passes.
///
/// # Panics
/// If the condition is not met within [`GENEROUS`].
pub async fn wait_for<T, E: Display>(what: impl Display, mut look: impl AsyncFnMut() -> Result<T, E>) -> T {
    let began = Instant::now();
    loop {
        match look().await {
            Ok(value) => return value,
            Err(state) => assert!(
                began.elapsed() < GENEROUS,
                "waited {} s in vain for: {what}\nlast state: {state:#}",
                GENEROUS.as_secs()
            ),
        }
        tokio::time::sleep(REST).await;
    }
}
