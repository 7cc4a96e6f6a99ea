//! `unstuck lookup`: asks the brokers itself, or a running server, and prints the answer.

mod detail;
mod remote;

use std::io::{BufRead, ErrorKind, Write};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;
use unstuck_diagnosis::memory::Memory;
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::snapshot::Snapshot;
use unstuck_diagnosis::{GroupId, MAX_GROUP_ID_BYTES, Published, Seq};
use unstuck_kafka::{ClusterConfig, Collector};

use crate::cli::{EXIT_SOFTWARE, Failure, LookupArgs};
use crate::config::{self, Environment};
use crate::{config_check, logs, poller, text};

pub(crate) use detail::Told;
pub(crate) use remote::{base_url, plan as remote_plan, words};

/// How much longer to look, once everything was looked at, for a verdict that may still get clearer.
const CONFIRMATION: Duration = Duration::from_secs(2);

/// An answer: for programs, for people, and how bad it is.
struct Answer {
    json: String,
    text: String,
    worst: Status,
}

pub(crate) async fn run(arguments: LookupArgs, environment: Environment) -> Result<u8, Failure> {
    logs::begin(arguments.log.log_level.as_deref(), "error", &environment)?;
    let colours = text::in_colours(&environment);
    let wanted = if arguments.transactional_ids.is_empty() {
        Wanted::Groups(read_groups(&arguments.groups, &mut std::io::stdin().lock())?)
    } else {
        Wanted::Transactional(transactional_ids(&arguments.transactional_ids)?)
    };
    let answer = match &arguments.server {
        Some(server) => {
            let client = reqwest::Client::builder().timeout(arguments.timeout);
            let client = arguments.login.log_in(client, &environment)?;
            remote::ask(server, arguments.cluster.as_deref(), &wanted, client, colours).await?
        }
        None => {
            let mut clusters = config_check::warned(config::clusters(&arguments.options(), &environment)?);
            let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
            match (clusters.pop(), names.len()) {
                (Some(cluster), 1) => look(cluster, &wanted, arguments.timeout, arguments.detail, colours).await?,
                _ => {
                    return Err(Failure::usage(format!(
                        "the configuration describes several clusters: {}\n  A lookup is about one.\n  \
                         Name it with --cluster NAME",
                        names.join(", ")
                    )));
                }
            }
        }
    };
    let output = if arguments.json { answer.json + "\n" } else { answer.text };
    end_of_output(std::io::stdout().lock().write_all(output.as_bytes()))?;
    Ok(answer.worst.exit_code())
}

/// What is looked up.
enum Wanted {
    Groups(Vec<GroupId>),
    Transactional(Vec<GroupId>),
}

impl Wanted {
    fn worst(&self, published: &Published) -> Status {
        match self {
            Self::Groups(groups) => published.lookup(groups).worst(),
            Self::Transactional(ids) => published.lookup_transactional(ids).worst(),
        }
    }
}

/// Looks at the cluster until every fact is known or unavailable, but no longer than `timeout`.
async fn look(
    cluster: ClusterConfig,
    wanted: &Wanted,
    timeout: Duration,
    detail: bool,
    colours: bool,
) -> Result<Answer, Failure> {
    let collector = Collector::start(cluster);
    let mut looking = Looking::new(&collector);
    looking.until_clear(|published| wanted.worst(published), timeout).await;
    let published = looking.newest();
    let answer = match wanted {
        Wanted::Groups(groups) => {
            let lookup = published.lookup(groups);
            let details = if detail { detail::of_groups(&collector, published, &lookup).await } else { Vec::new() };
            Answer {
                json: detail::json(&lookup, detail.then_some(&details))?,
                text: text::lookup(&lookup, colours) + &details.iter().map(text::detail).collect::<String>(),
                worst: lookup.worst(),
            }
        }
        Wanted::Transactional(ids) => {
            let lookup = published.lookup_transactional(ids);
            let details = if detail { detail::of_transactions(&collector, &lookup).await } else { Vec::new() };
            Answer {
                json: detail::json(&lookup, detail.then_some(&details))?,
                text: text::transactional(&lookup, colours)
                    + &details.iter().map(text::transaction).collect::<String>(),
                worst: lookup.worst(),
            }
        }
    };
    // The answer does not wait for connections to close.
    let _ = tokio::time::timeout(Duration::from_millis(100), collector.shutdown()).await;
    Ok(answer)
}

/// Looking at a cluster for a while: what was seen last, and what was seen before.
pub(crate) struct Looking<'a> {
    snapshots: watch::Receiver<Arc<Snapshot>>,
    newest: Published,
    /// Looking ends with the collector.
    _collector: &'a Collector,
}

impl<'a> Looking<'a> {
    /// Begins with what the collector has now.
    pub(crate) fn new(collector: &'a Collector) -> Self {
        let mut snapshots = collector.snapshots();
        let snapshot = Arc::clone(&snapshots.borrow_and_update());
        let now = Timestamp::now();
        let newest = poller::next_value(Seq::default(), snapshot, Memory::new(now), now);
        Self { snapshots, newest, _collector: collector }
    }

    /// What was seen last.
    pub(crate) fn newest(&self) -> &Published {
        &self.newest
    }

    /// What was seen last, when looking is over.
    pub(crate) fn into_newest(self) -> Published {
        self.newest
    }

    /// Until every fact is known or unavailable, and a little longer for a verdict that may get clearer; but no longer
    /// than `timeout`.
    pub(crate) async fn until_clear(&mut self, worst: impl Fn(&Published) -> Status, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        let mut confirmed_by = None;
        loop {
            let snapshot = &self.newest.snapshot;
            if Collector::settled(snapshot) || leads_nowhere(snapshot) {
                // Silence and disagreement are evidence only when they last; the rest is as clear as it will get.
                let clear = !matches!(worst(&self.newest), Status::Unknown | Status::Recovering);
                let until = *confirmed_by.get_or_insert_with(|| (Instant::now() + CONFIRMATION).min(deadline));
                if clear || Instant::now() >= until {
                    return;
                }
            }
            if !self.next(confirmed_by.unwrap_or(deadline)).await {
                return;
            }
        }
    }

    /// Until this moment.
    pub(crate) async fn until(&mut self, end: Instant) {
        while self.next(end).await {}
        // Where the collector has ended, time goes on all the same.
        tokio::time::sleep_until(end).await;
    }

    /// Waits for something new; false if nothing came until then.
    async fn next(&mut self, until: Instant) -> bool {
        if !matches!(tokio::time::timeout_at(until, self.snapshots.changed()).await, Ok(Ok(()))) {
            return false;
        }
        let snapshot = Arc::clone(&self.snapshots.borrow_and_update());
        let seq = Seq { boot: String::new(), n: self.newest.seq.n + 1 };
        let now = Timestamp::now();
        let memory = std::mem::replace(&mut self.newest.memory, Memory::new(now));
        self.newest = poller::next_value(seq, snapshot, memory, now);
        true
    }
}

/// The transactional ids of the command line.
fn transactional_ids(arguments: &[String]) -> Result<Vec<GroupId>, Failure> {
    if arguments.iter().any(String::is_empty) {
        return Err(Failure::usage(
            "the empty id is no transactional id\n  It stands for a producer without transactions.\n  \
             Give the producer's transactional.id",
        ));
    }
    let ids: Vec<GroupId> = arguments.iter().map(|id| GroupId::from(id.as_str())).collect();
    not_too_long(ids)
}

/// Whether every way in was tried in vain. An ordinary client would go on trying; whoever waits for an answer should not.
pub(crate) fn leads_nowhere(snapshot: &Snapshot) -> bool {
    snapshot.brokers.is_empty() && snapshot.bootstrap.values().all(|sight| sight.answer.unavailable().is_some())
}

/// The ids of the command line; `-` stands for those on standard input.
pub(crate) fn read_groups(arguments: &[String], stdin: &mut impl BufRead) -> Result<Vec<GroupId>, Failure> {
    let mut groups = Vec::new();
    for argument in arguments {
        if argument == "-" {
            read_lines(stdin, &mut groups)?;
        } else {
            groups.push(GroupId::from(argument.as_str()));
        }
    }
    if groups.is_empty() {
        return Err(Failure::usage(
            "standard input named no group\n  One id per line is expected; empty lines are skipped.\n  \
             The empty id itself is asked for as an argument: unstuck lookup … ''",
        ));
    }
    not_too_long(groups)
}

fn not_too_long(ids: Vec<GroupId>) -> Result<Vec<GroupId>, Failure> {
    match ids.iter().find(|id| id.as_str().len() > MAX_GROUP_ID_BYTES) {
        Some(long) => Err(Failure::usage(format!(
            "the id {long} has {} bytes\n  Kafka's protocol holds at most {MAX_GROUP_ID_BYTES} bytes, so no client can \
             have it.\n  Check what was copied",
            long.as_str().len()
        ))),
        None => Ok(ids),
    }
}

/// One id per line. Only the line end is taken off: spaces belong to an id.
fn read_lines(stdin: &mut impl BufRead, groups: &mut Vec<GroupId>) -> Result<(), Failure> {
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let read = stdin.read_until(b'\n', &mut line).map_err(|error| {
            Failure::usage(format!(
                "standard input cannot be read: {error}\n  It holds the group ids.\n  Check the pipe"
            ))
        })?;
        if read == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").map_or(line.as_slice(), |text| text.strip_suffix(b"\r").unwrap_or(text));
        if text.is_empty() {
            continue;
        }
        let id = std::str::from_utf8(text).map_err(|_| {
            Failure::usage(format!(
                "line {number} of standard input is not UTF-8\n  Kafka's group ids are UTF-8.\n  \
                 Check the encoding of what is piped in"
            ))
        })?;
        groups.push(GroupId::from(id));
    }
    Ok(())
}

/// An answer for programs.
pub(crate) fn json(answer: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(answer).map_err(|error| Failure {
        code: EXIT_SOFTWARE,
        message: format!("the answer cannot be written as JSON: {error}"),
    })
}

/// A reader that has closed its end (`| head -1`) has read enough.
pub(crate) fn end_of_output(written: std::io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure { code: EXIT_SOFTWARE, message: format!("the answer cannot be written: {error}") })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str], mut stdin: &[u8]) -> Result<Vec<String>, Failure> {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Ok(read_groups(&arguments, &mut stdin)?.into_iter().map(|group| group.0).collect())
    }

    #[test]
    fn lines_lose_their_end_and_nothing_else() {
        let stdin = "plain\n tail \r\n\n\u{1F600}\na\tb\nlast".as_bytes();
        assert_eq!(
            read(&["-"], stdin),
            Ok(vec!["plain".into(), " tail ".into(), "\u{1F600}".into(), "a\tb".into(), "last".into()])
        );
    }

    #[test]
    fn arguments_and_lines_go_together() {
        assert_eq!(read(&["a", "-", "", "b"], b"c\n"), Ok(vec!["a".into(), "c".into(), String::new(), "b".into()]));
    }

    #[test]
    fn what_cannot_be_an_id_is_bad_usage() {
        for (arguments, stdin) in
            [(vec!["-"], "\n".as_bytes()), (vec!["-"], b"\xff\n"), (vec![&*"x".repeat(32_768)], b"")]
        {
            assert_eq!(read(&arguments, stdin).expect_err("refused").code, 64);
        }
        assert!(read(&[&"x".repeat(32_767)], b"").is_ok());
    }
}
