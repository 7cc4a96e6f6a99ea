//! The binary; what it does is in [`unstuck_server::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    unstuck_server::cli::run(std::env::args_os())
}
