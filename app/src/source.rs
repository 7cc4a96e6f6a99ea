//! Where the pages get what they show: the server gives them an `Arc<dyn Source>` as context.

use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use unstuck_diagnosis::history::{Event, FindingRecord, Frozen, Incident, Moment, Note, Subject};
use unstuck_diagnosis::lookup::GroupDetail;
use unstuck_diagnosis::transactional::TransactionDetail;
use unstuck_diagnosis::{GroupId, Published};

use crate::model::DrillState;

/// A future that a [`Source`] answers with; the same type as `futures::future::BoxFuture`.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the pages read. Everything but history, incidents, [`group_detail`](Self::group_detail)
/// and [`transaction_detail`](Self::transaction_detail) answers from what was published already.
pub trait Source: Send + Sync + 'static {
    /// The newest published value of every configured cluster, by cluster name.
    fn clusters(&self) -> Vec<Arc<Published>>;

    /// The newest published value of one cluster; `None` if it is not configured.
    fn published(&self, cluster: &str) -> Option<Arc<Published>>;

    /// Why a cluster that was looked at is not any more, as a sentence; `None` if it never was, or still is.
    fn no_longer(&self, _cluster: &str) -> Option<String> {
        None
    }

    /// How the drill is going, if what is looked at is one; then it is the only cluster.
    fn drill(&self) -> Option<DrillState>;

    /// The group whose [`GroupId::digest`] this is, if it was seen or asked for: ids too long for a URL.
    fn group_by_digest(&self, cluster: &str, digest: &str) -> Option<GroupId>;

    /// Asks a group's coordinator about its members and committed offsets. Has a deadline of its own;
    /// the error is a sentence for people.
    fn group_detail(&self, cluster: &str, group: &GroupId) -> Answer<'_, Result<GroupDetail, String>>;

    /// Asks the coordinator of a transactional id how its transaction stands. The same terms.
    fn transaction_detail(&self, cluster: &str, id: &GroupId) -> Answer<'_, Result<TransactionDetail, String>>;

    /// Whether anything is kept that outlives a restart: history and incidents.
    fn keeps(&self) -> bool;

    /// Why what is seen of a cluster is not being remembered, and since when, as a sentence; `None` if all is well.
    fn not_remembered(&self, cluster: &str) -> Option<String>;

    /// What happened to one of these subjects of a cluster, newest first, before a time. The error is a sentence for
    /// people.
    fn history(
        &self,
        cluster: &str,
        subjects: &[Subject],
        before: Option<Timestamp>,
    ) -> Answer<'_, Result<History, String>>;

    /// Incidents of one cluster or of all: the open ones first, then the newest, before a time.
    fn incidents(&self, cluster: Option<&str>, before: Option<Timestamp>) -> Answer<'_, Result<Vec<Incident>, String>>;

    /// Everything about an incident; `None` if there is none of that id. Shown is the moment that was asked for, or its
    /// worst.
    fn incident(&self, id: &str, moment: Option<Moment>) -> Answer<'_, Result<Option<IncidentView>, String>>;
}

/// Who looks at a page: the server may give this as context. Without it, it is somebody who need not say who they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visitor {
    /// As whom they are logged in; notes carry this name.
    pub name: Option<String>,
    /// Whether they may only read: what they could not send has no form.
    pub only_reads: bool,
}

impl Visitor {
    /// Who looks at the page that is being made.
    pub(crate) fn here() -> Self {
        leptos::prelude::use_context().unwrap_or_default()
    }
}

/// What happened to something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// What happened, newest first.
    pub events: Vec<Event>,
    /// Findings that concern it, newest first.
    pub findings: Vec<FindingRecord>,
    /// Whether there is more before the oldest event.
    pub more: bool,
    /// Before which time history was dropped, as it was kept long enough.
    pub dropped_until: Option<Timestamp>,
}

/// An incident, then and now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentView {
    /// The incident.
    pub incident: Incident,
    /// Its findings, oldest first.
    pub findings: Vec<FindingRecord>,
    /// What people wrote about it, oldest first.
    pub notes: Vec<Note>,
    /// What happened while it was open, oldest first.
    pub events: Vec<Event>,
    /// Whether there were more events.
    pub events_cut: bool,
    /// Which moments are kept, and of when.
    pub moments: Vec<(Moment, Timestamp)>,
    /// The moment that is shown; `None` if none is kept, or it cannot be read.
    pub then: Option<(Moment, Frozen)>,
    /// Why the moment cannot be shown, if it cannot be read.
    pub unreadable: Option<String>,
    /// The cluster now.
    pub now: Now,
}

/// How the cluster of an incident stands now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// As seen last.
    Seen(Arc<Published>),
    /// Another cluster has the incident's name here, as their cluster ids tell.
    AnotherCluster,
    /// No cluster of its name is looked at here.
    NotLookedAt,
}

impl Now {
    /// What was seen last, if the cluster is looked at.
    #[must_use]
    pub fn seen(&self) -> Option<&Published> {
        match self {
            Self::Seen(published) => Some(published),
            Self::AnotherCluster | Self::NotLookedAt => None,
        }
    }
}
