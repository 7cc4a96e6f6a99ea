//! Groups of a scenario, their members and committed offsets.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::value::Time;

/// A group, or many alike.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Group {
    /// Its id. With `count`, `{n}` in it is replaced by the number, from 1.
    pub id: String,
    /// How many such groups. 1 if not said.
    #[serde(default)]
    pub count: Option<u32>,
    /// Its type.
    #[serde(default)]
    pub r#type: GroupType,
    /// Its state, as Kafka names it (`Stable`, `Empty`, `PreparingRebalance`, …). `Stable` with members, `Empty` without.
    #[serde(default)]
    pub state: Option<String>,
    /// How many members, or each of them.
    #[serde(default)]
    pub members: Members,
    /// It rebalances again and again.
    #[serde(default)]
    pub rebalances: Option<Rebalances>,
    /// Committed offsets: per topic one number for all partitions, or one number per partition (-1: none).
    #[serde(default)]
    pub offsets: BTreeMap<String, Offsets>,
}

/// Rebalances without end: the generation goes up each time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rebalances {
    /// From the beginning of one to the beginning of the next.
    pub every: Time,
    /// How long one takes: so long the group is not stable. A tenth of `every` if not said.
    #[serde(default)]
    pub takes: Option<Time>,
    /// Whether its members come back under new ids each time, as those do that are pushed out or start anew.
    #[serde(default)]
    pub new_members: bool,
}

/// What stands for the number in the id of one of many groups.
pub(crate) const NUMBER: &str = "{n}";

impl Group {
    /// Whether this group, or one of these many, has this id.
    #[must_use]
    pub fn stands_for(&self, id: &str) -> bool {
        let (Some(count), Some((before, after))) = (self.count, self.id.split_once(NUMBER)) else {
            return self.id == id;
        };
        let number = id.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        number.is_some_and(|number| {
            number.parse::<u32>().is_ok_and(|n| (1..=count).contains(&n) && n.to_string() == number)
        })
    }
}

/// A group's type. Members of consumer, share and streams groups exist only in the file: real clients can join groups
/// of a drill with the classic protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroupType {
    /// The classic consumer protocol.
    #[default]
    Classic,
    /// Kafka Connect workers.
    Connect,
    /// The protocol of KIP-848 (4.0; a preview in 3.9).
    Consumer,
    /// A share group of KIP-932 (4.1).
    Share,
    /// A streams group of KIP-1071 (4.1).
    Streams,
    /// Only committed offsets, no members ever (a "simple" consumer).
    Simple,
}

/// Members of a group.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Members {
    /// So many.
    Count(u32),
    /// These.
    Each(Vec<Member>),
}

impl Default for Members {
    fn default() -> Self {
        Self::Count(0)
    }
}

/// A member of a group.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Member {
    /// The client id.
    #[serde(default)]
    pub client_id: Option<String>,
    /// The host that it connects from, such as `/10.0.0.7`.
    #[serde(default)]
    pub host: Option<String>,
    /// The `group.instance.id` of a static member.
    #[serde(default)]
    pub instance_id: Option<String>,
}

/// Committed offsets in one topic.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Offsets {
    /// The same in each partition.
    Each(i64),
    /// By partition; -1 for none.
    By(Vec<i64>),
}
