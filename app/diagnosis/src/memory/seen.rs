//! One group over time: how it was listed, and how its state changed.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::near::Mark;
use crate::snapshot::ListedGroup;
use crate::{BrokerId, GroupId};

/// How many earlier states are kept of one group.
pub const HISTORY_CAP: usize = 8;
/// How many groups are kept that were listed once and are gone.
pub const GONE_CAP: usize = 1_000;

/// A group that was listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenGroup {
    /// Type, where told.
    pub group_type: Option<String>,
    /// Protocol type.
    pub protocol_type: String,
    /// State when last listed.
    pub state: Option<String>,
    /// When it was first listed.
    pub first_seen: Timestamp,
    /// When it was last listed.
    pub last_seen: Timestamp,
    /// Brokers whose latest listing has it; empty if it is only remembered.
    pub listed_by: BTreeSet<BrokerId>,
    /// The broker that listed it last.
    #[serde(default)]
    pub last_listed_by: Option<BrokerId>,
    /// Since when its state has been what it is, as listings show it; `None` if it was so when it was first listed.
    #[serde(default)]
    pub state_since: Option<Timestamp>,
    /// The states before, oldest first: the last [`HISTORY_CAP`].
    #[serde(default)]
    pub earlier: Vec<StateChange>,
    /// Another protocol type that this id was used with before: `connect`, where it is `consumer` now.
    #[serde(default)]
    pub other_protocol_type: Option<String>,
    /// What finds ids that look alike.
    #[serde(default)]
    pub mark: Mark,
}

/// A state that a group was in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// The state.
    pub state: String,
    /// When another one was listed.
    pub until: Timestamp,
}

/// A group that was listed once, and is no longer known to its coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoneGroup {
    /// When it was last listed.
    pub last_seen: Timestamp,
    /// Its state then.
    pub state: Option<String>,
    /// Its protocol type then.
    pub protocol_type: String,
    /// Since when it had been in that state, if it was seen to change.
    pub state_since: Option<Timestamp>,
}

impl SeenGroup {
    pub(super) fn new(id: &GroupId, at: Timestamp) -> Self {
        Self {
            group_type: None,
            protocol_type: String::new(),
            state: None,
            first_seen: at,
            last_seen: at,
            listed_by: BTreeSet::new(),
            last_listed_by: None,
            state_since: None,
            earlier: Vec::new(),
            other_protocol_type: None,
            mark: Mark::of(id.as_str()),
        }
    }

    pub(super) fn take_in(&mut self, listed: &ListedGroup, at: Timestamp) {
        self.group_type = listed.group_type.clone().or_else(|| self.group_type.take());
        if self.protocol_type != listed.protocol_type {
            let before = std::mem::replace(&mut self.protocol_type, listed.protocol_type.clone());
            // A group without members has lost its protocol type, not changed it.
            if !before.is_empty() && !self.protocol_type.is_empty() {
                self.other_protocol_type = Some(before);
            }
        }
        if self.state != listed.state {
            let before = std::mem::replace(&mut self.state, listed.state.clone());
            if let Some(state) = before {
                self.state_since = Some(at);
                if self.earlier.len() == HISTORY_CAP {
                    self.earlier.remove(0);
                }
                self.earlier.push(StateChange { state, until: at });
            }
        }
        self.last_seen = at;
    }

    /// Its states with the time when each began, oldest first, the present one last. The first one known began at the
    /// time told or before.
    #[must_use]
    pub fn states(&self) -> Vec<(&str, Timestamp)> {
        let mut begun = self.first_seen;
        let mut states = Vec::new();
        for change in &self.earlier {
            states.push((change.state.as_str(), begun));
            begun = change.until;
        }
        states.extend(self.state.as_deref().map(|state| (state, begun)));
        states
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    fn listed(state: &str, protocol_type: &str) -> ListedGroup {
        ListedGroup {
            protocol_type: protocol_type.to_owned(),
            state: Some(state.to_owned()),
            group_type: Some("classic".to_owned()),
        }
    }

    fn seen(sample: &Sample) -> SeenGroup {
        sample.published().memory.groups.by_id.get(&GroupId::from("orders")).cloned().expect("seen")
    }

    #[test]
    fn since_when_a_state_has_been_so() {
        let sample = Sample::kraft(3, 6, 3).lists("orders".into(), listed("Stable", "consumer"));
        assert_eq!(seen(&sample).state_since, None, "it was so when it was first listed");
        let sample = sample.later(15).lists("orders".into(), listed("Empty", ""));
        let group = seen(&sample);
        assert_eq!(group.state_since, Some(group.last_seen));
        assert_eq!(group.states().iter().map(|(state, _)| *state).collect::<Vec<_>>(), ["Stable", "Empty"]);
        assert_eq!(group.other_protocol_type, None, "an empty protocol type is no other one");
        let later = seen(&sample.later(15).lists("orders".into(), listed("Empty", "connect")));
        assert_eq!(later.state_since, group.state_since);
        assert!(later.last_seen > group.last_seen);
    }

    #[test]
    fn an_id_that_two_kinds_of_clients_use() {
        let sample = Sample::kraft(3, 6, 3).lists("orders".into(), listed("Stable", "connect"));
        let group = seen(&sample.later(15).lists("orders".into(), listed("Stable", "consumer")));
        assert_eq!(group.other_protocol_type.as_deref(), Some("connect"));
    }

    #[test]
    fn the_history_stays_short() {
        let mut sample = Sample::kraft(3, 6, 3);
        for n in 0..30 {
            let state = if n % 2 == 0 { "Stable" } else { "PreparingRebalance" };
            sample = sample.later(1).lists("orders".into(), listed(state, "consumer"));
        }
        assert_eq!(seen(&sample).earlier.len(), HISTORY_CAP);
    }

    #[test]
    fn a_deleted_group_leaves_a_trace() {
        let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").later(5);
        let groups = sample.listing_code(1, 0).published().memory.groups;
        assert!(groups.by_id.is_empty());
        assert_eq!(groups.gone.values().next().and_then(|gone| gone.state.as_deref()), Some("Stable"));
    }
}
