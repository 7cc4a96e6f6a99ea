//! The dashboard of one cluster.

use serde::{Deserialize, Serialize};
use unstuck_diagnosis::report::{
    BootstrapReport, BrokerState, DataPartitionsReport, GroupCounts, Headline, OffsetsTopicReport, Status,
};
use unstuck_diagnosis::{BrokerId, PartitionId, Seq};
#[cfg(feature = "ssr")]
use {
    std::collections::BTreeSet,
    unstuck_diagnosis::Published,
    unstuck_diagnosis::report::{BrokerReport, PlacementProof, RackReport, Report},
};

use super::{DRILL, DrillState, Evidence, Masthead, NextStep, Seqs, Stops, WhatIf};

/// How many partitions the map draws at most; what is left out is counted, and is the best-off.
#[cfg(feature = "ssr")]
const CELLS_CAP: usize = 1_000;
/// How many brokers are listed at most.
#[cfg(feature = "ssr")]
const BROKERS_CAP: usize = 100;
/// How many racks are listed at most.
#[cfg(feature = "ssr")]
const RACKS_CAP: usize = 20;
/// How many leaderless data partitions are named at most.
#[cfg(feature = "ssr")]
const DATA_CAP: usize = 20;

/// The dashboard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClusterModel {
    /// Which cluster, seen when.
    pub(crate) head: Masthead,
    /// The largest sentence.
    pub(crate) headline: Headline,
    /// What to do now.
    pub(crate) next: Option<NextStep>,
    /// Partitions of the offsets topic by the broker that leads them.
    pub(crate) map: Vec<MapRow>,
    /// The brokers, by id.
    pub(crate) brokers: Vec<BrokerLine>,
    /// How many brokers there are in all.
    pub(crate) broker_count: usize,
    /// The racks, where there are several.
    pub(crate) racks: Vec<RackLine>,
    /// Groups by status, stuck ones by name.
    pub(crate) groups: GroupCounts,
    /// The offsets topic.
    pub(crate) topic: OffsetsTopicReport,
    /// Whether groups live where the hash says, in a sentence.
    pub(crate) proof: Option<String>,
    /// Partitions of other topics without a leader.
    pub(crate) data: DataPartitionsReport,
    /// Findings and gaps.
    pub(crate) evidence: Evidence,
    /// Where Unstuck looked.
    pub(crate) bootstrap: Vec<BootstrapReport>,
    /// The drill, if the cluster is one.
    pub(crate) drill: Option<DrillState>,
    /// Incidents; `None` if nothing is kept.
    pub(crate) remembered: Option<Remembered>,
}

/// What the dashboard says of incidents, as HTML that the server wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    /// The open ones, with links; empty if there are none.
    pub(crate) line: String,
    /// How to make a link of what is seen, and where the others are.
    pub(crate) card: String,
}

/// The partitions that one broker leads, or led last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MapRow {
    /// The broker; `None` for partitions of which no leader was ever seen.
    pub(crate) broker: Option<BrokerId>,
    /// How the broker stands.
    pub(crate) state: BrokerState,
    /// The same in words.
    pub(crate) sentence: String,
    /// Its partitions, by number.
    pub(crate) cells: Vec<Cell>,
    /// How many partitions are not drawn, all of them working.
    pub(crate) left_out: usize,
    /// Groups on its partitions.
    pub(crate) groups: usize,
    /// How many of them are stuck.
    pub(crate) stuck_groups: usize,
}

/// One partition on the map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cell {
    /// Its number.
    pub(crate) partition: PartitionId,
    /// The verdict on its coordinator.
    pub(crate) status: Status,
    /// The verdict in words.
    pub(crate) sentence: String,
}

/// One broker in the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BrokerLine {
    /// Its id.
    pub(crate) broker: BrokerId,
    /// Where we look for it.
    pub(crate) address: Option<String>,
    /// How it stands.
    pub(crate) state: BrokerState,
    /// The same in words.
    pub(crate) sentence: String,
    /// Its release.
    pub(crate) release: Option<String>,
    /// How many partitions of the offsets topic it coordinates, or coordinated last.
    pub(crate) coordinates: usize,
    /// Groups on them.
    pub(crate) groups: usize,
    /// How many of them are stuck.
    pub(crate) stuck_groups: usize,
    /// How bad it is if it stops now, and the worst of it in words; `None` if it is down, or that is not known.
    pub(crate) if_it_stops: Option<(Stops, String)>,
}

/// One rack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RackLine {
    /// Its name.
    pub(crate) rack: String,
    /// Brokers in it.
    pub(crate) brokers: Vec<BrokerId>,
    /// What stops with it.
    pub(crate) stops: Option<WhatIf>,
}

impl BrokerLine {
    #[cfg(feature = "ssr")]
    fn of(broker: &BrokerReport) -> Self {
        Self {
            broker: broker.broker,
            address: broker.address.clone(),
            state: broker.state,
            sentence: broker.sentence.clone(),
            release: broker.release.clone(),
            coordinates: broker.coordinates.len(),
            groups: broker.group_count,
            stuck_groups: broker.stuck_group_count,
            if_it_stops: broker
                .if_it_stops
                .as_ref()
                .map(|what| (WhatIf::of(what).stops, what.sentences.first().cloned().unwrap_or_default())),
        }
    }
}

#[cfg(feature = "ssr")]
impl RackLine {
    fn of(rack: &RackReport) -> Self {
        Self {
            rack: unstuck_diagnosis::visible(&rack.rack),
            brokers: rack.brokers.clone(),
            stops: rack.if_it_stops.as_ref().map(WhatIf::of),
        }
    }
}

impl ClusterModel {
    /// Which publication of the cluster the page shows, and how far the drill was.
    pub(crate) fn seqs(&self) -> Seqs {
        let mut seqs = self.head.seqs();
        if let Some(drill) = &self.drill {
            seqs.insert(DRILL.to_owned(), Seq { boot: self.head.seq.boot.clone(), n: drill.change });
        }
        seqs
    }

    #[cfg(feature = "ssr")]
    pub(crate) fn of(published: &Published, drill: Option<DrillState>) -> Self {
        let report = &published.report;
        let mut data = report.data_partitions.clone();
        data.named.truncate(DATA_CAP);
        Self {
            head: Masthead::of(published),
            headline: report.headline.clone(),
            next: NextStep::among(&report.findings),
            map: map(report),
            brokers: report.brokers.iter().take(BROKERS_CAP).map(BrokerLine::of).collect(),
            broker_count: report.brokers.len(),
            racks: report.racks.iter().take(RACKS_CAP).map(RackLine::of).collect(),
            groups: report.groups.clone(),
            topic: report.offsets_topic.clone(),
            proof: proof(&report.placement),
            data,
            evidence: Evidence::of(report.findings.iter(), report.could_not_observe.iter()),
            bootstrap: report.bootstrap.iter().take(BROKERS_CAP).cloned().collect(),
            drill: drill.map(DrillState::capped),
            remembered: None,
        }
    }
}

#[cfg(feature = "ssr")]
fn proof(placement: &PlacementProof) -> Option<String> {
    match placement {
        PlacementProof::Certain { partition_count } => {
            Some(format!("Groups live where their hash modulo {partition_count} says: proven."))
        }
        PlacementProof::Drift { sentence, .. }
        | PlacementProof::Foreign { sentence }
        | PlacementProof::Contradicted { sentence }
        | PlacementProof::Unproven { sentence } => Some(sentence.clone()),
        PlacementProof::NoTopic => None,
    }
}

/// Rows by broker, brokers with trouble first.
#[cfg(feature = "ssr")]
fn map(report: &Report) -> Vec<MapRow> {
    let mut left = CELLS_CAP;
    let mut placed = BTreeSet::new();
    let mut rows = Vec::new();
    for broker in report.brokers.iter().filter(|broker| !broker.coordinates.is_empty()) {
        placed.extend(broker.coordinates.iter().copied());
        let (cells, left_out) = cells(report, &broker.coordinates, &mut left);
        rows.push(MapRow {
            broker: Some(broker.broker),
            state: broker.state,
            sentence: broker.sentence.clone(),
            cells,
            left_out,
            groups: broker.group_count,
            stuck_groups: broker.stuck_group_count,
        });
    }
    rows.sort_by_key(|row| {
        let worst = row.cells.iter().map(|cell| cell.status).max().unwrap_or_default();
        (std::cmp::Reverse(worst == Status::Stuck), row.broker)
    });
    let orphans: Vec<PartitionId> = report
        .partitions
        .iter()
        .map(|partition| partition.partition)
        .filter(|partition| !placed.contains(partition))
        .collect();
    if !orphans.is_empty() {
        let groups = report.partitions.iter().filter(|one| !placed.contains(&one.partition));
        let (total, stuck) = groups.fold((0, 0), |(total, stuck), one| {
            (total + one.group_count, stuck + if one.status == Status::Stuck { one.group_count } else { 0 })
        });
        let (cells, left_out) = cells(report, &orphans, &mut left);
        let row = MapRow {
            broker: None,
            state: BrokerState::NotTried,
            sentence: "no leader was seen".to_owned(),
            cells,
            left_out,
            groups: total,
            stuck_groups: stuck,
        };
        rows.insert(0, row);
    }
    rows
}

/// Draws partitions while there is room; where there is not, those that work are left out first.
#[cfg(feature = "ssr")]
pub(super) fn cells(report: &Report, partitions: &[PartitionId], left: &mut usize) -> (Vec<Cell>, usize) {
    let mut cells: Vec<Cell> = partitions
        .iter()
        .filter_map(|&partition| report.partition(partition))
        .map(|one| Cell { partition: one.partition, status: one.status, sentence: one.sentence.clone() })
        .collect();
    let total = cells.len();
    if total > *left {
        cells.sort_by_key(|cell| std::cmp::Reverse(cell.status));
        cells.truncate(*left);
        cells.sort_by_key(|cell| cell.partition);
    }
    *left -= cells.len();
    let left_out = total - cells.len();
    (cells, left_out)
}
