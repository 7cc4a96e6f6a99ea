//! A shell as an operator has it: Kafka's scripts of one release on its path, and the files of a remedy beside it.
//!
//! The jars come without scripts, so each is a line here that starts the class which the real one starts. What a report
//! offers is then run as it stands there, with its quotes, loops and files; only placeholders are filled in.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use unstuck_diagnosis::report::Remedy;

use crate::jars::{Release, java};
use crate::tools::{Ran, Tool};

/// The longest that a command may run: the tools' own requests give up after 30 to 60 s.
const DEADLINE: Duration = Duration::from_secs(120);

/// A folder to run commands in, with the scripts of one release.
#[derive(Debug)]
pub struct Shell {
    release: Release,
    folder: TempDir,
    /// Placeholders of commands, and what stands for them here.
    filled_in: Vec<(String, String)>,
}

impl Shell {
    /// A shell with the scripts of this release.
    ///
    /// # Errors
    /// If the jars cannot be fetched, or the folder not be written.
    pub fn of(release: Release) -> Result<Self> {
        Self::with_scripts(release, "")
    }

    /// The same for whoever has to log in: each script is given this file as `--command-config`.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn logged_in(release: Release, config: &Path) -> Result<Self> {
        Self::with_scripts(release, &format!(" --command-config {}", quoted(&config.to_string_lossy())))
    }

    fn with_scripts(release: Release, first: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("unstuck-shell-").tempdir()?;
        let scripts = folder.path().join("bin");
        fs::create_dir(&scripts)?;
        for tool in Tool::ALL.into_iter().filter(|tool| tool.is_in(release)) {
            let command = java(release, 128, tool.main_class(release))?;
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
            // As in the real script: what it is given first is the server.
            let first = if tool == Tool::ZooKeeperShell { " -server" } else { first };
            let path = scripts.join(tool.script());
            fs::write(&path, format!("#!/bin/sh\nexec {}{first} \"$@\"\n", words.join(" ")))?;
            fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        }
        Ok(Self { release, folder, filled_in: Vec::new() })
    }

    /// Fills in a placeholder of commands, as whoever runs them does.
    #[must_use]
    pub fn with(mut self, placeholder: &str, value: impl Into<String>) -> Self {
        self.filled_in.push((placeholder.to_owned(), value.into()));
        self
    }

    /// Saves the files of a remedy under the names that its command has for them.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn save_files(&self, remedy: &Remedy) -> Result<()> {
        for file in &remedy.files {
            let path = self.folder.path().join(&file.name);
            fs::write(&path, &file.content).with_context(|| format!("saving {}", file.name))?;
        }
        Ok(())
    }

    /// Runs a command to its end, whatever its status.
    ///
    /// # Errors
    /// If there is no `sh`, or the command does not end within two minutes.
    pub async fn run(&self, command: &str) -> Result<Ran> {
        let fill = |text: String, (from, to): &(String, String)| text.replace(from, to);
        let text = self.filled_in.iter().fold(command.to_owned(), fill);
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = tokio::process::Command::new("sh");
        shell.args(["-ec", &text]).current_dir(self.folder.path());
        shell.env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()));
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let output = tokio::time::timeout(DEADLINE, shell.output())
            .await
            .with_context(|| format!("it did not end within {} s: {text}", DEADLINE.as_secs()))?
            .context("starting sh")?;
        Ok(Ran {
            status: output.status.code().unwrap_or(-1),
            printed: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs a command that must exit with 0.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if it exits with another status; the text has what it printed.
    pub async fn succeed(&self, command: &str) -> Result<Ran> {
        let ran = self.run(command).await?;
        ensure!(ran.status == 0, "{command}\nwith the tools of {}: {}", self.release.version(), ran.all());
        Ok(ran)
    }
}

/// The commands in a text of a remedy: the text itself, or what stands between backticks.
#[must_use]
pub fn commands_in(text: &str) -> Vec<&str> {
    let is_command = |text: &&str| Tool::ALL.into_iter().any(|tool| text.contains(tool.script()));
    if text.contains('`') {
        text.split('`').skip(1).step_by(2).filter(is_command).collect()
    } else {
        Some(text)
            .filter(|text| Tool::ALL.into_iter().any(|tool| text.starts_with(tool.script())))
            .into_iter()
            .collect()
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{commands_in, quoted};

    #[test]
    fn commands_stand_alone_or_between_backticks() {
        assert_eq!(commands_in("kafka-topics.sh --describe"), ["kafka-topics.sh --describe"]);
        assert_eq!(commands_in("An election cannot be taken back."), [""; 0]);
        let text = "while it runs: `kafka-reassign-partitions.sh --cancel`; then see `raise.json`, or \
                    `echo {} > a.json && kafka-leader-election.sh --path-to-json-file a.json`.";
        let election = "echo {} > a.json && kafka-leader-election.sh --path-to-json-file a.json";
        assert_eq!(commands_in(text), ["kafka-reassign-partitions.sh --cancel", election]);
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("/a b/*"), "'/a b/*'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
