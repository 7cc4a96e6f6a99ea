//! The front page: every cluster, worst first.

use serde::{Deserialize, Serialize};
use unstuck_diagnosis::report::Headline;
#[cfg(feature = "ssr")]
use {std::sync::Arc, unstuck_diagnosis::Published};

#[cfg(feature = "ssr")]
use super::DrillState;
use super::{ClusterModel, Masthead, Seqs};

/// How many clusters the front page shows at most.
#[cfg(feature = "ssr")]
const CLUSTERS_CAP: usize = 200;

/// The front page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum OverviewModel {
    /// Only one cluster is configured: its dashboard.
    One(Box<ClusterModel>),
    /// Several, or none.
    Many(Vec<ClusterLine>),
}

/// One cluster on the front page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClusterLine {
    /// Which cluster, seen when.
    pub(crate) head: Masthead,
    /// How it stands.
    pub(crate) headline: Headline,
    /// How many brokers it has, as far as known.
    pub(crate) brokers: usize,
    /// How many groups, as far as known.
    pub(crate) groups: usize,
}

impl OverviewModel {
    /// Which publications the page shows.
    pub(crate) fn seqs(&self) -> Seqs {
        match self {
            Self::One(cluster) => cluster.seqs(),
            Self::Many(lines) => lines.iter().flat_map(|line| line.head.seqs()).collect(),
        }
    }

    #[cfg(feature = "ssr")]
    pub(crate) fn of(clusters: &[Arc<Published>], drill: Option<DrillState>) -> Self {
        if let [only] = clusters {
            return Self::One(Box::new(ClusterModel::of(only, drill)));
        }
        let mut lines: Vec<ClusterLine> = clusters
            .iter()
            .map(|published| ClusterLine {
                head: Masthead::of(published),
                headline: published.report.headline.clone(),
                brokers: published.report.brokers.len(),
                groups: published.report.groups.total,
            })
            .collect();
        lines.sort_by(|a, b| {
            b.headline.status.cmp(&a.headline.status).then_with(|| a.head.cluster.cmp(&b.head.cluster))
        });
        lines.truncate(CLUSTERS_CAP);
        Self::Many(lines)
    }
}
