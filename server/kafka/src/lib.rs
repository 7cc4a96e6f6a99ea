//! Looking at a Kafka cluster with two eyes, without touching anything: the *probe* asks each broker separately over
//! its own connections what it believes; the *client's eye* (librdkafka) sees the cluster as an ordinary client does.
//! The [`Collector`] merges both into one [`Snapshot`](unstuck_diagnosis::snapshot::Snapshot) at a time.
//!
//! Looking never changes a cluster: nothing is sent that could create a topic or a group.
//!
//! The collector can also run in simulated time over connections in memory ([`Surroundings::simulated`]): so the checks
//! of drills watch ten minutes of a scripted cluster in milliseconds, and see the same each time.

mod canary;
mod client;
mod collector;
mod config;
mod detail;
mod entrance;
mod probe;
mod shared;
mod surroundings;
mod why;

pub use collector::Collector;
pub use config::{Cadence, ClusterConfig};
pub use detail::DetailError;
pub use surroundings::{ClientEye, Clock, Surroundings};
pub use unstuck_security as security;
