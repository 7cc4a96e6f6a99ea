//! Scenario files: what they say ([`model`], [`action`]), how they are read ([`read()`]) and checked, and those that are
//! shipped ([`shipped`]).

pub mod action;
pub mod apis;
mod check;
mod either;
mod groups;
pub mod model;
mod places;
mod problem;
mod read;
#[cfg(test)]
mod reference;
pub mod schema;
pub mod shipped;
pub mod truth;
pub mod value;
mod wording;

pub use check::{KnownTopic, check_action};
pub use model::Scenario;
pub use problem::{Problem, ScenarioErrors};
pub use read::{read, read_file};
