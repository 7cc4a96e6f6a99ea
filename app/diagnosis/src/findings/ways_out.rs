//! Ways out that several rules offer, each written once: what it changes, what must hold, what it may cost, how to see
//! that it worked and how to take it back.

use super::restart::restart;
use super::{Context, capital};
use crate::commands::{Commands, Election, Reassign};
use crate::plan::reassignment;
use crate::report::{Avoid, BrokerState, Remedy, Risk};
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

/// How many groups a command names: enough for most partitions, and still one line to read.
const NAMED_GROUPS: usize = 10;

impl Context<'_, '_> {
    /// Start brokers that are down and have the data. All of them, or one of them.
    pub(crate) fn start(&self, brokers: &[BrokerId], all: bool, why: &str) -> Remedy {
        // A process that hangs has to be looked at, and cannot be started.
        let hangs = brokers.iter().any(|&id| self.facts.state(id) == BrokerState::Hung);
        let verb = if hangs { "Bring back" } else { "Start" };
        let title = match brokers {
            many @ ([] | [_]) => format!("{verb} {}", words::brokers(many)),
            many if all => format!("{verb} {}", words::brokers(many)),
            many => format!("{verb} one of {}", words::brokers(many)),
        };
        let whose = if brokers.len() == 1 { "its" } else { "their" };
        Remedy::new(title, why)
            .given(format!("{whose} log directories are still there"), None)
            .verify(self.is_back(brokers))
    }

    /// How to see that brokers are back.
    pub(crate) fn is_back(&self, brokers: &[BrokerId]) -> String {
        let address = brokers.iter().find_map(|id| self.facts.snapshot.brokers.get(id)?.address.clone());
        let ask = address.map(|address| format!(", and `{}` answers", Commands::broker_answers(&address)));
        format!("Unstuck shows {} as answering{}.", words::brokers(brokers), ask.unwrap_or_default())
    }

    /// What to keep before a leader is forced: how the topic looks now.
    pub(crate) fn kept_first(&self, remedy: Remedy) -> Remedy {
        let save = self.commands().save_topic(OFFSETS_TOPIC);
        remedy.given(format!("you kept how {OFFSETS_TOPIC} looks now, for whoever has to repair it: `{save}`"), None)
    }

    /// Keep the committed offsets of the groups on some partitions, while their coordinators answer. `None` if no group
    /// is known there.
    pub(crate) fn save_offsets(&self, partitions: &[PartitionId]) -> Option<Remedy> {
        let groups = &self.facts.memory.groups.by_partition;
        let ids: Vec<_> = partitions.iter().filter_map(|id| groups.get(id)).flatten().collect();
        let named: Vec<_> = ids.iter().take(NAMED_GROUPS).map(|id| id.0.as_str()).collect();
        if named.is_empty() {
            return None;
        }
        let which = match ids.len() {
            1 => "of the group".to_owned(),
            all if all == named.len() => format!("of the {all} groups"),
            all => format!(
                "of the groups (the command names {} of {}: add the others)",
                named.len(),
                words::thousands(all)
            ),
        };
        Some(
            Remedy::new(
                format!("Before you lower anything: keep the committed offsets {which}"),
                "If commits are lost later, each group can be set back to where it was.",
            )
            .looks(self.commands().save_offsets(named))
            .verify("offsets-before.txt has a line with CURRENT-OFFSET for each partition of each group."),
        )
    }

    /// An election among replicas, for each of these partitions. Lossless for [`Election::Preferred`]; `None` where the
    /// release has no tool for it.
    pub(crate) fn election(
        &self,
        kind: Election,
        partitions: &[PartitionId],
        title: &str,
        why: &str,
    ) -> Option<Remedy> {
        let command = self.commands().elect_each(kind, OFFSETS_TOPIC, partitions)?;
        let changes = match partitions {
            [one] => format!("The leader of partition {one} of {OFFSETS_TOPIC}, which gets a new leader epoch."),
            many => format!(
                "The leaders of {} of {OFFSETS_TOPIC}, which get new leader epochs.",
                words::count(many.len(), "partition")
            ),
        };
        let whose = if partitions.len() == 1 { "its" } else { "each partition's" };
        let look = self.commands().describe_topic(OFFSETS_TOPIC);
        Some(
            Remedy::new(title, why)
                .command(command, changes)
                .verify(format!("`{look}` shows {whose} leader, and Unstuck says that the groups there work."))
                .undo("An election cannot be taken back. A later one may choose another leader."),
        )
    }

    /// Make another in-sync replica leader of these partitions: a new leader loads the partition anew. `None` where some
    /// of them has no other live in-sync replica.
    pub(crate) fn move_leadership(&self, leader: BrokerId, partitions: &[PartitionId], title: &str) -> Option<Remedy> {
        let moved: Vec<_> = partitions
            .iter()
            .map(|&partition| {
                let view = self.facts.partitions.get(&partition)?.newest;
                let behind = |id: &&BrokerId| **id != leader && !(view.isr.contains(*id) && self.facts.electable(**id));
                let mut replicas: Vec<_> = view.replicas.iter().copied().filter(|id| *id != leader).collect();
                replicas.sort_by_key(|id| behind(&id));
                let first = replicas.first()?;
                if behind(&first) {
                    return None;
                }
                replicas.push(leader);
                Some((partition, replicas, view.replicas.clone()))
            })
            .collect::<Option<_>>()?;
        let commands = self.commands();
        let elect = commands.elect_each(Election::Preferred, OFFSETS_TOPIC, partitions)?;
        let reassign = |file: &str| commands.reassign(file, Reassign::Execute { throttle: None });
        let new = moved.iter().map(|(partition, replicas, _)| (*partition, replicas.clone()));
        let old = moved.iter().map(|(partition, _, replicas)| (*partition, replicas.clone()));
        let why = "Only the order of the replicas changes: nothing is copied. The new leader reads the partition and \
                   serves its groups, which rebalance.";
        Some(
            Remedy::new(title, why)
                .command(
                    format!("{} && {elect}", reassign("move.json")),
                    format!(
                        "The order of replicas and the leader of {} of {OFFSETS_TOPIC}.",
                        words::count(partitions.len(), "partition")
                    ),
                )
                .given("each of these partitions has another live in-sync replica", true)
                .danger(Risk::Pause, "Their groups wait for some seconds: the time of an election and of loading.")
                .verify(format!(
                    "`{}` shows the new leader. If it does not yet, run the second half of the command again.",
                    commands.describe_topic(OFFSETS_TOPIC)
                ))
                .undo(format!("`{} && {elect}`", reassign("move-back.json")))
                .file("move.json", "the replicas with the present leader last", reassignment(new))
                .file("move-back.json", "the replicas as they are now", reassignment(old)),
        )
    }

    /// `committed offsets of 3 groups`, as far as groups are known.
    pub(crate) fn offsets_of(&self, partitions: &[PartitionId]) -> String {
        match self.group_count(partitions) {
            0 => "the committed offsets of every group there".to_owned(),
            groups => format!("the committed offsets of {}", words::count(groups, "group")),
        }
    }

    /// The brokers of these partitions' replicas.
    pub(crate) fn replicas_of(&self, partitions: &[PartitionId]) -> Vec<BrokerId> {
        let views = partitions.iter().filter_map(|partition| self.facts.partitions.get(partition));
        let mut replicas: Vec<_> = views.flat_map(|seen| seen.newest.replicas.iter().copied()).collect();
        replicas.sort_unstable();
        replicas.dedup();
        replicas
    }
}

/// `broker 1 answers`, `brokers 1 and 2 answer`.
pub(crate) fn who_answer(brokers: &[BrokerId]) -> String {
    format!("{} {}", words::brokers(brokers), if brokers.len() == 1 { "answers" } else { "answer" })
}

/// `broker 1 is`, `brokers 1 and 2 are`.
pub(crate) fn who_are(brokers: &[BrokerId]) -> String {
    format!("{} {}", words::brokers(brokers), if brokers.len() == 1 { "is" } else { "are" })
}

/// The advice that destroys most.
pub(crate) fn never_delete_the_topic() -> Avoid {
    Avoid {
        what: format!("Do not delete {OFFSETS_TOPIC}"),
        why: "Some guides advise it. It deletes the committed offsets of all groups, those that work included, and \
              brings nothing back sooner."
            .to_owned(),
    }
}

/// For partitions whose good replica is out of reach, not out of existence.
pub(crate) fn never_elect_unclean(who: &[BrokerId]) -> Avoid {
    Avoid {
        what: "Do not run an unclean election".to_owned(),
        why: format!(
            "It would pass over {}, which {} all commits: those made since the others fell behind would be lost for good.",
            words::brokers(who),
            if who.len() == 1 { "has" } else { "have" }
        ),
    }
}

/// While nobody can elect, or too few brokers are left.
pub(crate) fn never_restart_the_others(why: &str) -> Avoid {
    Avoid { what: "Do not restart the brokers that still work".to_owned(), why: capital(why) }
}

/// The last resort for a process that hangs.
pub(crate) fn then_restart(context: &Context<'_, '_>, broker: BrokerId) -> Remedy {
    let why = "Its partitions get another leader where an in-sync replica lives, or come back with it. The thread dump is \
               lost with the process.";
    restart(context, broker, format!("Then restart broker {broker}"), why)
}
