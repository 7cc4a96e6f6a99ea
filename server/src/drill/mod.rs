//! Drills: a cluster that fails on purpose, served by `unstuck drill` together with the app that looks at it.

mod check;
pub(crate) mod command;
mod ctl;
pub(crate) mod diagnose;
mod from_incident;
mod list;
mod promises;
pub(crate) mod routes;
mod serve;
pub(crate) mod state;
#[cfg(test)]
mod tests;
mod text;
mod truth;
mod watching;

pub(crate) use check::worst;
