//! Drills: a cluster that fails on purpose, served by `unstuck drill` together with the app that looks at it.

pub(crate) mod command;
mod ctl;
mod list;
pub(crate) mod routes;
mod serve;
pub(crate) mod state;
#[cfg(test)]
mod tests;
mod text;
