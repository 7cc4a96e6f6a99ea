//! Drills: clusters that fail on purpose, and speak the Kafka protocol while they do.

pub mod scenario;

pub mod answer;
pub mod recorded;
pub mod serve;
pub mod world;
