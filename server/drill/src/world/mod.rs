//! The cluster as a pure state machine: no sockets, no clock, no randomness. Time is what [`World::advance`] is told.
//!
//! The *truth* is what the controller holds ([`World::topics`], who is registered). Each broker has its own *image* of
//! it, published by the controller as long as it hears of the broker; requests are answered from the image of the
//! broker that is asked. Sources of the behaviour are named where it is imitated.

mod apply;
mod begin;
mod configs;
mod controller;
mod coordinator;
mod faults;
mod for_admin;
mod for_answers;
mod for_checks;
mod groups;
mod image;
mod isr;
mod membership;
mod node;
mod reassign;
mod rebalances;
mod status;
mod timeline;
mod topic;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use self::configs::broker_synonym;
pub use self::controller::ElectionOutcome;
pub(crate) use self::coordinator::new_coordinator;
pub use self::coordinator::{Shard, ShardState};
pub use self::faults::{Met, Reachable};
pub use self::for_admin::{Commits, Refusal, Rule};
pub use self::groups::{GroupState, MemberState, OffsetsLog};
pub use self::image::{Endpoint, Image};
use self::membership::Membership;
pub use self::membership::{Asking, JoinOutcome, Joined, Joining, SyncOutcome, Syncing};
pub use self::node::Node;
pub use self::reassign::ReassignmentError;
pub(crate) use self::reassign::id_of;
pub use self::status::{NodeStatus, Status, StepState, StepStatus};
use self::timeline::Timeline;
pub use self::topic::{Partition, Topic};
use crate::scenario::Scenario;
use crate::scenario::action::Fault;
use crate::scenario::model::{Acl, Implementation, Mode, Rebalances, Release};

/// The topic that holds groups and their committed offsets.
pub const OFFSETS_TOPIC: &str = unstuck_diagnosis::OFFSETS_TOPIC;

/// A cluster, and the time in it.
#[derive(Clone, Debug)]
pub struct World {
    name: String,
    scenario: Arc<Scenario>,
    now: Duration,
    cluster_id: String,
    nodes: BTreeMap<i32, Node>,
    /// The active controller; `None` while there is none.
    controller: Option<i32>,
    /// While there is none: who was it, and until when nobody takes over.
    vacancy: Option<Vacancy>,
    /// Goes up with each new controller.
    controller_epoch: i32,
    /// ZooKeeper: nobody becomes controller.
    no_controller: bool,
    topics: BTreeMap<String, Arc<Topic>>,
    image: Arc<Image>,
    /// What partitions of the offsets topic hold, as far as it is replicated.
    logs: BTreeMap<i32, OffsetsLog>,
    /// Groups with members that are really connected.
    memberships: BTreeMap<String, Membership>,
    /// Groups that rebalance again and again.
    restless: BTreeMap<String, Rebalances>,
    /// Whether a timer looks after them.
    members_watched: bool,
    faults: Vec<Fault>,
    acl: Acl,
    timers: BTreeMap<(Duration, u64), Timer>,
    timers_set: u64,
    timeline: Timeline,
    /// Goes up with each change that an answer could show.
    version: u64,
    /// Goes up with each question whose answer Kafka draws by lot.
    lot: u64,
}

/// A controller that is not heard of, until somebody takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Vacancy {
    /// Who it was.
    node: i32,
    /// Since when (scenario time).
    since: Duration,
    /// Before then nobody takes over.
    until: Duration,
    /// Its process is gone, so it does not go on as controller even if it is back in time.
    died: bool,
}

/// What happens by itself after a time.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Timer {
    /// A node has not been heard from for the session time-out; the number tells which silence is meant.
    SessionEnds { node: i32, silence: u64 },
    /// A broker that started, or is heard from again, registers.
    Registers { node: i32, silence: u64 },
    /// A new controller takes over.
    NewController,
    /// Followers have caught up with their leaders.
    CaughtUp,
    /// The controller gives leadership back to preferred replicas (`auto.leader.rebalance.enable`).
    Rebalance,
    /// The offsets topic that somebody's first request asked for comes into being, with the settings of this broker.
    OffsetsTopicCreated { by: i32 },
    /// A coordinator has loaded; nothing to do but to tell that something changed.
    Loaded,
    /// Members of groups that were not heard of for their session time-out are taken out.
    Members,
    /// A restless group begins a rebalance, or has done with it.
    Rebalances { group: String, begins: bool },
    /// The step with this number is due.
    Step(usize),
}

/// How long a broker takes from its start, or from being heard of again, to its registration.
const REGISTRATION: Duration = Duration::from_millis(800);
/// How long followers take to catch up.
const CATCH_UP: Duration = Duration::from_secs(2);
/// How long a KRaft quorum takes to have a new leader (`controller.quorum.fetch.timeout.ms` 2000).
const QUORUM_ELECTION: Duration = Duration::from_secs(2);
/// How often leadership is given back to preferred replicas (`leader.imbalance.check.interval.seconds` 300).
const REBALANCE_EVERY: Duration = Duration::from_secs(300);
/// How long the offsets topic takes to come into being (seen: 2–3 s).
const TOPIC_CREATION: Duration = Duration::from_secs(2);

impl World {
    /// The scenario's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The scenario that is played.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Scenario time: how long since the beginning.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// A number that is another one whenever an answer could be another one.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The cluster's id.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// Where cluster metadata live.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.scenario.cluster.mode
    }

    /// Who implements it.
    #[must_use]
    pub fn implementation(&self) -> Implementation {
        self.scenario.cluster.implementation
    }

    /// The release that the cluster runs.
    #[must_use]
    pub fn release(&self) -> Release {
        self.scenario.cluster.release
    }

    /// All nodes, brokers and controllers, by id.
    #[must_use]
    pub fn nodes(&self) -> &BTreeMap<i32, Node> {
        &self.nodes
    }

    /// The brokers.
    pub fn brokers(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values().filter(|node| node.is_broker)
    }

    /// A node; `None` if there is none with this id.
    #[must_use]
    pub fn node(&self, id: i32) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// Topics as the controller holds them.
    #[must_use]
    pub fn topics(&self) -> &BTreeMap<String, Arc<Topic>> {
        &self.topics
    }

    /// The active controller.
    #[must_use]
    pub fn controller(&self) -> Option<i32> {
        self.controller
    }

    /// What the account that looks may not see.
    #[must_use]
    pub fn acl(&self) -> &Acl {
        &self.acl
    }

    /// A number by lot, which is another one each time, and the same in each run.
    pub fn lot(&mut self) -> u64 {
        self.lot += 1;
        self.lot
    }

    /// When something happens by itself the next time.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.timers.keys().next().map(|(due, _)| *due)
    }

    /// Lets time pass until `to`, and everything happen that is due until then, each at its own time.
    pub fn advance(&mut self, to: Duration) {
        while let Some(entry) = self.timers.first_entry() {
            let (due, _) = *entry.key();
            if due > to {
                break;
            }
            let timer = entry.remove();
            self.now = self.now.max(due);
            self.happen(timer);
        }
        self.now = self.now.max(to);
    }

    fn happen(&mut self, timer: Timer) {
        match timer {
            Timer::SessionEnds { node, silence } => self.session_ends(node, silence),
            Timer::Registers { node, silence } => self.registers(node, silence),
            Timer::NewController => self.new_controller(),
            Timer::CaughtUp => self.caught_up(),
            Timer::Rebalance => self.rebalance(),
            Timer::OffsetsTopicCreated { by } => self.create_offsets_topic(by),
            Timer::Loaded => self.changed(),
            Timer::Members => self.watch_members(),
            Timer::Rebalances { group, begins } => self.group_rebalances(&group, begins),
            Timer::Step(number) => self.step_due(number),
        }
    }

    fn after(&mut self, delay: Duration, timer: Timer) {
        self.timers_set += 1;
        self.timers.insert((self.now + delay, self.timers_set), timer);
    }

    fn changed(&mut self) {
        self.version += 1;
    }

    fn topic_mut(&mut self, name: &str) -> Option<&mut Topic> {
        self.topics.get_mut(name).map(Arc::make_mut)
    }
}
