//! The cheap look at one broker: its own metadata about once a second, and its canaries.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep, sleep_until};
use unstuck_diagnosis::snapshot::{Canary, MetadataView, Observed, OffsetsTopicView, PartitionView, STATE_TOPICS, Why};
use unstuck_diagnosis::{BrokerId, GroupId, OFFSETS_TOPIC};
use unstuck_wire::messages::groups::DescribeGroupsRequest;
use unstuck_wire::messages::metadata::{Keep, MetadataAnswer, MetadataRequest, TopicMetadata, Topics};
use unstuck_wire::{Api, Connection, WireError, release_of};

use super::aside::{Aside, Owed};
use super::backoff::Backoff;
use super::due::DueCanaries;
use super::{configs, names_safely};
use crate::shared::{Nudges, Shared};
use crate::why::{lose, why};

/// An all-topics answer above this size is asked for less often.
const LARGE_ANSWER: usize = 256 << 10;
/// How much less often: every so many cheap looks.
const LARGE_EVERY: u32 = 5;

/// Watches one broker for ever.
pub(super) async fn watch(shared: &Shared, id: BrokerId, nudges: &Nudges) {
    let mut backoff = Backoff::new();
    let mut due = DueCanaries::default();
    let mut aside = Aside::default();
    // How long to wait on a silent connection before trying a fresh one: doubles while the broker hangs, because each
    // connection takes a place in its accept queue.
    let mut patience = FIRST_PATIENCE;
    // Closed connections in a row, without an answer between.
    let mut closed = 0;
    loop {
        let Some(address) = shared.address(id) else {
            // Known from replica lists only: there is nowhere to look until somebody tells.
            nudges.cheap.notified().await;
            continue;
        };
        let mut session = Session {
            shared,
            id,
            nudges,
            due: &mut due,
            aside: &mut aside,
            answered: false,
            patience,
            address: address.clone(),
            all_topics_pause: 0,
        };
        let opened = Instant::now();
        let sent = shared.now();
        let end = session.run().await;
        if session.answered {
            closed = 0;
            patience = FIRST_PATIENCE;
            if opened.elapsed() > Duration::from_secs(1) {
                backoff.reset();
            }
        }
        let why = match end {
            End::Moved | End::CanariesUnanswered => continue,
            End::Hangs => {
                patience = (patience * 2).min(LONGEST_PATIENCE);
                continue;
            }
            End::Not(why) => why,
            End::Broken(WireError::Closed | WireError::ClosedAfterApiVersions) if session.answered => {
                // A connection that stood and ended is no trouble by itself: connect again at once.
                sleep(backoff.pause(&Why::Closed)).await;
                continue;
            }
            End::Broken(error) => {
                closed = match error {
                    WireError::Closed | WireError::ClosedAfterApiVersions => closed + 1,
                    _ => 0,
                };
                if closed == 1 {
                    // Once may be chance, such as a broker that is just going down.
                    sleep(backoff.pause(&Why::Closed)).await;
                    continue;
                }
                if shared.read(id, |sight| sight.contact.first_answer.is_some()) {
                    why(&error)
                } else {
                    shared.entrance.explain(&error, &address, shared.config.request_timeout).await
                }
            }
        };
        let pause = backoff.pause(&why);
        if shared.trouble(id, why.clone(), sent) {
            tracing::warn!(cluster = shared.config.name, broker = id, address, "{why}");
        }
        // A new address is a reason to try at once; a nudge is not.
        let until = Instant::now() + pause;
        while Instant::now() < until && shared.address(id).as_ref() == Some(&address) {
            tokio::select! {
                biased;
                () = sleep_until(until) => {}
                () = nudges.cheap.notified() => {}
            }
        }
    }
}

const FIRST_PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_PATIENCE: Duration = Duration::from_secs(60);

/// Why a session ended.
enum End {
    /// The broker is to be looked for at another address.
    Moved,
    /// The broker answers, its coordinator does not: the connection waits aside, and another one takes its place.
    CanariesUnanswered,
    /// Silent beyond our patience: worth a fresh connection, which tells a hung broker from a lost one.
    Hangs,
    /// The connection could not be made, or ended.
    Broken(WireError),
    /// Somebody answers, but not whom we look for.
    Not(Why),
}

impl From<WireError> for End {
    fn from(error: WireError) -> Self {
        Self::Broken(error)
    }
}

/// One connection's time.
struct Session<'a> {
    shared: &'a Shared,
    id: BrokerId,
    nudges: &'a Nudges,
    due: &'a mut DueCanaries,
    aside: &'a mut Aside,
    /// Whether the broker gave its metadata on this connection.
    answered: bool,
    patience: Duration,
    address: String,
    /// Cheap looks to go without asking for all topics, because the last such answer was large.
    all_topics_pause: u32,
}

impl Session<'_> {
    async fn run(&mut self) -> End {
        match self.look_until_it_ends().await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn look_until_it_ends(&mut self) -> Result<std::convert::Infallible, End> {
        let deadline = self.shared.config.request_timeout;
        let mut connection = self.shared.connect_broker(self.id, &self.address, deadline).await?;
        let mut silent_since = None;
        let mut greeted = false;
        self.due.all();
        loop {
            let started = Instant::now();
            let sent = self.shared.now();
            let looked = async {
                if !greeted {
                    self.greet(&mut connection).await?;
                    greeted = true;
                }
                self.metadata(&mut connection).await?;
                self.canaries(&mut connection).await
            };
            match looked.await {
                Ok(()) => silent_since = None,
                Err(End::Broken(WireError::Silent)) => {
                    if self.shared.trouble(self.id, Why::Silent, sent) {
                        let (cluster, broker, address) = (&self.shared.config.name, self.id, &self.address);
                        tracing::warn!(cluster, broker, address, "{}", Why::Silent);
                    }
                    if silent_since.get_or_insert(started).elapsed() > self.patience {
                        return Err(End::Hangs);
                    }
                    // The next call waits for the late answer first: no pause needed, and nothing piles up.
                    continue;
                }
                Err(End::CanariesUnanswered) => {
                    self.aside.put(connection);
                    return Err(End::CanariesUnanswered);
                }
                Err(end) => return Err(end),
            }
            tokio::select! {
                biased;
                end = connection.ended() => return Err(end.into()),
                () = self.nudges.cheap.notified() => {}
                () = sleep_until(started + self.shared.config.cadence.metadata) => {}
            }
            if self.shared.address(self.id).as_ref() != Some(&self.address) {
                return Err(End::Moved);
            }
        }
    }

    /// API versions, and the proof that it is this broker that answers.
    async fn greet(&mut self, connection: &mut Connection) -> Result<(), End> {
        let deadline = self.shared.config.request_timeout;
        connection.handshake(deadline).await?;
        let release = release_of(connection.versions()).map(|release| release.to_string());
        let kraft = connection.versions().offers(Api::DescribeQuorum);
        let told = configs::broker(self.shared.surroundings.clock, connection, self.id, deadline).await?;
        if let Err(other @ Why::OtherBroker(_)) = told {
            return Err(End::Not(other));
        }
        self.shared.broker(self.id, |sight| {
            let news = sight.release != release || sight.kraft != Some(kraft);
            sight.release = release;
            sight.kraft = Some(kraft);
            match told {
                Ok(configs) => sight.configs = Observed::Known(configs),
                Err(why) => lose(&mut sight.configs, why, self.shared.now()),
            }
            news
        });
        Ok(())
    }

    /// Brokers and `__consumer_offsets` as this broker sees them.
    async fn metadata(&mut self, connection: &mut Connection) -> Result<(), End> {
        let names = names_safely(connection);
        let topics = if names && self.shared.topic_seen() {
            Topics::Named(once(OFFSETS_TOPIC.to_owned()).chain(self.shared.state_topics()).collect())
        } else if self.all_topics_pause > 0 {
            self.all_topics_pause -= 1;
            Topics::None
        } else {
            Topics::All
        };
        let kept = once(OFFSETS_TOPIC).chain(STATE_TOPICS).map(str::to_owned).collect();
        let request = MetadataRequest { topics, keep: Keep::Named(kept), cluster_operations: false };
        let answered = connection.call(&request, self.shared.config.request_timeout).await?;
        let answer = answered.answer;
        if request.topics == Topics::All && answer.bytes > LARGE_ANSWER {
            self.all_topics_pause = LARGE_EVERY - 1;
        }
        if let Some(other) = self.shared.foreign(answer.cluster_id.as_deref()) {
            return Err(End::Not(Why::OtherCluster(other.to_owned())));
        }
        let deadline = self.shared.config.request_timeout + answered.throttle;
        let news = self.shared.answered(self.id, Some(millis(answered.took)), millis(deadline));
        if news {
            tracing::info!(cluster = self.shared.config.name, broker = self.id, address = self.address, "answers");
        }
        self.take_view(&request.topics, answer);
        if !self.answered {
            self.answered = true;
            // It (re)appeared: everything else about it is worth knowing now.
            self.nudges.wide.notify_one();
            self.nudges.quorum.notify_one();
            self.nudges.further.notify_one();
        }
        Ok(())
    }

    fn take_view(&mut self, asked: &Topics, answer: MetadataAnswer) {
        self.shared.learn(&answer.brokers);
        let told = answer.topics.get(OFFSETS_TOPIC);
        match asked {
            Topics::All if told.is_some_and(|topic| topic.error == 0) => self.shared.topic_told(true),
            Topics::Named(_) if told.is_none_or(|topic| topic.error == 3) => self.shared.topic_told(false),
            _ => {}
        }
        let offsets_topic = match asked {
            // Not asked this time: what it said last still stands.
            Topics::None => self.shared.read(self.id, |sight| sight.metadata.known()?.offsets_topic.clone()),
            _ => told.filter(|topic| topic.error != 3).map(topic_view),
        };
        let state_topics = match asked {
            Topics::None => self.shared.read(self.id, |sight| Some(sight.metadata.known()?.state_topics.clone())),
            _ => {
                let told = answer
                    .topics
                    .iter()
                    .filter(|(name, topic)| STATE_TOPICS.contains(&name.as_str()) && topic.error != 3);
                Some(told.map(|(name, topic)| (name.clone(), topic_view(topic))).collect())
            }
        };
        let view = MetadataView {
            at: self.shared.now(),
            cluster_id: answer.cluster_id,
            controller: answer.controller,
            brokers: answer.brokers.into_iter().map(|(id, broker)| (id, broker.address)).collect(),
            offsets_topic,
            state_topics: state_topics.unwrap_or_default(),
        };
        let unknown: Vec<String> = match asked {
            Topics::Named(names) => {
                let unknown =
                    names.iter().filter(|name| *name != OFFSETS_TOPIC && !view.state_topics.contains_key(*name));
                unknown.cloned().collect()
            }
            Topics::All | Topics::None => {
                self.shared.state_topics_seen(view.state_topics.keys().cloned());
                Vec::new()
            }
        };
        let partitions = view.offsets_topic.iter().flat_map(|topic| topic.partitions.values());
        self.shared.learn_ids(partitions.flat_map(|one| one.replicas.iter().copied()).collect::<BTreeSet<_>>());
        let (mut leadership, mut moved) = (false, false);
        self.shared.broker(self.id, |sight| {
            let kraft = sight.kraft == Some(true);
            let before = sight.metadata.known();
            let news = before.is_none_or(|before| {
                leadership = before.offsets_topic != view.offsets_topic;
                moved = leadership || before.state_topics != view.state_topics;
                moved
                    || before.brokers != view.brokers
                    || before.cluster_id != view.cluster_id
                    // In KRaft the controller is a random broker on each call: no news.
                    || (!kraft && before.controller != view.controller)
            });
            moved |= before.is_none();
            sight.metadata = Observed::Known(view);
            news
        });
        self.shared.state_topics_unknown(unknown);
        if leadership {
            self.nudges.leadership.notify_one();
        }
        if moved {
            self.nudges.moved.notify_one();
        }
    }

    /// Asks for the canaries that are due.
    async fn canaries(&mut self, connection: &mut Connection) -> Result<(), End> {
        let partitions: BTreeMap<_, _> = self
            .shared
            .read(self.id, |sight| {
                sight.metadata.known().and_then(|view| Some(view.offsets_topic.as_ref()?.partitions.clone()))
            })
            .unwrap_or_default();
        if partitions.is_empty() {
            // Nothing that is routed to a coordinator goes to a broker that does not see the topic.
            return Ok(());
        }
        match self.aside.look().await {
            Owed::Still => return Ok(()),
            Owed::CameLate => self.shared.broker(self.id, |sight| sight.canaries_unanswered_since.take().is_some()),
            Owed::Nothing => {}
        }
        let set = self.shared.canaries();
        let cadence = &self.shared.config.cadence;
        let denied = self.due.denied(Instant::now(), cadence.quorum);
        if !denied.is_empty() {
            for (partition, group) in self.shared.listed_on(&denied, set.partition_count) {
                self.due.replace(partition, group);
            }
        }
        let due = self.due.take(set.ids.keys().copied(), &partitions, self.id, Instant::now(), cadence);
        let ids: BTreeMap<_, _> = due
            .iter()
            .filter_map(|partition| {
                Some((self.due.instead(*partition).or_else(|| set.ids.get(partition))?, *partition))
            })
            .map(|(id, partition)| (id.clone(), partition))
            .collect();
        if ids.is_empty() {
            return Ok(());
        }
        let request = DescribeGroupsRequest { groups: ids.keys().map(|id| id.0.clone()).collect() };
        let sent = self.shared.now();
        let answered = match connection.call(&request, self.shared.config.request_timeout).await {
            Ok(answered) => answered,
            Err(WireError::Silent) => {
                self.canaries_unanswered(sent);
                return Err(End::CanariesUnanswered);
            }
            Err(error) => return Err(error.into()),
        };
        self.aside.answered();
        let (at, now) = (self.shared.now(), Instant::now());
        let mut canaries = Vec::new();
        for described in answered.answer {
            let Some((group, partition)) = ids.get_key_value(&GroupId(described.id)) else { continue };
            let leader_before = partitions.get(partition).map_or((None, None), |one| (one.leader, one.leader_epoch));
            self.due.answered(*partition, described.error, now);
            canaries.push((*partition, group.clone(), described.error, leader_before));
        }
        let mut changed = false;
        self.shared.broker(self.id, |sight| {
            let mut news = sight.canaries_unanswered_since.take().is_some();
            sight.contact.last_answer = Some(at);
            for (partition, group, code, leader_before) in canaries {
                let before = sight.canaries.get(&partition);
                let same = before.filter(|before| before.code == code && before.leader_before == leader_before);
                let same_since = same.map_or(at, |before| before.same_since);
                news |= before.is_none_or(|before| before.code != code);
                changed |= before.is_some_and(|before| before.code != code);
                sight.canaries.insert(partition, Canary { group, at, code, leader_before, same_since });
            }
            // Partitions that the topic does not have (any more).
            sight.canaries.retain(|partition, _| set.ids.contains_key(partition));
            news
        });
        if changed {
            // A shard that came up or went down changes what is listed and who is named.
            self.nudges.leadership.notify_one();
        }
        Ok(())
    }

    fn canaries_unanswered(&self, sent: Timestamp) {
        self.shared.broker(self.id, |sight| {
            let news = sight.canaries_unanswered_since.is_none();
            if news {
                let (cluster, broker, address) = (&self.shared.config.name, self.id, &self.address);
                tracing::warn!(cluster, broker, address, "answers Metadata, but not DescribeGroups");
            }
            sight.canaries_unanswered_since.get_or_insert(sent);
            news
        });
    }
}

fn topic_view(topic: &TopicMetadata) -> OffsetsTopicView {
    let partitions = topic
        .partitions
        .iter()
        .map(|(number, told)| {
            let view = PartitionView {
                leader: told.leader,
                leader_epoch: told.leader_epoch,
                replicas: told.replicas.clone(),
                isr: told.isr.clone(),
                offline_replicas: told.offline_replicas.clone(),
                error: told.error,
            };
            (*number, view)
        })
        .collect();
    OffsetsTopicView { error: topic.error, partitions }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
