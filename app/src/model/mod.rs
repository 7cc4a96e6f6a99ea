//! What each page shows, as plain data: made on the server from one published value, capped, sent once.

mod broker;
mod cluster;
mod drill;
mod group;
mod overview;
mod partition;
mod transactional;
mod what_if;
mod written;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use unstuck_diagnosis::Seq;
use unstuck_diagnosis::report::{Avoid, CouldNotObserve, Finding, Remedy, Severity, Status};
#[cfg(feature = "ssr")]
use unstuck_diagnosis::{GroupId, PartitionId, Published, report::NamedGroup};

pub(crate) use broker::BrokerModel;
#[cfg(feature = "ssr")]
pub(crate) use cluster::Remembered;
pub(crate) use cluster::{BrokerLine, Cell, ClusterModel, MapRow, RackLine};
pub use drill::{DrillNode, DrillNodeState, DrillState, DrillStep, DrillWhen};
pub(crate) use group::{DetailsModel, GroupKey, GroupModel, Inside, Link, LinkState};
#[cfg(feature = "ssr")]
pub(crate) use group::{nobody_to_ask, unknown_group};
pub(crate) use overview::{ClusterLine, OverviewModel};
pub(crate) use partition::PartitionModel;
pub(crate) use transactional::{TransactionModel, TransactionalModel};
pub(crate) use what_if::{Stops, WhatIf};
pub(crate) use written::Written;

/// How many findings a page shows at most.
#[cfg(feature = "ssr")]
const FINDINGS_CAP: usize = 20;
/// How many things that could not be looked at a page names at most.
#[cfg(feature = "ssr")]
const COULD_NOT_CAP: usize = 40;
/// How many groups a partition page names at most.
#[cfg(feature = "ssr")]
const GROUPS_CAP: usize = 100;

/// Which publication of which cluster a page shows.
pub(crate) type Seqs = BTreeMap<String, Seq>;

/// Under which name [`Seqs`] count what happens in a drill. No cluster can be called so.
pub(crate) const DRILL: &str = "the drill";

/// A page's model, or what to say when there is no such thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Found<T> {
    /// It is there.
    Here(T),
    /// It is not.
    Missing(Missing),
}

/// A page about something that is not there. Sent with HTTP status 404.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Missing {
    /// What the page would update with.
    pub(crate) seqs: Seqs,
    /// The largest sentence.
    pub(crate) heading: String,
    /// What to do instead.
    pub(crate) sentence: String,
    /// What exists: label and address.
    pub(crate) links: Vec<(String, String)>,
    /// It may be there, but cannot be read now. Sent with HTTP status 503.
    pub(crate) unreadable: bool,
}

/// What every page about one cluster knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Masthead {
    /// The cluster's name in the configuration.
    pub(crate) cluster: String,
    /// Kafka's cluster id.
    pub(crate) cluster_id: Option<String>,
    /// When the facts were put together.
    pub(crate) observed_at: Timestamp,
    /// Since when this run has been looking.
    pub(crate) watching_since: Timestamp,
    /// Which publication this is.
    pub(crate) seq: Seq,
    /// How the cluster stands.
    pub(crate) status: Status,
    /// Why what is seen is not being remembered, and since when; `None` if all is well.
    pub(crate) not_remembered: Option<String>,
}

impl Masthead {
    /// What the page of this cluster shows.
    pub(crate) fn seqs(&self) -> Seqs {
        BTreeMap::from([(self.cluster.clone(), self.seq.clone())])
    }

    #[cfg(feature = "ssr")]
    pub(crate) fn of(published: &Published) -> Self {
        let report = &published.report;
        Self {
            cluster: report.cluster.clone(),
            cluster_id: report.cluster_id.clone(),
            observed_at: report.observed_at,
            watching_since: report.watching_since,
            seq: published.seq.clone(),
            status: report.headline.status,
            not_remembered: None,
        }
    }
}

/// A page about one cluster, whose head is completed by what only the source knows.
#[cfg(feature = "ssr")]
pub(crate) trait AboutCluster {
    /// The head; `None` if the page has none.
    fn head_mut(&mut self) -> Option<&mut Masthead>;
}

#[cfg(feature = "ssr")]
macro_rules! about_cluster {
    ($($model:ty),*) => {$(
        impl AboutCluster for $model {
            fn head_mut(&mut self) -> Option<&mut Masthead> {
                Some(&mut self.head)
            }
        }
    )*};
}

#[cfg(feature = "ssr")]
about_cluster!(BrokerModel, ClusterModel, GroupModel, PartitionModel, TransactionalModel);

/// What to do now: the first remedy of the worst finding that has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NextStep {
    /// How bad the finding behind it is.
    pub(crate) severity: Severity,
    /// That finding's slug.
    pub(crate) slug: String,
    /// The remedy.
    pub(crate) remedy: Remedy,
    /// The other ways out, in order of safety.
    pub(crate) others: Vec<Remedy>,
    /// What not to do.
    pub(crate) avoid: Vec<Avoid>,
}

impl NextStep {
    /// The next step among findings that are sorted worst first.
    #[cfg(feature = "ssr")]
    pub(crate) fn among(findings: &[Finding]) -> Option<Self> {
        findings.iter().find_map(|finding| {
            let (remedy, others) = finding.remedies.split_first()?;
            Some(Self {
                severity: finding.severity,
                slug: finding.slug.clone(),
                remedy: remedy.clone(),
                others: others.to_vec(),
                avoid: finding.avoid.clone(),
            })
        })
    }
}

/// A finding, and those that merely follow from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// The cause.
    pub(crate) finding: Finding,
    /// Its consequences.
    pub(crate) follows: Vec<Finding>,
}

/// Puts each consequence below its cause. One whose cause is not among them stands for itself.
#[cfg(feature = "ssr")]
fn told(findings: Vec<Finding>) -> Vec<Told> {
    let cause_of = |finding: &Finding| {
        let slug = finding.follows_from.as_ref()?;
        findings
            .iter()
            .filter(|cause| cause.slug == *slug)
            .max_by_key(|cause| finding.brokers.iter().filter(|broker| cause.brokers.contains(broker)).count())
    };
    // Up to the cause of causes; the bound is for findings that name each other.
    let root_of = |finding: &Finding| {
        let mut root = finding.clone();
        for _ in 0..findings.len() {
            match cause_of(&root) {
                Some(cause) => root = cause.clone(),
                None => return Some(root).filter(|root| root != finding),
            }
        }
        None
    };
    let roots: Vec<Option<Finding>> = findings.iter().map(root_of).collect();
    let mut told: Vec<Told> = Vec::new();
    for (finding, _) in findings.iter().zip(&roots).filter(|(_, root)| root.is_none()) {
        let follows = findings.iter().zip(&roots).filter(|(_, root)| root.as_ref() == Some(finding));
        told.push(Told { finding: finding.clone(), follows: follows.map(|(one, _)| one.clone()).collect() });
    }
    told
}

/// Findings and gaps, capped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    /// The findings, worst first, with what follows from them.
    pub(crate) findings: Vec<Told>,
    /// How many findings there are in all.
    pub(crate) finding_count: usize,
    /// What could not be looked at.
    pub(crate) could_not: Vec<CouldNotObserve>,
    /// How many such things there are in all.
    pub(crate) could_not_count: usize,
}

impl Evidence {
    #[cfg(feature = "ssr")]
    pub(crate) fn of<'a>(
        findings: impl Iterator<Item = &'a Finding>,
        could_not: impl Iterator<Item = &'a CouldNotObserve>,
    ) -> Self {
        let mut all: Vec<&Finding> = findings.collect();
        let gaps: Vec<&CouldNotObserve> = could_not.collect();
        let (finding_count, could_not_count) = (all.len(), gaps.len());
        all.truncate(FINDINGS_CAP);
        Self {
            // The list of partitions is not shown, and may be long.
            findings: told(
                all.into_iter().map(|finding| Finding { partitions: Vec::new(), ..finding.clone() }).collect(),
            ),
            finding_count,
            could_not: gaps.into_iter().take(COULD_NOT_CAP).cloned().collect(),
            could_not_count,
        }
    }
}

/// A cluster that is not configured, or no longer.
#[cfg(feature = "ssr")]
pub(crate) fn no_cluster<T>(cluster: &str, source: &dyn crate::Source) -> Found<T> {
    let all = source.clusters();
    let sentence = if all.is_empty() { "No cluster is configured." } else { "Unstuck looks at these clusters:" };
    let name = unstuck_diagnosis::visible(cluster);
    let (heading, sentence) = match source.no_longer(cluster) {
        Some(ended) => (format!("“{name}” is no longer looked at"), format!("{ended} {sentence}")),
        None => (format!("There is no cluster named “{name}” here"), sentence.to_owned()),
    };
    Found::Missing(Missing {
        seqs: Seqs::new(),
        heading,
        sentence,
        links: all
            .iter()
            .map(|published| {
                let name = &published.report.cluster;
                (name.clone(), crate::text::cluster_href(name))
            })
            .collect(),
        unreadable: false,
    })
}

/// Groups that were seen on a partition: how many, and the first of them.
#[cfg(feature = "ssr")]
fn groups_on(published: &Published, partition: PartitionId, status: Status) -> (usize, Vec<NamedGroup>) {
    let seen = &published.memory.groups;
    let Some(ids) = seen.by_partition.get(&partition) else { return (0, Vec::new()) };
    let named = |id: &GroupId| {
        let group = seen.by_id.get(id)?;
        Some(NamedGroup {
            group: id.clone(),
            partition: Some(partition),
            status,
            group_type: group.group_type.clone(),
            protocol_type: group.protocol_type.clone(),
            state: group.state.clone(),
            last_seen: group.last_seen,
            listed_now: !group.listed_by.is_empty(),
        })
    };
    (ids.len(), ids.iter().filter_map(named).take(GROUPS_CAP).collect())
}
