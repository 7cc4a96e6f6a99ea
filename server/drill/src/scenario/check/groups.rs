//! Groups, their states, members and committed offsets.

use unstuck_diagnosis::OFFSETS_TOPIC;

use super::Check;
use crate::scenario::model::{Group, GroupType, Members, NUMBER, Offsets, Rebalances, Release};
use crate::scenario::places::join;
use crate::scenario::problem::{did_you_mean, list};
use crate::scenario::value::Time;

/// The most groups of one entry.
const MOST_GROUPS: u32 = 1_000_000;
/// The most members of one group.
const MOST_MEMBERS: usize = 10_000;
/// The longest id in bytes: what fits a string of the protocol, whose length has 16 bits.
const LONGEST_ID: usize = 32_767;

/// The shortest time from rebalance to rebalance.
const SHORTEST_ROUND: Time = Time(std::time::Duration::from_millis(100));

impl Check<'_> {
    pub(super) fn groups(&mut self) {
        let groups = &self.scenario.group;
        if !groups.is_empty() && !self.scenario.topic.contains_key(OFFSETS_TOPIC) {
            self.wrong("group", format!("there can be no groups yet: the scenario has no `[topic.{OFFSETS_TOPIC}]`"));
        }
        for (nth, group) in groups.iter().enumerate() {
            let path = format!("group[{nth}]");
            self.group(&path, group);
            let twice = groups[..nth].iter().find_map(|earlier| in_both(earlier, group));
            if let Some(id) = twice {
                self.wrong(format!("{path}.id"), format!("there is a group `{id}` already"));
            }
        }
    }

    fn rebalances(&mut self, path: &str, group: &Group, rebalances: &Rebalances) {
        if rebalances.every < SHORTEST_ROUND {
            self.wrong(format!("{path}.every"), format!("it must be at least {SHORTEST_ROUND}"));
        }
        self.time(format!("{path}.every"), Some(rebalances.every));
        if rebalances.takes.is_some_and(|takes| takes >= rebalances.every) {
            self.wrong(format!("{path}.takes"), format!("it must be over before the next: {}", rebalances.every));
        }
        if !matches!(group.r#type, GroupType::Classic | GroupType::Connect) || group.members == Members::Count(0) {
            self.wrong(path, "only classic groups with members rebalance like that");
        }
    }

    pub(super) fn group(&mut self, path: &str, group: &Group) {
        if let Some(count) = group.count {
            if !(1..=MOST_GROUPS).contains(&count) {
                self.wrong(format!("{path}.count"), format!("{count} is not a number of groups (1 to {MOST_GROUPS})"));
            }
            if group.id.matches(NUMBER).count() != 1 {
                let what = format!("with `count` the id must have `{NUMBER}` in it once, where the number goes");
                self.wrong(format!("{path}.id"), what);
            }
        } else if group.id.contains(NUMBER) {
            self.wrong(format!("{path}.id"), format!("`{NUMBER}` stands for a number, but there is no `count`"));
        }
        let length = match group.count {
            Some(count) => group.id.replace(NUMBER, &count.to_string()).len(),
            None => group.id.len(),
        };
        if length > LONGEST_ID {
            self.wrong(format!("{path}.id"), format!("{length} bytes; an id has at most {LONGEST_ID}"));
        } else if group.id.is_empty() && group.r#type != GroupType::Simple {
            let what = "it is empty: Kafka allows that for `type = \"simple\"` only";
            self.wrong(format!("{path}.id"), what);
        }
        if let Some(rebalances) = &group.rebalances {
            self.rebalances(&format!("{path}.rebalances"), group, rebalances);
        }
        self.group_type(path, group.r#type);
        self.state(path, group);
        for (topic, offsets) in &group.offsets {
            let path = join(&format!("{path}.offsets"), topic);
            self.topic_name(&path, topic);
            let most = self.topics.get(topic.as_str()).map(|topic| topic.partitions);
            if let (Offsets::By(by), Some(most)) = (offsets, most)
                && i32::try_from(by.len()).is_ok_and(|count| count > most)
            {
                self.wrong(&path, format!("{} offsets, but {topic} has {}", by.len(), super::up_to(most)));
            }
            let least = match offsets {
                Offsets::Each(offset) => *offset,
                Offsets::By(by) => by.iter().copied().min().unwrap_or_default(),
            };
            if least < -1 {
                self.wrong(&path, format!("{least} is no offset: they are 0 or more, or -1 for none"));
            }
        }
    }

    fn group_type(&mut self, path: &str, kind: GroupType) {
        let path = format!("{path}.type");
        let release = self.scenario.cluster.release;
        match kind {
            GroupType::Consumer if !self.kraft() || release < Release::V3_9 => {
                self.wrong(path, "groups of type consumer exist with KRaft from 3.9.1 (as a preview) and 4.1.1 on");
            }
            GroupType::Share | GroupType::Streams if release < Release::V4_1 => {
                self.wrong(path, "share and streams groups exist from 4.1.1 on");
            }
            _ => {}
        }
    }

    fn state(&mut self, path: &str, group: &Group) {
        let members = match &group.members {
            Members::Count(count) => usize::try_from(*count).unwrap_or(usize::MAX),
            Members::Each(members) => members.len(),
        };
        if group.r#type == GroupType::Simple && members > 0 {
            self.wrong(format!("{path}.members"), "a simple group has no members, only committed offsets");
        }
        if members > MOST_MEMBERS {
            self.wrong(
                format!("{path}.members"),
                format!("{members} is not a number of members (0 to {MOST_MEMBERS})"),
            );
        }
        let Some(state) = &group.state else { return };
        let path = format!("{path}.state");
        let allowed = states(group.r#type, self.scenario.cluster.release);
        if !allowed.contains(&state.as_str()) {
            let nearest = did_you_mean(state, allowed.iter().copied());
            let what = format!("a group of this type has no state `{state}`{nearest} (states: {})", list(allowed));
            self.wrong(path, what);
        } else if matches!(state.as_str(), "Empty" | "Dead") && members > 0 {
            self.contradiction(path, format!("a group with members is not {state}"));
        } else if !matches!(state.as_str(), "Empty" | "Dead" | "NotReady") && members == 0 {
            self.contradiction(path, format!("a group without members is not {state}"));
        }
    }
}

/// The states of a group, as Kafka's own enums name them (`ClassicGroupState`, `ConsumerGroup.ConsumerGroupState`,
/// `ShareGroup.ShareGroupState`, `StreamsGroup.StreamsGroupState`; `GroupMetadata.scala` before 4.0). Up to 1.0 the
/// state CompletingRebalance was called AwaitingSync.
fn states(kind: GroupType, release: Release) -> &'static [&'static str] {
    match kind {
        GroupType::Classic | GroupType::Connect if release == Release::V1_0 => {
            &["Empty", "PreparingRebalance", "AwaitingSync", "Stable", "Dead"]
        }
        GroupType::Classic | GroupType::Connect => {
            &["Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"]
        }
        GroupType::Consumer => &["Empty", "Assigning", "Reconciling", "Stable", "Dead"],
        GroupType::Share => &["Empty", "Stable", "Dead"],
        GroupType::Streams => &["Empty", "NotReady", "Assigning", "Reconciling", "Stable", "Dead"],
        GroupType::Simple => &["Empty", "Dead"],
    }
}

/// An id that both entries stand for.
fn in_both(one: &Group, other: &Group) -> Option<String> {
    let (fewer, more) = if one.count <= other.count { (one, other) } else { (other, one) };
    let Some(count) = fewer.count else { return more.stands_for(&fewer.id).then(|| fewer.id.clone()) };
    let ((before, after), (more_before, more_after)) = (fewer.id.split_once(NUMBER)?, more.id.split_once(NUMBER)?);
    // Two hundred thousand groups are not compared one by one where their ids begin or end otherwise.
    let alike = |one: &str, other: &str| one.starts_with(other) || other.starts_with(one);
    let alike_at_end = after.ends_with(more_after) || more_after.ends_with(after);
    if !alike(before, more_before) || !alike_at_end {
        return None;
    }
    (1..=count.min(MOST_GROUPS)).map(|n| format!("{before}{n}{after}")).find(|id| more.stands_for(id))
}
