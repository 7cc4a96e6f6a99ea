//! `unstuck token new`: makes a token, and the line to be kept of it.

use std::io::{IsTerminal, Write};

use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::Role;
use super::credentials::{self, Hash, PREFIX};
use super::tokens::{self, Token};
use crate::cli::{EXIT_SOFTWARE, Failure};
use crate::lookup::end_of_output;

pub(crate) const HELP: &str = "\
Examples:
  unstuck token new --name ada --role editor
  unstuck token new --name grafana --role viewer --until 2027-01-31
  unstuck token new --name ci --role viewer 2> token >> /etc/unstuck/tokens

The token goes to standard error, the line with its hash to standard output. The token is shown this
once: only its hash is kept. To take it back, delete the line; a running server notices.

Then: unstuck serve … --listen 0.0.0.0:8080 --access token --tokens-file /etc/unstuck/tokens";

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token, print it once, and print the line for the file of tokens
    New(NewArgs),
}

#[derive(Debug, Args)]
struct NewArgs {
    /// Whose it is; notes and the log carry this name: 1 to 64 letters, digits and - _ . @ +
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: String,
    /// What it may do: viewer (read) or editor (also write notes, make links, press buttons)
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Role,
    /// From when on it is none any more: a day or a time, in UTC [default: never]
    #[arg(long, value_name = "DAY", value_parser = until)]
    until: Option<Timestamp>,
}

fn name(text: &str) -> Result<String, String> {
    if tokens::is_name(text) {
        Ok(text.to_owned())
    } else {
        Err("1 to 64 letters, digits and - _ . @ + are possible".into())
    }
}

fn role(text: &str) -> Result<Role, String> {
    Role::of_word(text).ok_or_else(|| "viewer and editor are possible".to_owned())
}

fn until(text: &str) -> Result<Timestamp, String> {
    tokens::until(text)
        .ok_or_else(|| "a day such as 2027-01-31 is needed, or a time such as 2027-01-31T12:00:00Z".into())
}

pub(crate) fn run(arguments: &TokenArgs) -> Result<u8, Failure> {
    let TokenCommand::New(NewArgs { name, role, until }) = &arguments.command;
    let random = credentials::random().map_err(|error| Failure {
        code: EXIT_SOFTWARE,
        message: format!("the operating system gives no random numbers: {error}\n  So there is no token.\n  Try again"),
    })?;
    let secret = format!("{PREFIX}{random}");
    let token = Token { name: name.clone(), role: *role, hash: Hash::of(&secret), until: *until };
    let mut for_whom = std::io::stderr().lock();
    let told = if std::io::stderr().is_terminal() {
        format!("The token of {name}, shown this once:\n\n  {secret}\n\nThe line for the file of tokens:\n\n")
    } else {
        format!("{secret}\n")
    };
    end_of_output(for_whom.write_all(told.as_bytes()).and_then(|()| for_whom.flush()))?;
    end_of_output(std::io::stdout().lock().write_all(format!("{}\n", token.line()).as_bytes()))?;
    Ok(0)
}
