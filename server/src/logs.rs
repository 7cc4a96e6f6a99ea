//! Logs to standard error: for people on a terminal, JSON otherwise.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::cli::Failure;
use crate::config::Environment;

/// Begins logging. `level` is the option's value; without it `UNSTUCK_LOG` counts, then `default`.
pub(crate) fn begin(level: Option<&str>, default: &str, environment: &Environment) -> Result<(), Failure> {
    let variable = environment.get("UNSTUCK_LOG");
    let (text, place) = match (level, &variable) {
        (Some(level), _) => (level, "--log-level"),
        (None, Some(level)) => (level.as_str(), "UNSTUCK_LOG"),
        (None, None) => (default, "the default"),
    };
    let filter = EnvFilter::try_new(text).map_err(|error| {
        Failure::usage(format!(
            "{place}: {text:?} is not a log level ({error})\n  It says how much is logged to standard error.\n  \
             Use error, warn, info, debug or trace; per module: info,unstuck_kafka=debug"
        ))
    })?;
    let terminal = std::io::stderr().is_terminal();
    let colours = terminal && environment.get("NO_COLOR").is_none();
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours);
    // Where standard error is gone (a closed terminal), saying so there would be a panic.
    let builder = builder.log_internal_errors(false);
    // Fails only if logging has begun already, which then goes on.
    let _ = if terminal { builder.try_init() } else { builder.json().flatten_event(true).try_init() };
    Ok(())
}
