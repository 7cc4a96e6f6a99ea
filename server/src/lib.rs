//! The server of Unstuck: looks at clusters all the time, and answers pages, API and live events from what was
//! published last. Also all that the binary `unstuck` does; see [`cli`].

pub mod access;
pub mod api;
pub mod assets;
pub mod cli;
pub mod config;
mod config_check;
mod connections;
mod doctor;
mod drill;
mod events;
mod explain;
#[cfg(test)]
mod fuzz;
mod guard;
mod incident_command;
pub mod incidents;
mod kept;
mod logs;
mod lookup;
mod one_look;
mod pages;
mod place;
mod plan;
pub mod poller;
mod problem;
pub mod record;
mod reload;
mod replay;
mod same_site;
mod serving;
#[cfg(test)]
mod testing;
mod text;
mod traces;
pub mod watched;

pub use events::Summary;
pub use problem::Problem;
pub use serving::{router, serve, serve_drill, serve_drill_control};
