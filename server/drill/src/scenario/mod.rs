//! Scenario files: what they say ([`model`], [`action`]), and how they are read.

pub mod action;
pub mod model;
pub mod value;

pub use model::Scenario;
