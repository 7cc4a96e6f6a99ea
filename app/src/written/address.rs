//! What the addresses of written pages mean: read on the server alone, so that the script need not know them.

use crate::model::GroupKey;
use crate::text::{path_segment, query_value};

/// Which page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WrittenKey {
    /// The chapter of this slug; all findings if it is empty.
    Handbook(String),
    /// A plan for the offsets topic of a cluster, as its address names it.
    Plan {
        /// The cluster.
        cluster: String,
        /// The word.
        plan: String,
        /// The broker that it is about, if any.
        broker: Option<String>,
    },
    /// An incident, then and now.
    Incident {
        /// Its name.
        id: String,
        /// The word for the moment to show.
        moment: Option<String>,
    },
    /// The incidents of a cluster, or of all.
    Incidents {
        /// The cluster.
        cluster: Option<String>,
        /// Only those before this time, in milliseconds.
        before: Option<String>,
    },
    /// What happened to something.
    History {
        /// The cluster.
        cluster: String,
        /// To what.
        about: About,
        /// Only what happened before this time, in milliseconds.
        before: Option<String>,
    },
}

/// What history is about, as an address names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// The cluster as a whole.
    Cluster,
    /// A partition of the offsets topic.
    Partition(String),
    /// A broker.
    Broker(String),
    /// A group.
    Group(GroupKey),
}

impl WrittenKey {
    /// The page at an address, path and query as the browser has them; `None` if it is none of these.
    pub(crate) fn at(address: &str) -> Option<Self> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let (segments, value) = (segments(path), |key: &str| query_value(query, key));
        let words: Vec<&str> = segments.iter().map(String::as_str).collect();
        Some(match words[..] {
            ["docs", "findings"] => Self::Handbook(String::new()),
            ["docs", "findings", slug] => Self::Handbook(slug.to_owned()),
            ["c", cluster, "plans", plan] => {
                Self::Plan { cluster: cluster.to_owned(), plan: plan.to_owned(), broker: value("broker") }
            }
            ["i", id] => Self::Incident { id: id.to_owned(), moment: value("moment") },
            ["incidents"] => Self::Incidents { cluster: None, before: value("before") },
            ["c", cluster, "incidents"] => {
                Self::Incidents { cluster: Some(cluster.to_owned()), before: value("before") }
            }
            ["c", cluster, "history"] => {
                let about = About::in_query(query);
                Self::History { cluster: cluster.to_owned(), about, before: value("before") }
            }
            _ => return None,
        })
    }
}

impl About {
    /// What a live page is about, and of which cluster.
    pub(crate) fn at(address: &str) -> Option<(String, Self)> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let segments = segments(path);
        let words: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (cluster, about) = match words[..] {
            ["c", cluster, "g"] => match Self::in_query(query) {
                group @ Self::Group(_) => (cluster, group),
                _ => return None,
            },
            ["c", cluster, "p", partition] => (cluster, Self::Partition(partition.to_owned())),
            ["c", cluster, "b", broker] => (cluster, Self::Broker(broker.to_owned())),
            _ => return None,
        };
        Some((cluster.to_owned(), about))
    }

    fn in_query(query: &str) -> Self {
        let value = |key: &str| query_value(query, key);
        let group = || value("group").map(GroupKey::Id).or_else(|| value("digest").map(GroupKey::Digest));
        value("partition")
            .map(Self::Partition)
            .or_else(|| value("broker").map(Self::Broker))
            .or_else(|| group().map(Self::Group))
            .unwrap_or(Self::Cluster)
    }
}

/// The segments of a path, decoded once.
fn segments(path: &str) -> Vec<String> {
    path.trim_matches('/').split('/').map(path_segment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_decoded_once() {
        let plan =
            WrittenKey::Plan { cluster: "a b".to_owned(), plan: "x%41".to_owned(), broker: Some("2".to_owned()) };
        assert_eq!(WrittenKey::at("/c/a%20b/plans/x%2541?broker=2"), Some(plan));
        assert_eq!(WrittenKey::at("/docs/findings/"), Some(WrittenKey::Handbook(String::new())));
        assert_eq!(WrittenKey::at("/c/prod"), None);
        let group = |id: &str| Some(("a+b".to_owned(), About::Group(GroupKey::Id(id.to_owned()))));
        assert_eq!(About::at("/c/a+b/g?group=x+y%2Bz"), group("x y+z"));
        assert_eq!(About::at("/c/a/g"), None);
    }
}
