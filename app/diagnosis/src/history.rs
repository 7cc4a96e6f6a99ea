//! What happened, over restarts: the words in which it is kept. What is *known* is [`Memory`](crate::memory::Memory).
//!
//! These types are written to a store and read again by later versions: add fields with `#[serde(default)]`, and never
//! give a name another meaning.

mod book;
mod chronicle;
mod frozen;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Severity};
use crate::report::{BrokerState, Status};
use crate::{BrokerId, GroupId, PartitionId};

pub use book::{Book, Changes, SETTLING_MS};
pub use chronicle::Chronicle;
pub use frozen::{FORMAT, Frozen};

/// When something began, as exactly as looking can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// The first observation that it is so.
    pub at: Timestamp,
    /// The last observation that it was not so; `None` if there is none, since looking had just begun.
    #[serde(default)]
    pub after: Option<Timestamp>,
}

/// What something happened to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The cluster as a whole.
    Cluster,
    /// A partition of the offsets topic.
    Partition(PartitionId),
    /// A broker.
    Broker(BrokerId),
    /// A group.
    Group(GroupId),
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When it was seen.
    pub since: Since,
    /// To what.
    pub subject: Subject,
    /// What.
    pub what: Happened,
}

/// What happened. Each says how it is from then on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Happened {
    /// Unstuck began to look, or looked again after a pause from `since.after` on.
    LookingBegan,
    /// A partition has another leader, leader epoch or ISR.
    Leadership {
        /// The leader; `None`: it has none.
        leader: Option<BrokerId>,
        /// Its epoch, where told.
        leader_epoch: Option<i32>,
        /// The in-sync replicas.
        isr: Vec<BrokerId>,
    },
    /// A partition, or the cluster as a whole, has another verdict.
    Verdict {
        /// The verdict.
        status: Status,
        /// In words.
        sentence: String,
    },
    /// The offsets topic has another number of partitions.
    PartitionCount {
        /// How many.
        count: i32,
    },
    /// A broker stands differently.
    Broker {
        /// How it stands.
        state: BrokerState,
        /// Where, `host:port`.
        address: Option<String>,
        /// In words.
        sentence: String,
    },
    /// Groups of a partition that were listed are not any more, and have not been deleted: the partition stands still.
    GroupsVanished {
        /// How many.
        count: usize,
    },
    /// Its coordinator answers and does not know it any more: it was deleted, or has expired.
    GroupDeleted,
}

/// A broker that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenBroker {
    /// Where it was last, `host:port`.
    pub address: Option<String>,
    /// Its rack.
    pub rack: Option<String>,
    /// When it was first seen.
    pub first_seen: Timestamp,
    /// When it last answered, or was listed as live.
    pub last_seen: Timestamp,
}

/// Who was in a group when its members were last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SeenMembers {
    /// When.
    pub at: Timestamp,
    /// How many there were.
    pub count: usize,
    /// Their client ids and hosts, each pair once, the first [`MEMBERS_CAP`].
    pub clients: Vec<(String, String)>,
}

/// How many pairs of client id and host are kept of one group.
pub const MEMBERS_CAP: usize = 20;

/// Which opening of a finding this is: unguessable, as it may be part of a link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpeningId(pub String);

/// One time that a finding was open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingRecord {
    /// Which.
    pub id: OpeningId,
    /// The finding's slug.
    pub slug: String,
    /// Since when.
    pub opened: Since,
    /// When it was seen to be closed.
    pub closed: Option<Since>,
    /// The finding as it was when it opened.
    pub at_opening: Finding,
    /// As it was at its worst: more severe, or more partitions and brokers concerned.
    pub at_worst: Finding,
    /// When that was.
    pub worst_at: Timestamp,
    /// As it was last, kept when it closes.
    pub last: Option<Finding>,
    /// The incident that it belongs to.
    pub incident: Option<IncidentId>,
}

/// The name of an incident: unguessable, as whoever has it may read what was seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IncidentId(pub String);

/// Who opened an incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenedBy {
    /// Unstuck, because of a severe finding.
    Unstuck,
    /// Somebody who made a link of what was seen; with a name, if one was typed.
    Person(Option<String>),
    /// It was taken over from another Unstuck.
    Import,
}

/// Who said that they look after an incident, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// The name as typed, or from the proxy.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// An outage, from its first severe finding until all of its findings have been closed for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Its name.
    pub id: IncidentId,
    /// The cluster's name in the configuration.
    pub cluster: String,
    /// Since when.
    pub opened: Since,
    /// When the last of its findings was seen to be closed. It may still be open again until it has settled.
    pub calm_since: Option<Timestamp>,
    /// When it was over, which is told once it has been calm for a settling time.
    pub closed: Option<Timestamp>,
    /// Who opened it.
    pub by: OpenedBy,
    /// The worst news in one sentence, as of its worst moment.
    pub title: String,
    /// How bad it was at its worst.
    pub severity: Severity,
    /// How many groups stood still at its worst, as far as known.
    pub stuck_groups: usize,
    /// Slugs of its findings, the first causes first.
    pub slugs: Vec<String>,
    /// Partitions that any of its findings concerned.
    pub partitions: Vec<PartitionId>,
    /// Brokers that any of its findings concerned.
    pub brokers: Vec<BrokerId>,
    /// Who looks after it.
    pub acknowledged: Option<Acknowledged>,
}

/// What somebody wrote about an incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Counts the notes of one incident, from 1.
    pub number: u32,
    /// When.
    pub at: Timestamp,
    /// The name as typed, or from the proxy.
    pub by: String,
    /// Markdown, as typed.
    pub text: String,
}

/// A moment of an incident that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// When it opened.
    Opening,
    /// When most groups stood still, or its findings were most severe.
    Worst,
    /// When it was over.
    Closing,
}

impl Moment {
    /// All of them; the one that is shown first unless another is asked for stands first.
    pub const ALL: [Self; 3] = [Self::Worst, Self::Opening, Self::Closing];

    /// The word in links and in the store.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Worst => "worst",
            Self::Closing => "closing",
        }
    }
}
