//! What goes into the store and comes out of it. What the words mean is in `unstuck_diagnosis::history`.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::{
    Event, FindingRecord, Incident, IncidentId, Moment, Note, OpeningId, SeenMembers, Subject,
};
use unstuck_diagnosis::memory::{GoneGroup, SeenGroup};

/// What one look at a cluster changed. Writing the same batch twice is the same as writing it once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// When looking at this cluster began. What the first batch says stays.
    pub watching_since: Timestamp,
    /// The last look that is in the record with this batch.
    pub looked_until: Timestamp,
    /// Everything remembered but the groups: a document that the store does not read. `None`: as before.
    pub memory: Option<Vec<u8>>,
    /// Groups that are new or have changed. A group that had gone is there again with this.
    pub groups: Vec<(GroupId, SeenGroup)>,
    /// Groups that were deleted or have expired: they are not among the groups any more.
    pub gone: Vec<(GroupId, GoneGroup)>,
    /// Who was seen in groups.
    pub members: Vec<(GroupId, SeenMembers)>,
    /// What happened.
    pub events: Vec<Event>,
    /// Findings that opened, got worse or closed; each replaces what was kept under its id.
    pub findings: Vec<FindingRecord>,
    /// Incidents that are new or have changed; each replaces what was kept under its id, but for who acknowledged it.
    pub incidents: Vec<Incident>,
    /// What was seen at moments of incidents; each replaces an earlier one of the same incident and moment.
    pub documents: Vec<Document>,
}

/// What was seen at a moment of an incident. The store does not read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The incident.
    pub incident: IncidentId,
    /// Which moment.
    pub moment: Moment,
    /// When that was.
    pub at: Timestamp,
    /// In which format it is written.
    pub format: u32,
    /// The document.
    pub bytes: Vec<u8>,
}

/// What is known of a cluster from before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// When looking at this cluster began.
    pub watching_since: Timestamp,
    /// The last look that is in the record.
    pub looked_until: Timestamp,
    /// Everything remembered but the groups.
    pub memory: Option<Vec<u8>>,
    /// The groups, ordered by id.
    pub groups: Vec<(GroupId, SeenGroup)>,
    /// Groups that were deleted or have expired, ordered by id.
    pub gone: Vec<(GroupId, GoneGroup)>,
    /// Who was last seen in groups, ordered by id.
    pub members: Vec<(GroupId, SeenMembers)>,
    /// Findings that were open.
    pub open_findings: Vec<FindingRecord>,
    /// Incidents that were not over; imported ones are not among them, as nobody here watches their cluster.
    pub open_incidents: Vec<Incident>,
}

/// Whether this process may record what happens to a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lease {
    /// It may.
    Held {
        /// Until when, by the clock of the database. Reckon with the time at which you asked and the time to live.
        until: Timestamp,
        /// Goes with each batch. It grows with each holder, so that one who was thought dead cannot write any more.
        token: i64,
    },
    /// Another one records.
    HeldBy {
        /// Who.
        holder: String,
        /// Until when, by the clock of the database, unless renewed.
        until: Timestamp,
    },
}

/// Which findings are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingsWanted {
    /// All.
    All,
    /// Those that are open.
    Open,
    /// Those of an incident.
    OfIncident(IncidentId),
    /// Those that concern a partition or a broker, or did at their worst.
    Concerning(Subject),
    /// Those of a rule, by its slug.
    OfSlug(String),
    /// The one with this id.
    WithId(OpeningId),
}

/// Everything that is kept of an incident but its documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentFile {
    /// The incident.
    pub incident: Incident,
    /// Its findings, oldest first.
    pub findings: Vec<FindingRecord>,
    /// What was written about it, oldest first.
    pub notes: Vec<Note>,
    /// Which documents there are, and of when.
    pub moments: Vec<(Moment, Timestamp)>,
    /// What happened between its opening and its end to its partitions, its brokers and the cluster, oldest first.
    pub events: Vec<Event>,
    /// Whether there were more events than [`INCIDENT_EVENTS_CAP`].
    pub events_cut: bool,
}

/// How many events an [`IncidentFile`] has at most: the first ones.
pub const INCIDENT_EVENTS_CAP: u32 = 2_000;

/// How long is kept what is not open and not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Groups that are gone, or remembered without being listed, after they were last listed.
    pub groups: Duration,
    /// Events after they happened; findings and incidents after they were closed.
    pub history: Duration,
}

/// How much was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Groups, gone or remembered only.
    pub groups: u64,
    /// Events.
    pub events: u64,
    /// Findings.
    pub findings: u64,
    /// Incidents, with their notes and documents.
    pub incidents: u64,
}

impl Dropped {
    /// Whether nothing was.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
