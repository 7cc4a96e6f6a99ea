//! `unstuck snapshot`: what was observed, as a file.

use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use unstuck_diagnosis::Published;
use unstuck_diagnosis::history::Frozen;
use unstuck_diagnosis::report::{BrokerState, Status};
use unstuck_kafka::Collector;

use crate::cli::{EXIT_SOFTWARE, Failure, SnapshotArgs};
use crate::config::{self, Environment};
use crate::incidents::Names;
use crate::lookup::{Looking, end_of_output};
use crate::record::write_frozen;
use crate::{config_check, logs, text};

/// It was not possible to look: the same code as the verdict `unknown`.
const EXIT_COULD_NOT_LOOK: u8 = 3;

/// Where moments go, and how they are told.
pub(crate) struct Taking {
    out: Box<dyn Write + Send>,
    /// Made-up names, if they are wanted.
    names: Option<Names>,
    moments: usize,
}

impl Taking {
    /// Into this.
    pub(crate) fn new(out: Box<dyn Write + Send>, pseudonyms: bool) -> Self {
        Self { out, names: pseudonyms.then(Names::default), moments: 0 }
    }

    /// Adds a moment: it is whole in the file, or not there. False if whoever reads it wants no more.
    pub(crate) fn add(&mut self, published: &Published) -> Result<bool, Failure> {
        let failed = |what: &dyn std::fmt::Display| Failure {
            code: EXIT_SOFTWARE,
            message: format!("what was seen cannot be written: {what}"),
        };
        let mut frozen = Frozen::of(published, env!("CARGO_PKG_VERSION"));
        if let Some(names) = &mut self.names {
            frozen = names.hide(&frozen).map_err(|error| failed(&error))?;
        }
        let bytes = write_frozen(&frozen).map_err(|error| failed(&error))?;
        let written = self.out.write_all(&bytes).and_then(|()| self.out.flush());
        if written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            return Ok(false);
        }
        written.map_err(|error| failed(&error))?;
        self.moments += 1;
        Ok(true)
    }
}

pub(crate) async fn snapshot(arguments: SnapshotArgs, environment: Environment) -> Result<u8, Failure> {
    logs::begin(arguments.log.log_level.as_deref(), "error", &environment)?;
    let mut clusters = config_check::warned(config::clusters(&arguments.options(), &environment)?);
    let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
    let (Some(cluster), 1) = (clusters.pop(), names.len()) else {
        return Err(Failure::usage(format!(
            "the configuration describes several clusters: {}\n  A snapshot is of one.\n  Name it with --cluster NAME",
            names.join(", ")
        )));
    };
    let path = arguments.out.clone().unwrap_or_else(|| by_default(&cluster.name, Timestamp::now()));
    // Opened first: whoever cannot write need not look.
    let out = open(&path, arguments.force)?;
    let mut taking = Taking::new(out, arguments.pseudonyms);
    let collector = Collector::start(cluster);
    let mut looking = Looking::new(&collector);
    let shutdown = CancellationToken::new();
    crate::cli::end_on_signal(&shutdown)?;
    let began = Instant::now();
    tokio::select! {
        // What was seen by then is written.
        () = shutdown.cancelled() => {}
        () = looking.until_clear(|published| published.report.headline.status, arguments.timeout) => {}
    }
    let result = record(&mut taking, &mut looking, &arguments, began, &shutdown).await;
    let last = looking.into_newest();
    let _ = tokio::time::timeout(Duration::from_millis(100), collector.shutdown()).await;
    result?;
    if path != Path::new("-") {
        end_of_output(writeln!(std::io::stdout(), "{}", path.display()))?;
    }
    eprintln!("{}", summary(taking.moments, &last));
    let nobody = !last.report.brokers.iter().any(|broker| broker.state == BrokerState::Answering);
    Ok(if nobody { EXIT_COULD_NOT_LOOK } else { 0 })
}

/// The first moment, and those that follow if a recording is wanted.
async fn record(
    taking: &mut Taking,
    looking: &mut Looking<'_>,
    arguments: &SnapshotArgs,
    began: Instant,
    shutdown: &CancellationToken,
) -> Result<(), Failure> {
    let mut wanted = taking.add(looking.newest())?;
    let Some(every) = arguments.every else { return Ok(()) };
    let end = arguments.minutes.map(|minutes| began + minutes);
    let mut last = looking.newest().seq.clone();
    let mut next = Instant::now() + every;
    while wanted && end.is_none_or(|end| next <= end) {
        tokio::select! {
            () = shutdown.cancelled() => break,
            () = looking.until(next) => {}
        }
        next += every;
        // Nothing was heard since the last one.
        if looking.newest().seq != last {
            last = looking.newest().seq.clone();
            wanted = taking.add(looking.newest())?;
        }
    }
    Ok(())
}

fn summary(moments: usize, last: &Published) -> String {
    let headline = &last.report.headline;
    let count = if moments == 1 { String::new() } else { format!("{moments} moments, the last one: ") };
    let again = "Explain it with: unstuck diagnose FILE";
    let words = if headline.status == Status::Unknown { "" } else { headline.status.words() };
    let words = if words.is_empty() { String::new() } else { format!(" ({words})") };
    format!("{count}{}{words}\n{again}", text::safe(&headline.sentence))
}

/// What a file is called: the cluster, and when, in UTC.
pub(super) fn by_default(cluster: &str, at: Timestamp) -> PathBuf {
    PathBuf::from(format!("unstuck-{cluster}-{}.json.gz", at.strftime("%Y%m%d-%H%M%S")))
}

/// Opens the file to write; `-` is standard output.
pub(crate) fn open(path: &Path, force: bool) -> Result<Box<dyn Write + Send>, Failure> {
    if path == Path::new("-") {
        if std::io::stdout().is_terminal() {
            return Err(Failure::usage(
                "a snapshot is compressed, and standard output is a terminal\n  It would show nonsense.\n  \
                 Send it into a file or a pipe, or leave --out out",
            ));
        }
        return Ok(Box::new(std::io::stdout()));
    }
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(format!(
            "{} is there already\n  A file is not overwritten unasked.\n  Give another --out, or --force",
            path.display()
        )),
        _ => Failure::usage(format!(
            "{} cannot be written: {error}\n  So nothing was looked at.\n  Check the folder and its permissions, or \
             give another --out",
            path.display()
        )),
    })?;
    Ok(Box::new(file))
}
