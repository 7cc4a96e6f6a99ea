//! What somebody does to a cluster by hand, which no file was checked for.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_diagnosis::OFFSETS_TOPIC;

use super::Check;
use crate::scenario::Scenario;
use crate::scenario::action::Action;

/// What is known of a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownTopic {
    /// How many partitions it has, or, in a scenario, the most that it has at any time.
    pub partitions: i32,
    /// All brokers that any of its partitions has as replicas, or, in a scenario, has at any time.
    pub replicas: BTreeSet<i32>,
}

/// Whether something can be done by hand to a cluster that began as a scenario, and by now has these topics and groups.
/// Whether there is a fault of the name that shall end is not looked at.
///
/// # Errors
///
/// All that is wrong, in words, joined by `; `.
pub fn check_action(
    scenario: &Scenario,
    action: &Action,
    topics: BTreeMap<&str, KnownTopic>,
    is_group: &dyn Fn(&str) -> bool,
) -> Result<(), String> {
    let mut check = Check { scenario, topics, by_hand: true, problems: Vec::new() };
    match action {
        Action::Group(_) if !check.topics.contains_key(OFFSETS_TOPIC) => {
            check.wrong("group", format!("there can be no groups yet: the cluster has no topic {OFFSETS_TOPIC}"));
        }
        Action::DeleteGroup(id) if !is_group(id) => {
            check.wrong("delete-group", format!("the cluster has no group `{id}`"));
        }
        // The cluster knows which faults there are.
        Action::EndFault(_) => return Ok(()),
        action => check.action("", action, &[]),
    }
    if check.problems.is_empty() {
        return Ok(());
    }
    let words: Vec<String> = check.problems.into_iter().map(|(path, wrong)| format!("{path}: {wrong}")).collect();
    Err(words.join("; "))
}
