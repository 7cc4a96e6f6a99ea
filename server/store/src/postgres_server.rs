//! A PostgreSQL server of the tests' own, where the machine has PostgreSQL.
//!
//! A shell starts it, and stops it and removes its folder when its input ends: that is, when the process of the tests ends,
//! however it does. It refuses to run as root, so root becomes the user `postgres` for it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};

const SCRIPT: &str = r#"
trap '' INT TERM HUP
folder=$(mktemp -d -t unstuck-postgres-XXXXXX) || exit 1
cd "$folder" || exit 1
if ! "$1/initdb" -D data -A trust -U postgres -E UTF8 --locale=C --no-sync >log 2>&1; then
  cat log >&2; cd /; rm -rf "$folder"; exit 1
fi
tls=off
if command -v openssl >/dev/null; then
  ( set -e
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=tests -keyout ca.key -out ca.crt
    openssl req -newkey rsa:2048 -nodes -subj /CN=postgres -keyout server.key -out server.csr
    echo 'subjectAltName=IP:127.0.0.1' >names
    openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile names -out server.crt
    chmod 600 server.key
  ) >>log 2>&1 && tls=on
fi
start() {
  "$1/postgres" -D "$folder/data" -k "$folder" -h 127.0.0.1 -p "$2" -c fsync=off -c ssl=$tls \
    -c ssl_cert_file="$folder/server.crt" -c ssl_key_file="$folder/server.key" </dev/null >>log 2>&1 &
  child=$!
}
stop() { kill -QUIT "$child" 2>/dev/null; wait "$child"; }
start "$1" "$2"
echo "$tls $folder"
while read -r command; do
  case $command in
    stop) stop; echo stopped ;;
    start) start "$1" "$2"; echo started ;;
  esac
done
stop
cd /
rm -rf "$folder"
"#;

/// A running server.
#[derive(Debug)]
pub struct Server {
    port: u16,
    certificate: Option<PathBuf>,
    shell: Mutex<Shell>,
}

#[derive(Debug)]
struct Shell {
    _child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Where PostgreSQL's programs are, if they are there.
fn programs() -> Option<PathBuf> {
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = debian.map(|version| version.path().join("bin")).collect();
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    folders.into_iter().find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

impl Server {
    /// Starts one; `None`, and said so, if the machine has none. It may take a moment until it can be used.
    ///
    /// # Errors
    /// It is there, and does not start.
    pub fn start() -> Result<Option<Self>> {
        let Some(programs) = programs() else {
            // Also past the test runner, which shows what passed tests print to nobody.
            let mut stderr = std::io::stderr();
            writeln!(
                stderr,
                "SKIPPED on PostgreSQL: no initdb and postgres on this machine (apt-get install postgresql)"
            )?;
            return Ok(None);
        };
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let root = Command::new("id").arg("-u").output()?.stdout.starts_with(b"0\n");
        let mut command = if root {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--", "sh"]);
            command
        } else {
            Command::new("sh")
        };
        command.args(["-c", SCRIPT, "sh"]).arg(&programs).arg(port.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting a shell")?;
        let commands = child.stdin.take().context("its input")?;
        let answers = BufReader::new(child.stdout.take().context("its output")?);
        let mut shell = Shell { _child: child, commands, answers };
        let line = shell.line()?;
        let (tls, folder) = line.split_once(' ').with_context(|| format!("it did not start: {line:?}"))?;
        let certificate = (tls == "on").then(|| PathBuf::from(folder).join("ca.crt"));
        Ok(Some(Self { port, certificate, shell: Mutex::new(shell) }))
    }

    /// The URL of one of its databases; `postgres` is there from the start.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres:secret@127.0.0.1:{}/{database}", self.port)
    }

    /// The certificate to trust; `None` if the machine has no openssl to make one.
    #[must_use]
    pub fn certificate(&self) -> Option<&Path> {
        self.certificate.as_deref()
    }

    /// The port of 127.0.0.1 that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops it at once, as a crash does.
    ///
    /// # Errors
    /// The shell that runs it ended.
    pub fn stop(&self) -> Result<()> {
        self.tell("stop", "stopped")
    }

    /// Starts it again, without waiting until it can be used.
    ///
    /// # Errors
    /// The shell that runs it ended.
    pub fn start_again(&self) -> Result<()> {
        self.tell("start", "started")
    }

    fn tell(&self, command: &str, answer: &str) -> Result<()> {
        let Ok(mut shell) = self.shell.lock() else { bail!("an earlier command failed") };
        writeln!(shell.commands, "{command}")?;
        shell.expect(answer)
    }
}

impl Shell {
    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }

    fn expect(&mut self, answer: &str) -> Result<()> {
        let line = self.line()?;
        ensure!(line == answer, "the shell of PostgreSQL said {line:?} instead of {answer:?}");
        Ok(())
    }
}
