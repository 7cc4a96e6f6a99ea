//! Processes that die with the process that started them, even if that is killed with SIGKILL.
//!
//! A shell stands between: it starts the program, then waits on a pipe from us. The pipe ends when we end, however that
//! happens, and the shell kills the program and removes its scratch folder. This needs no unsafe code.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// `$1` log file, `$2` scratch folder (may be empty), then the program and its arguments.
const SHELL: &str = r#"
log=$1; scratch=$2; shift 2
trap : INT HUP
"$@" >>"$log" 2>&1 </dev/null &
child=$!
echo "$child"
exec >/dev/null
word=
read -r word
kill -9 "$child" 2>/dev/null
wait "$child" 2>/dev/null
if [ "$word" != keep ] && [ -n "$scratch" ]; then rm -rf "$scratch" 2>/dev/null; fi
exit 0
"#;

/// A running program, tied to this process.
#[derive(Debug)]
pub struct Tethered {
    shell: Child,
    pipe: Option<ChildStdin>,
    pid: u32,
}

impl Tethered {
    /// Starts `command`, whose output goes to the file `log`. The folder `scratch` is removed when this process ends without
    /// having called [`end`](Self::end).
    ///
    /// # Errors
    /// If there is no `sh`, or it cannot start the program.
    pub fn start(command: &Command, log: &Path, scratch: Option<&Path>) -> Result<Self> {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(SHELL).arg("tether").arg(log);
        shell.arg(scratch.unwrap_or(Path::new("")));
        shell.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting sh")?;
        let pipe = shell.stdin.take();
        let mut line = String::new();
        let told = shell.stdout.take().context("the shell's output")?;
        BufReader::new(told).read_line(&mut line).context("reading the process id")?;
        let pid = line.trim().parse().with_context(|| format!("the shell told no process id but {line:?}"))?;
        Ok(Self { shell, pipe, pid })
    }

    /// The program's process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal to the program, by name: `KILL`, `STOP`, `CONT`, `TERM`.
    ///
    /// # Errors
    /// If it no longer runs.
    pub fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.pid.to_string()).status()?;
        ensure!(status.success(), "cannot send SIG{name} to process {}: it no longer runs", self.pid);
        Ok(())
    }

    /// Whether the program still runs (or is stopped).
    #[must_use]
    pub fn is_running(&self) -> bool {
        is_running(self.pid)
    }

    /// Kills the program at once, keeps its scratch folder, and waits until it is gone.
    pub fn end(mut self) {
        self.release(true);
    }

    fn release(&mut self, keep: bool) {
        if let Some(mut pipe) = self.pipe.take() {
            if keep {
                // Fails only if the shell is gone already, and then there is nothing left to keep.
                let _gone = pipe.write_all(b"keep\n");
            }
            drop(pipe);
            let _gone = self.shell.wait();
        }
    }
}

impl Drop for Tethered {
    fn drop(&mut self) {
        self.release(false);
    }
}

/// Whether a process runs: it is there, and not a zombie.
#[must_use]
pub fn is_running(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(')').map(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X'])))
        .unwrap_or(false)
}
