//! `unstuck drill NAME`: the cluster, and the app that looks at it, in one process.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use unstuck_drill::scenario::shipped::{self, LoadError, Named};
use unstuck_drill::serve::{Drill, Listen};

use super::command::DrillArgs;
use super::text::{next_words, wrapped};
use crate::access::Door;
use crate::cli::{EXIT_SOFTWARE, EXIT_UNAVAILABLE, Failure, cannot_listen, end_on_signal};
use crate::config::{self, DEFAULT_LISTEN, Environment};
use crate::lookup::end_of_output;
use crate::{logs, serving};

/// Where brokers listen: a drill is for this machine.
const BROKER_HOST: &str = "127.0.0.1";
/// Where a drill without pages is steered, if nothing else is said.
const HEADLESS_LISTEN: &str = "127.0.0.1:0";
/// How long the brokers of a drill may take to end.
const LAST_BROKERS: Duration = Duration::from_millis(300);
/// The longest name that a cluster can have.
const NAME_LENGTH: usize = 64;

pub(super) async fn run(wanted: &str, arguments: &DrillArgs, environment: &Environment) -> Result<u8, Failure> {
    // What the poller has to say of a cluster that fails on purpose, the page says.
    logs::begin(arguments.log.log_level.as_deref(), "error", environment)?;
    let Named { name, scenario } = shipped::load(wanted).map_err(|error| cannot_load(&error))?;
    let name = cluster_name(&name);
    let default = if arguments.headless { HEADLESS_LISTEN } else { DEFAULT_LISTEN };
    let listen = config::listen_address(arguments.listen.as_deref().unwrap_or(default), "--listen")?;
    let door = Door::new(&config::access(&arguments.access.options(), environment, listen)?)?;
    let listener = TcpListener::bind(listen).await.map_err(|error| cannot_listen(listen, &error))?;
    let address = listener.local_addr().map_err(|error| cannot_listen(listen, &error))?;
    let brokers = Listen::Loopback { host: BROKER_HOST.to_owned(), ports: arguments.ports };
    door.warn(address);
    let url = format!("{}://{address}", door.scheme());
    let drill = Drill::start(&name, Arc::new(scenario), &brokers).map_err(|error| no_brokers(&error))?;
    let drill = Arc::new(drill);
    let shutdown = CancellationToken::new();
    end_on_signal(&shutdown)?;
    if arguments.headless {
        eprintln!("{}", headless_words(&url));
    }
    let greeting = if arguments.headless { drill.bootstrap().join(",") + "\n" } else { greeting(&drill, &url) };
    let mut output = std::io::stdout();
    end_of_output(output.write_all(greeting.as_bytes()).and_then(|()| output.flush()))?;
    // Beside the server's own end, not after it: both together have a second.
    let brokers_end = async {
        let by_itself = tokio::select! {
            () = shutdown.cancelled() => false,
            () = drill.ended() => true,
        };
        // A cluster that stands still for ever would teach wrong things.
        shutdown.cancel();
        if tokio::time::timeout(LAST_BROKERS, drill.shutdown()).await.is_err() {
            tracing::debug!("brokers of the drill were still running at the end");
        }
        by_itself
    };
    let served = async {
        let served = if arguments.headless {
            serving::serve_drill_control(Arc::clone(&drill), door, listener, shutdown.clone()).await
        } else {
            serving::serve_drill(&name, Arc::clone(&drill), door, listener, shutdown.clone()).await
        };
        // It may have failed by itself.
        shutdown.cancel();
        served
    };
    let (served, by_itself) = tokio::join!(served, brokers_end);
    served.map_err(|error| Failure { code: EXIT_SOFTWARE, message: error.to_string() })?;
    if by_itself {
        return Err(Failure {
            code: EXIT_SOFTWARE,
            message: "the drill ended by itself\n  This is a defect in Unstuck; the log says more.\n  \
                      Please report it with the scenario"
                .to_owned(),
        });
    }
    Ok(0)
}

/// What a file may be called, but a cluster may not, becomes a dash.
fn cluster_name(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = name.chars().map(fits).take(NAME_LENGTH).collect();
    // `.` and `..` would be steps in a path.
    if name.trim_matches('.').is_empty() { "drill".to_owned() } else { name }
}

fn cannot_load(error: &LoadError) -> Failure {
    let remedy = match error {
        LoadError::Unknown { .. } => "",
        LoadError::Wrong(_) => "\n  docs/scenarios.md says what a scenario file holds.",
    };
    Failure::usage(format!("{error}{remedy}"))
}

fn no_brokers(error: &std::io::Error) -> Failure {
    Failure {
        code: EXIT_UNAVAILABLE,
        message: format!(
            "the brokers of the drill cannot listen: {error}\n  Each of them needs a port of its own on {BROKER_HOST}.\n  \
             Leave --ports out to take free ones, or name another first port."
        ),
    }
}

fn headless_words(url: &str) -> String {
    format!("The drill runs. Steer it with: unstuck drill ctl --url {url} status   (Ctrl-C ends it)")
}

fn greeting(drill: &Drill, url: &str) -> String {
    let status = drill.status();
    let mut text = format!("\n  {}\n\n", status.title);
    text.push_str(&wrapped(&status.story, "  "));
    let _ = writeln!(text, "\n  Open     {url}   (Ctrl-C ends it)");
    let _ = writeln!(text, "  Brokers  {}", status.bootstrap.join(","));
    if let Some(next) = next_words(&status) {
        let _ = writeln!(text, "  Next     {next}");
    }
    let url = if url == format!("http://{DEFAULT_LISTEN}") { String::new() } else { format!(" --url {url}") };
    let _ = writeln!(text, "  Steer    in the page, or with: unstuck drill ctl{url} next\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_name_becomes_the_name_of_a_cluster() {
        for (file, name) in [
            ("broker-lost", "broker-lost"),
            ("our own drill", "our-own-drill"),
            ("é/x", "--x"),
            ("..", "drill"),
            ("", "drill"),
        ] {
            assert_eq!(cluster_name(file), name);
        }
        assert_eq!(cluster_name(&"x".repeat(100)).len(), NAME_LENGTH);
    }
}
