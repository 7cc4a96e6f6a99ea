//! One broker.

use serde::{Deserialize, Serialize};
use unstuck_diagnosis::BrokerId;
use unstuck_diagnosis::report::{BrokerReport, NamedGroup};
#[cfg(feature = "ssr")]
use {
    super::{Found, GROUPS_CAP, Missing, cluster::cells},
    crate::text::{broker_href, cluster_href},
    unstuck_diagnosis::Published,
};

use super::{Cell, Evidence, Masthead, NextStep, WhatIf};

/// The page of one broker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BrokerModel {
    /// Which cluster, seen when.
    pub(crate) head: Masthead,
    /// The broker.
    pub(crate) report: BrokerReport,
    /// The partitions that it coordinates, or coordinated last.
    pub(crate) cells: Vec<Cell>,
    /// How many of them are not drawn.
    pub(crate) left_out: usize,
    /// Other brokers that hold it for live.
    pub(crate) seen_by: Vec<BrokerId>,
    /// Other brokers that answer and do not hold it for live.
    pub(crate) not_seen_by: Vec<BrokerId>,
    /// What stops with it.
    pub(crate) stops: Option<WhatIf>,
    /// Stuck groups on its partitions, as far as named.
    pub(crate) stuck: Vec<NamedGroup>,
    /// What to do now.
    pub(crate) next: Option<NextStep>,
    /// Findings and gaps.
    pub(crate) evidence: Evidence,
}

#[cfg(feature = "ssr")]
impl BrokerModel {
    pub(crate) fn of(published: &Published, id: &str) -> Found<Self> {
        let report = &published.report;
        let broker = id.parse::<BrokerId>().ok().and_then(|id| report.broker(id));
        let Some(broker) = broker else { return Found::Missing(missing(published, id)) };
        let findings: Vec<_> =
            report.findings.iter().filter(|finding| finding.brokers.contains(&broker.broker)).cloned().collect();
        let others =
            || report.brokers.iter().filter(|other| other.broker != broker.broker && !other.sees_brokers.is_empty());
        let (cells, left_out) = cells(report, &broker.coordinates, &mut 1_000);
        let stuck = report
            .groups
            .stuck
            .iter()
            .filter(|group| group.partition.is_some_and(|partition| broker.coordinates.contains(&partition)));
        Found::Here(Self {
            head: Masthead::of(published),
            cells,
            left_out,
            seen_by: others()
                .filter(|other| other.sees_brokers.contains(&broker.broker))
                .map(|other| other.broker)
                .collect(),
            not_seen_by: others()
                .filter(|other| !other.sees_brokers.contains(&broker.broker))
                .map(|other| other.broker)
                .collect(),
            stuck: stuck.take(GROUPS_CAP).cloned().collect(),
            next: NextStep::among(&findings),
            evidence: Evidence::of(
                findings.iter(),
                report.could_not_observe.iter().filter(|gap| gap.brokers.contains(&broker.broker)),
            ),
            stops: broker.if_it_stops.as_ref().map(WhatIf::of),
            report: BrokerReport { if_it_stops: None, ..broker.clone() },
        })
    }
}

#[cfg(feature = "ssr")]
fn missing(published: &Published, id: &str) -> Missing {
    let report = &published.report;
    let cluster = &report.cluster;
    let mut links: Vec<(String, String)> = report
        .brokers
        .iter()
        .take(200)
        .map(|one| (format!("broker {}", one.broker), broker_href(cluster, one.broker)))
        .collect();
    links.insert(0, (format!("cluster {cluster}"), cluster_href(cluster)));
    Missing {
        seqs: Masthead::of(published).seqs(),
        heading: format!("No broker “{}” was seen", unstuck_diagnosis::visible(id)),
        sentence: if report.brokers.is_empty() {
            "No broker has answered yet, so none is known.".to_owned()
        } else {
            format!("{cluster} has these brokers:")
        },
        links,
        unreadable: false,
    }
}
