//! What is looked at further at one broker: log directories, running reassignments, transactions; each with a cadence of
//! its own, on a connection of their own.
//!
//! Each of these questions can hang alone, on a disk or on a coordinator. One that does loses its own fact and the
//! connection; the others go on at a fresh one, and it is asked more and more rarely, because each request may hold one
//! of the broker's request handler threads.

mod logs;
mod transactions;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep, sleep_until};
use unstuck_diagnosis::snapshot::{BrokerSight, Observed, OffsetsTopicView, Why};
use unstuck_diagnosis::{BrokerId, PartitionId};
use unstuck_wire::{Api, Connection, WireError};

use super::refused::Refused;
use crate::config::Cadence;
use crate::shared::{Nudges, Shared};
use crate::why::{miss, why};

/// An answer above this size is asked for less often: every [`LARGE_EVERY`] times the usual pause.
const LARGE_ANSWER: usize = 256 << 10;
const LARGE_EVERY: u32 = 10;

/// Looks further at one broker for ever, while it answers the cheap look.
pub(super) async fn watch(shared: &Shared, id: BrokerId, nudges: &Nudges) {
    let mut schedule = Schedule::new(shared.config.cadence.denied_canaries);
    loop {
        let (answers, gone) = shared.read(id, |sight| {
            let trouble = sight.contact.trouble.as_ref();
            let answers = trouble.is_none() && sight.contact.first_answer.is_some();
            (answers, trouble.is_some_and(|trouble| trouble.why != Why::Silent))
        });
        if gone {
            // Whatever hung, hung in a process that may be another one when it comes back.
            schedule.hanging.clear();
        }
        if answers && schedule.due().is_some() {
            let mut look = Look { shared, id, schedule: &mut schedule };
            match look.session(nudges).await {
                Ok(()) => continue,
                Err(error) => look.lose_due(&why(&error)),
            }
        }
        tokio::select! {
            biased;
            () = nudges.further.notified() => schedule.all(),
            () = nudges.moved.notified() => schedule.bring_forward(Fact::MOVED),
            () = sleep(shared.config.cadence.metadata) => {}
        }
    }
}

/// The facts, in the order in which they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    Reassignments,
    TransactionCanaries,
    LogDirs,
    Producers,
    Transactions,
}

impl Fact {
    const ALL: [Self; 5] =
        [Self::Reassignments, Self::TransactionCanaries, Self::LogDirs, Self::Producers, Self::Transactions];
    /// What follows leadership and replicas.
    const MOVED: [Self; 2] = [Self::Reassignments, Self::TransactionCanaries];

    fn every(self, cadence: &Cadence) -> Duration {
        match self {
            Self::Reassignments => cadence.reassignments,
            Self::TransactionCanaries => cadence.canaries,
            Self::LogDirs => cadence.log_dirs,
            Self::Producers | Self::Transactions => cadence.transactions,
        }
    }

    /// The longest pause of a question that hangs: what follows leadership must not be old for long.
    fn longest_pause(self) -> Duration {
        match self {
            Self::Reassignments | Self::TransactionCanaries => Duration::from_secs(60),
            Self::LogDirs | Self::Producers | Self::Transactions => Duration::from_secs(30 * 60),
        }
    }
}

/// When each fact is to be asked for.
#[derive(Debug)]
struct Schedule {
    due: BTreeMap<Fact, Instant>,
    /// Facts that were not answered in time: how long they pause, and until when nothing brings them forward.
    hanging: BTreeMap<Fact, (Duration, Instant)>,
    /// What is not permitted: asked more and more rarely.
    refused: Refused<Fact>,
}

impl Schedule {
    fn new(longest: Duration) -> Self {
        let now = Instant::now();
        let due = Fact::ALL.into_iter().map(|fact| (fact, now)).collect();
        Self { due, hanging: BTreeMap::new(), refused: Refused::new(longest) }
    }

    /// The first fact that is due.
    fn due(&self) -> Option<Fact> {
        let now = Instant::now();
        self.due.iter().find(|(_, at)| **at <= now).map(|(fact, _)| *fact)
    }

    /// When the next one will be.
    fn next(&self) -> Instant {
        self.due.values().min().copied().unwrap_or_else(Instant::now)
    }

    fn bring_forward(&mut self, facts: impl IntoIterator<Item = Fact>) {
        let now = Instant::now();
        for fact in facts {
            if self.hanging.get(&fact).is_none_or(|(_, until)| *until <= now) {
                self.due.insert(fact, now);
            }
        }
    }

    fn all(&mut self) {
        self.refused.forget();
        self.bring_forward(Fact::ALL);
    }

    fn answered(&mut self, fact: Fact, next: Duration) {
        self.hanging.remove(&fact);
        self.due.insert(fact, Instant::now() + next);
    }

    fn failed(&mut self, fact: Fact, silent: bool, every: Duration) {
        let mut pause = every;
        if silent {
            if let Some((before, _)) = self.hanging.get(&fact) {
                pause = (*before * 2).min(fact.longest_pause());
            }
            self.hanging.insert(fact, (pause, Instant::now() + pause));
        }
        self.due.insert(fact, Instant::now() + pause);
    }
}

struct Look<'a> {
    shared: &'a Shared,
    id: BrokerId,
    schedule: &'a mut Schedule,
}

impl Look<'_> {
    /// Ends well with the connection, with an error if none could be made.
    async fn session(&mut self, nudges: &Nudges) -> Result<(), WireError> {
        let Some(address) = self.shared.address(self.id) else { return Err(WireError::Refused) };
        let deadline = self.shared.config.request_timeout;
        let mut connection = self.shared.connect_broker(self.id, &address, deadline).await?;
        connection.handshake(deadline).await?;
        loop {
            while let Some(fact) = self.schedule.due() {
                let every = fact.every(&self.shared.config.cadence);
                if let Some(why) = self.refused(fact) {
                    self.lose(fact, &why);
                    self.schedule.answered(fact, every);
                    continue;
                }
                match self.ask(fact, &mut connection).await {
                    Ok(next) => {
                        self.take_note(fact);
                        self.schedule.answered(fact, next.unwrap_or(every));
                    }
                    Err(error) => {
                        self.lose(fact, &why(&error));
                        self.schedule.failed(fact, error == WireError::Silent, every);
                        return Ok(());
                    }
                }
            }
            tokio::select! {
                biased;
                // An end of this connection says nothing about the facts: connect again when one is due.
                _ = connection.ended() => return Ok(()),
                () = nudges.further.notified() => self.schedule.all(),
                () = nudges.moved.notified() => self.moved(),
                () = sleep_until(self.schedule.next()) => {}
            }
        }
    }

    /// Leadership or replicas changed: a replica of this broker that is offline while it answers may tell of a disk.
    fn moved(&mut self) {
        self.schedule.bring_forward(Fact::MOVED);
        let partitions = self.topic().map(|topic| topic.partitions).unwrap_or_default();
        if partitions.values().any(|partition| partition.offline_replicas.contains(&self.id)) {
            self.schedule.bring_forward([Fact::LogDirs]);
        }
    }

    /// Asks for a fact; gives when to ask again, if that is not as usual.
    async fn ask(&self, fact: Fact, connection: &mut Connection) -> Result<Option<Duration>, WireError> {
        match fact {
            Fact::Reassignments => self.reassignments(connection).await,
            Fact::TransactionCanaries => self.transaction_canaries(connection).await,
            Fact::LogDirs => self.log_dirs(connection).await,
            Fact::Producers => self.producers(connection).await,
            Fact::Transactions => self.transactions(connection).await,
        }
    }

    /// Why the fact is not to be asked for now, because it was refused.
    fn refused(&self, fact: Fact) -> Option<Why> {
        // Nothing is sent to a broker that does not speak for the controller.
        let sent = fact != Fact::Reassignments || self.shared.speaks_for_controller(self.id);
        self.schedule.refused.why(&fact).filter(|_| sent).cloned()
    }

    /// Takes note of whether the fact was refused just now.
    fn take_note(&mut self, fact: Fact) {
        fn lost<T>(fact: &Observed<T>) -> Option<Why> {
            fact.unavailable().map(|lost| lost.why.clone())
        }
        let why = self.shared.read(self.id, |sight| match fact {
            Fact::Reassignments => lost(&sight.reassignments),
            Fact::TransactionCanaries => {
                let mut codes = sight.transaction_canaries.values().map(|canary| canary.code).peekable();
                let denied = codes.peek().is_some() && codes.all(|code| code == 53);
                denied.then(|| Why::NotPermitted("DESCRIBE on TRANSACTIONAL_ID".to_owned()))
            }
            Fact::LogDirs => lost(&sight.log_dirs),
            Fact::Producers => lost(&sight.producers),
            Fact::Transactions => lost(&sight.open_transactions),
        });
        if fact == Fact::TransactionCanaries {
            self.schedule.refused.asked_for_many(fact, why);
        } else {
            self.schedule.refused.asked(fact, why);
        }
    }

    fn lose_due(&mut self, why: &Why) {
        let now = Instant::now();
        let due: Vec<Fact> = self.schedule.due.iter().filter(|(_, at)| **at <= now).map(|(fact, _)| *fact).collect();
        for fact in due {
            self.lose(fact, why);
        }
    }

    /// A fact was to be asked for and was not answered.
    fn lose(&self, fact: Fact, why: &Why) {
        let speaks = self.shared.speaks_for_controller(self.id);
        self.note(|sight, now| match fact {
            Fact::Reassignments if !speaks => false,
            Fact::Reassignments => miss(&mut sight.reassignments, why, now),
            // What it answered before carries its time.
            Fact::TransactionCanaries => false,
            Fact::LogDirs => miss(&mut sight.log_dirs, why, now),
            Fact::Producers => miss(&mut sight.producers, why, now),
            Fact::Transactions => miss(&mut sight.open_transactions, why, now),
        });
    }

    /// Takes note that the release does not offer this request; true if so.
    fn too_old<T>(
        &self,
        connection: &Connection,
        api: Api,
        of: impl FnOnce(&mut BrokerSight) -> &mut Observed<T>,
    ) -> bool {
        let missing = connection.version(api).is_none();
        if missing {
            self.note(|sight, now| miss(of(sight), &Why::TooOld(api.name().to_owned()), now));
        }
        missing
    }

    fn note(&self, change: impl FnOnce(&mut BrokerSight, Timestamp) -> bool) {
        let now = self.shared.now();
        self.shared.broker(self.id, |sight| change(sight, now));
    }

    fn deadline(&self) -> Duration {
        self.shared.config.cadence.wide_timeout.max(self.shared.config.request_timeout)
    }

    /// `__consumer_offsets` as this broker saw it last.
    fn topic(&self) -> Option<OffsetsTopicView> {
        self.shared.read(self.id, |sight| sight.metadata.known()?.offsets_topic.clone())
    }

    /// The partitions of `__consumer_offsets`, as this broker saw it last.
    fn partitions(&self) -> Vec<PartitionId> {
        self.topic().map(|topic| topic.partitions.into_keys().collect()).unwrap_or_default()
    }
}

/// Keeps a fact; true if something but its time is new, as `same` tells.
fn keep<T>(fact: &mut Observed<T>, told: T, same: impl FnOnce(&T, &T) -> bool) -> bool {
    let news = fact.known().is_none_or(|before| !same(before, &told));
    *fact = Observed::Known(told);
    news
}
