//! One transactional id: the verdict on its coordinator, and how its transaction stands.

use serde::{Deserialize, Serialize};
use unstuck_diagnosis::transactional::{TransactionDetail, TransactionalAnswer};
#[cfg(feature = "ssr")]
use {
    super::{Found, Missing, NextStep},
    crate::text::cluster_href,
    unstuck_diagnosis::{GroupId, Published},
};

use super::{Evidence, Masthead};

/// The page of one transactional id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TransactionalModel {
    /// Which cluster, seen when.
    pub(crate) head: Masthead,
    /// The answer. Its findings are in `evidence`.
    pub(crate) answer: TransactionalAnswer,
    /// What to do now.
    pub(crate) next: Option<super::NextStep>,
    /// Findings about transactions.
    pub(crate) evidence: Evidence,
}

/// How the transaction stands, or why that is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TransactionModel {
    /// The coordinator's answer, or a sentence; `None` if the page is about no id.
    pub(crate) answer: Option<Result<TransactionDetail, String>>,
}

#[cfg(feature = "ssr")]
impl TransactionalModel {
    pub(crate) fn of(published: &Published, id: &str) -> Found<Self> {
        if id.is_empty() {
            let cluster = &published.report.cluster;
            return Found::Missing(Missing {
                seqs: Masthead::of(published).seqs(),
                heading: "Which transactional id?".to_owned(),
                sentence: "Paste it into the box above.".to_owned(),
                links: vec![(format!("cluster {cluster}"), cluster_href(cluster))],
                unreadable: false,
            });
        }
        let lookup = published.lookup_transactional(&[GroupId::from(id)]);
        let Some(mut answer) = lookup.results.into_iter().next() else {
            return Self::of(published, "");
        };
        let findings = std::mem::take(&mut answer.findings);
        Found::Here(Self {
            head: Masthead::of(published),
            next: NextStep::among(&findings),
            evidence: Evidence::of(findings.iter(), std::iter::empty()),
            answer,
        })
    }
}
