//! `ghost-group`: a broker lists groups that it does not coordinate.
//!
//! Catalogue row 27. While leaders move, the old one still lists its groups for a moment; a ghost is what stays for 20 s,
//! in a listing that is younger than the change. Closes when the listing drops it, or the broker leads.

use std::collections::{BTreeMap, BTreeSet};

use super::{Context, Rule, capital, finding, likely, seen_, step};
use crate::handbook::Entry;
use crate::placement::partition_for;
use crate::report::{Finding, PlacementProof, Severity};
use crate::time::millis_between;
use crate::{BrokerId, GroupId, PartitionId, words};

const SLUG: &str = "ghost-group";
/// How long a broker may list groups that it coordinates no longer.
const LASTING_MS: i64 = 20_000;
/// How many groups a sentence names.
const NAMED: usize = 3;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A broker lists groups that another one coordinates",
        severity: "error",
        means: "A group lives in the memory of one broker: the leader of its partition. If a second one has it in memory as \
                well, two coordinators take the same group for theirs. Members on either side read the same partitions, \
                and commit over each other or into nowhere.",
        opens: "A group is in the listing of a broker that does not lead its partition, in answers that are more than 5 s \
                younger than the last change of leader, for 20 s.",
        closes: "Only the leader lists it.",
        not_told: "Which of the two has the members that count. Where the placement is not certain, only groups listed by \
                   two brokers are told.",
        clients_see: "Records are read twice; positions jump; tools show other members depending on whom they ask.",
        way_out: "If brokers disagree on who leads, repair the stale one. If they use different partition counts, finish the \
                  restart of all of them. Otherwise restart the broker that does not lead.",
        never: "Do not reset offsets of such a group before it has one coordinator: the other one overwrites them.",
        twins: &[
            ("stale-broker", "The usual cause: a broker that is cut off goes on with the groups that it had."),
            ("placement-drift", "Brokers with different partition counts each find another partition for the group."),
            ("served-but-not-found", "The same seen from the partition, where nobody leads it."),
        ],
        versions: "all",
        sources: &["KAFKA-19274 (shards not unloaded)", "KAFKA-7771 (partition count)"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    if matches!(context.proof, PlacementProof::Foreign { .. } | PlacementProof::Contradicted { .. }) {
        return Vec::new();
    }
    let certain = matches!(context.proof, PlacementProof::Certain { .. } | PlacementProof::Unproven { .. });
    let mut by_brokers: BTreeMap<(Vec<BrokerId>, bool), Vec<&GroupId>> = BTreeMap::new();
    for (id, &since) in &facts.memory.ghosts {
        let listed_by = facts.memory.groups.by_id.get(id).map(|group| &group.listed_by);
        let brokers: Vec<_> = listed_by.into_iter().flatten().copied().collect();
        if millis_between(since, facts.now) >= LASTING_MS && (certain || brokers.len() > 1) {
            by_brokers.entry((brokers, certain)).or_default().push(id);
        }
    }
    by_brokers.into_iter().map(|((brokers, certain), ids)| explain(context, brokers, certain, &ids)).collect()
}

fn explain(context: &Context<'_, '_>, listed_by: Vec<BrokerId>, certain: bool, ids: &[&GroupId]) -> Finding {
    let facts = context.facts;
    let home = |id: &GroupId| partition_for(id, facts.partition_count()?);
    let partitions: BTreeSet<PartitionId> = ids.iter().filter_map(|id| home(id)).filter(|_| certain).collect();
    let leaders: BTreeSet<BrokerId> =
        partitions.iter().filter_map(|id| facts.partitions.get(id)?.newest.leader).collect();
    let strangers: Vec<_> = listed_by.iter().copied().filter(|id| !leaders.contains(id)).collect();
    let named: Vec<_> = ids.iter().take(NAMED).map(|id| format!("\"{}\"", crate::visible(&id.0))).collect();
    let rest = ids.len() - named.len();
    let more = if rest > 0 { format!(" and {} more", words::thousands(rest)) } else { String::new() };
    let groups = format!("{} {}{more}", if ids.len() == 1 { "group" } else { "groups" }, named.join(", "));
    let verb = if listed_by.len() == 1 { "lists" } else { "list" };
    let who = capital(&words::brokers(&listed_by));
    let sentence = if strangers.len() == listed_by.len() && certain {
        format!("{who} {verb} {groups}, which {} coordinated by {}.", are(ids), words::brokers(&leaders))
    } else {
        format!("{who} both list {groups}: two coordinators take the same group for theirs.")
    };
    let mut finding = finding(SLUG, Severity::Error, sentence);
    finding.outlook = Some("Members on either side may read the same records, and commit over each other.".to_owned());
    let times = listed_by.iter().filter_map(|id| {
        let at = facts.memory.groups.listings.get(id)?;
        Some(seen_(format!("Broker {id} listed it last at {}.", crate::time::clock(*at))))
    });
    finding.evidence.extend(times);
    if !leaders.is_empty() {
        finding.evidence.push(seen_(format!("Metadata names {} as leader.", words::brokers(&leaders))));
    }
    finding.evidence.push(likely(if certain {
        "The broker that does not lead never unloaded it: it was not told, or is cut off.".to_owned()
    } else {
        "Brokers use different partition counts, or one of them is cut off.".to_owned()
    }));
    if !certain {
        finding.remedies.push(step(
            "First see why brokers place groups differently",
            "While they use different partition counts, no restart of a single one helps.",
        ));
    }
    finding.remedies.extend(strangers.iter().filter(|_| certain).map(|&id| {
        super::restart::restart(
            context,
            id,
            format!("Restart broker {id}, unless it is about to catch up"),
            "It drops what it does not lead. Members that are connected to it find the true coordinator.",
        )
    }));
    finding.brokers = if strangers.is_empty() { listed_by } else { strangers };
    finding.partitions = partitions.into_iter().collect();
    finding
}

fn are(ids: &[&GroupId]) -> &'static str {
    if ids.len() == 1 { "is" } else { "are" }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::sample::{Sample, slugs, text};
    use crate::snapshot::{GroupListing, ListedGroup, Observed};
    use crate::{BrokerId, GroupId};

    fn listed_too(mut sample: Sample, broker: BrokerId, id: &str) -> Sample {
        let listed = ListedGroup { protocol_type: "consumer".to_owned(), ..ListedGroup::default() };
        let groups = [(GroupId::from(id), listed)].into();
        let at = sample.now() + jiff::SignedDuration::from_millis(2);
        if let Some(sight) = sample.snapshot.brokers.get_mut(&broker) {
            sight.groups = Observed::Known(Arc::new(GroupListing { at, code: 0, groups }));
        }
        sample.later(0)
    }

    fn two() -> Sample {
        let sample = Sample::kraft(3, 3, 3).group_on(0, "orders");
        let name = id(&sample);
        listed_too(sample, 3, &name)
    }

    fn id(sample: &Sample) -> String {
        sample.memory.groups.by_id.keys().next().map(|id| id.0.clone()).unwrap_or_default()
    }

    #[test]
    fn two_brokers_list_the_same_group() {
        insta::assert_snapshot!(text(&two().later(25).report(), super::SLUG), @r#"
        [error] Brokers 1 and 3 both list group "orders": two coordinators take the same group for theirs.
          outlook: Members on either side may read the same records, and commit over each other.
          seen: Broker 1 listed it last at 12:00:00 UTC.
          seen: Broker 3 listed it last at 12:00:00 UTC.
          seen: Metadata names broker 1 as leader.
          likely: The broker that does not lead never unloaded it: it was not told, or is cut off.
          -> Restart broker 3, unless it is about to catch up: It drops what it does not lead. Members that are connected to it find the true coordinator.
             if (met): broker 3 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 3 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
        "#);
    }

    #[test]
    fn only_one_that_does_not_lead_lists_it() {
        let name = id(&Sample::kraft(3, 3, 3).group_on(0, "orders"));
        insta::assert_snapshot!(text(&listed_too(Sample::kraft(3, 3, 3), 3, &name).later(25).report(), super::SLUG), @r#"
        [error] Broker 3 lists group "orders", which is coordinated by broker 1.
          outlook: Members on either side may read the same records, and commit over each other.
          seen: Broker 3 listed it last at 12:00:00 UTC.
          seen: Metadata names broker 1 as leader.
          likely: The broker that does not lead never unloaded it: it was not told, or is cut off.
          -> Restart broker 3, unless it is about to catch up: It drops what it does not lead. Members that are connected to it find the true coordinator.
             if (met): broker 3 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 3 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
        "#);
    }

    #[test]
    fn while_leaders_move_ghosts_are_normal() {
        assert!(!slugs(&two().later(10).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_listing_from_before_the_change_could_not_tell() {
        let sample = Sample::kraft(3, 3, 3).group_on(0, "orders").later(30);
        let moved = sample.view(1, 0, Some(2), 6).view(2, 0, Some(2), 6).view(3, 0, Some(2), 6).later(60);
        assert!(!slugs(&moved.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn the_leader_alone_is_as_it_should_be() {
        let sample = Sample::kraft(3, 3, 3).group_on(0, "orders").later(60);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
