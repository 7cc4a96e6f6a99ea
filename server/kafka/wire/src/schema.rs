//! Kafka's own messages as the codec has them, for whoever answers requests instead of sending them (drills).
//!
//! They are generated from Kafka's schemas, so they have Kafka's names and shapes whichever codec they come from. Passing
//! them on here keeps this crate the only one that names the codec.

pub use kacrab_protocol::generated::*;
pub use kacrab_protocol::{KafkaString, KafkaUuid};
