//! One partition of the offsets topic.

use serde::{Deserialize, Serialize};
use unstuck_diagnosis::report::{NamedGroup, PartitionReport};
#[cfg(feature = "ssr")]
use {
    super::{Found, Missing, groups_on},
    crate::text::{cluster_href, partition_href},
    unstuck_diagnosis::{PartitionId, Published},
};

use super::{Evidence, Masthead, NextStep};

/// The page of one partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartitionModel {
    /// Which cluster, seen when.
    pub(crate) head: Masthead,
    /// The partition.
    pub(crate) report: PartitionReport,
    /// The effective `min.insync.replicas`.
    pub(crate) min_insync_replicas: Option<usize>,
    /// What to do now.
    pub(crate) next: Option<NextStep>,
    /// How many groups were seen on it.
    pub(crate) group_count: usize,
    /// The first of them.
    pub(crate) groups: Vec<NamedGroup>,
    /// Findings and gaps.
    pub(crate) evidence: Evidence,
}

#[cfg(feature = "ssr")]
impl PartitionModel {
    pub(crate) fn of(published: &Published, number: &str) -> Found<Self> {
        let report = &published.report;
        let partition = number.parse::<PartitionId>().ok().and_then(|number| report.partition(number));
        let Some(partition) = partition else { return Found::Missing(missing(published, number)) };
        let findings: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.partitions.contains(&partition.partition))
            .cloned()
            .collect();
        let (group_count, groups) = groups_on(published, partition.partition, partition.status);
        Found::Here(Self {
            head: Masthead::of(published),
            report: partition.clone(),
            min_insync_replicas: report.offsets_topic.min_insync_replicas,
            next: NextStep::among(&findings),
            group_count: group_count.max(partition.group_count),
            groups,
            evidence: Evidence::of(findings.iter(), report.could_not_observe.iter()),
        })
    }
}

#[cfg(feature = "ssr")]
fn missing(published: &Published, number: &str) -> Missing {
    let report = &published.report;
    let cluster = &report.cluster;
    let sentence = match (report.partitions.first(), report.partitions.last()) {
        (Some(first), Some(last)) => {
            format!("__consumer_offsets of {cluster} has partitions {} to {}.", first.partition, last.partition)
        }
        _ => report.offsets_topic.sentence.clone(),
    };
    let mut links: Vec<(String, String)> = report
        .partitions
        .iter()
        .take(200)
        .map(|one| (format!("partition {}", one.partition), partition_href(cluster, one.partition)))
        .collect();
    links.insert(0, (format!("cluster {cluster}"), cluster_href(cluster)));
    Missing {
        seqs: Masthead::of(published).seqs(),
        heading: format!("There is no partition “{}”", unstuck_diagnosis::visible(number)),
        sentence,
        links,
        unreadable: false,
    }
}
