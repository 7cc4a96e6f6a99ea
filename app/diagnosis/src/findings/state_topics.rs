//! `transaction-coordinator-offline`, `share-coordinator-offline` and `state-topic-replication-factor`: the topics of the
//! other coordinators, with the same eyes.
//!
//! Catalogue row 48. Only metadata and DescribeTransactions are used: asking FindCoordinator for a transaction coordinator
//! would create its topic, and the share coordinator's needs CLUSTER_ACTION. Consumer groups are not concerned.

use std::collections::{BTreeMap, BTreeSet};

use super::{Context, Rule, capital, finding, not_seen, seen_, step};
use crate::commands::Election;
use crate::facts::{Facts, PartitionFacts};
use crate::handbook::Entry;
use crate::report::{Bound, Evidence, Finding, Remedy, Risk, Severity};
use crate::snapshot::{Observed, TRANSACTION_STATE};
use crate::time::millis_between;
use crate::{BrokerId, PartitionId, words};

const TRANSACTION: &str = "transaction-coordinator-offline";
const SHARE: &str = "share-coordinator-offline";
const FACTOR: &str = "state-topic-replication-factor";
/// How long the leader may say that it does not serve.
const NOT_SERVED_MS: i64 = 60_000;
const NAMED: usize = 12;

pub(super) const RULE: Rule = Rule {
    entries: &[
        Entry {
            slug: TRANSACTION,
            title: "Coordinators of transactions are offline",
            severity: "error",
            means: "Each transactional id lives on one partition of `__transaction_state`, as a group does on its partition \
                    of `__consumer_offsets`; its leader coordinates the transaction. Without it, exactly-once producers \
                    cannot begin, commit or abort, and applications that consume, process and produce stand still. \
                    Consumer groups themselves are fine, and so are producers without transactions.",
            opens: "A partition of `__transaction_state` has no leader, its leader's broker is gone, fewer replicas are in \
                    sync than its min.insync.replicas asks for, or its leader says for a minute that it does not serve.",
            closes: "All partitions have a leader that serves, with enough replicas in sync.",
            not_told: "Which applications are concerned. Below 3.0, or without DESCRIBE on transactional ids, whether the \
                       leader serves.",
            clients_see: "Producers: InitProducerId and AddPartitionsToTxn time out, COORDINATOR_NOT_AVAILABLE (15) or \
                          NOT_COORDINATOR (16). Kafka Streams with exactly_once_v2 stops. read_committed consumers stop at \
                          the last stable offset.",
            way_out: "As for `__consumer_offsets`: start the broker that holds the replica in sync; where one lives and \
                      nobody leads, have it elected.",
            never: "Do not delete `__transaction_state`: open transactions would hang for ever, and zombie producers would \
                    not be fenced.",
            twins: &[
                ("no-leader-no-live-replica", "The same of `__consumer_offsets`: consumer groups stand still."),
                ("hanging-transaction", "One transaction that was never ended, while the coordinators work."),
            ],
            versions: "0.11 and newer",
            sources: &["KIP-98", "KIP-664 (DescribeTransactions)"],
            ..Entry::BLANK
        },
        Entry {
            slug: SHARE,
            title: "Coordinators of share groups' state are offline",
            severity: "outage for share groups; error while an election is due",
            means: "Share groups keep what was delivered and acknowledged in `__share_group_state`, spread over its \
                    partitions by group, topic and partition. Without the leader of such a partition, share consumers of \
                    the topic partitions that hash to it get no records. Other groups are fine.",
            opens: "A partition of `__share_group_state` has no leader, its leader's broker is gone, or fewer replicas are \
                    in sync than its min.insync.replicas asks for.",
            closes: "All partitions have a leader, with enough replicas in sync.",
            not_told: "Which share groups are concerned; whether the leader serves: asking needs CLUSTER_ACTION.",
            clients_see: "Share consumers poll and get nothing.",
            way_out: "Start the broker that holds the replica in sync; where one lives and nobody leads, have it elected.",
            never: "Do not delete `__share_group_state`: what was acknowledged would be delivered again, or skipped.",
            twins: &[(
                "no-leader-no-live-replica",
                "The same of `__consumer_offsets`: all kinds of groups stand still.",
            )],
            versions: "4.0 and newer (KIP-932)",
            sources: &["KIP-932"],
            ..Entry::BLANK
        },
        Entry {
            slug: FACTOR,
            title: "A topic of coordinators' state has fewer replicas than there could be",
            severity: "warning",
            means: "What holds for `__consumer_offsets` holds for `__transaction_state` and `__share_group_state`: with one \
                    replica, the coordinators on it stop with their broker.",
            opens: "A partition of such a topic has fewer replicas than three, or than there are brokers.",
            closes: "All have as many.",
            not_told: "Nothing is said of a topic that is not listed to us.",
            clients_see: "Nothing, until a broker stops.",
            way_out: "A reassignment that adds replicas, with throttle. Set transaction.state.log.replication.factor (or \
                      share.coordinator.state.topic.replication.factor) for the future: it does not alter a topic that \
                      exists.",
            never: "Do not delete the topic to have it made anew.",
            twins: &[("replication-factor-1", "The same of `__consumer_offsets`.")],
            versions: "0.11 and newer",
            sources: &["transaction.state.log.replication.factor (broker setting)"],
            ..Entry::BLANK
        },
    ],
    check,
};

/// What is wrong with one partition. Ordered from bad to worse.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    BelowMin { min: usize },
    NotServed { leader: BrokerId },
    LeaderLost { leader: BrokerId, due: Option<jiff::Timestamp> },
    NoLeader { eligible: Vec<BrokerId>, candidates: Vec<BrokerId>, due: Option<jiff::Timestamp> },
}

impl Trouble {
    /// Whether it may be over by itself, by then.
    fn due(&self) -> Option<jiff::Timestamp> {
        match self {
            Self::LeaderLost { due, .. } | Self::NoLeader { due, .. } => *due,
            Self::BelowMin { .. } | Self::NotServed { .. } => None,
        }
    }
}

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let mut findings = Vec::new();
    for (&topic, partitions) in &facts.state_topics {
        let mut troubles: BTreeMap<Trouble, Vec<PartitionId>> = BTreeMap::new();
        for (&partition, seen) in partitions {
            if let Some(trouble) = judge(facts, topic, partition, seen) {
                troubles.entry(trouble).or_default().push(partition);
            }
        }
        findings.extend(
            troubles.iter().rev().map(|(trouble, hit)| explain(context, topic, partitions.len(), trouble, hit)),
        );
        findings.extend(factor(context, topic, partitions));
    }
    findings
}

fn judge(facts: &Facts<'_>, topic: &str, partition: PartitionId, seen: &PartitionFacts<'_>) -> Option<Trouble> {
    if facts.stale {
        return None;
    }
    let view = seen.newest;
    let memory = facts.memory.state_topics.get(topic).and_then(|partitions| partitions.get(&partition));
    let still = |bound: Bound| (!facts.past(&bound) && facts.can_elect()).then_some(bound.at);
    let Some(leader) = view.leader else {
        let only = if view.isr.is_empty() && view.replicas.len() == 1 { &view.replicas } else { &view.isr };
        let candidates: Vec<_> = only.iter().copied().filter(|&id| facts.electable(id)).collect();
        let since = memory.and_then(|memory| memory.leaderless_since).unwrap_or(facts.now);
        let due = if candidates.is_empty() { None } else { still(facts.election_bound(since)) };
        return Some(Trouble::NoLeader { eligible: only.clone(), candidates, due });
    };
    if facts.lost(leader) {
        let others = view.isr.iter().any(|&id| id != leader && facts.electable(id));
        let due = if others { still(facts.election_bound(facts.silent_since(leader))) } else { None };
        return Some(Trouble::LeaderLost { leader, due });
    }
    let live = view.isr.iter().filter(|&&id| !facts.lost(id)).count();
    if let Some(min) = facts.state_min_isr(topic, view.replicas.len()).filter(|&min| live < min) {
        // A follower that restarts is on its way back: below for a moment is no news.
        let since = memory.and_then(|memory| memory.below_min_since).unwrap_or(facts.now);
        return facts.past(&facts.replica_bound(since)).then_some(Trouble::BelowMin { min });
    }
    let canary = facts.snapshot.brokers.get(&leader)?.transaction_canaries.get(&partition)?;
    let refuses = topic == TRANSACTION_STATE
        && matches!(canary.code, 15 | 16)
        && canary.leader_before == (view.leader, view.leader_epoch)
        && millis_between(canary.same_since, facts.now) >= NOT_SERVED_MS;
    refuses.then_some(Trouble::NotServed { leader })
}

fn explain(
    context: &Context<'_, '_>,
    topic: &str,
    total: usize,
    trouble: &Trouble,
    partitions: &[PartitionId],
) -> Finding {
    let transactions = topic == TRANSACTION_STATE;
    let reach = match partitions {
        [one] => format!("partition {one} of {topic}"),
        many if many.len() == total => format!("all {total} partitions of {topic}"),
        many => format!("{} of {total} partitions of {topic}", many.len()),
    };
    let one = partitions.len() == 1;
    let (verb, it) = if one { ("has", "it") } else { ("have", "them") };
    let hit = if transactions {
        format!("exactly-once applications on {it} stand still; consumer groups are not concerned")
    } else {
        format!("share groups on {it} get no records; other groups are not concerned")
    };
    let sentence = match trouble {
        Trouble::NoLeader { .. } => format!("{} {verb} no leader: {hit}.", capital(&reach)),
        Trouble::LeaderLost { leader, .. } => format!("Broker {leader} is down: it leads {reach}. {}.", capital(&hit)),
        Trouble::BelowMin { min } => {
            format!("{} {verb} fewer replicas in sync than min.insync.replicas={min} asks for: {hit}.", capital(&reach))
        }
        Trouble::NotServed { leader } => {
            format!("Broker {leader} leads {reach}, and does not serve {it}: {hit}.")
        }
    };
    let severity = if transactions || trouble.due().is_some() { Severity::Error } else { Severity::Outage };
    let mut finding = finding(if transactions { TRANSACTION } else { SHARE }, severity, sentence);
    finding.outlook = Some(match trouble.due() {
        Some(at) => format!("An election is due {}.", super::by(&Bound { at, assumed: context.facts.session.assumed })),
        None => "It will not heal by itself.".to_owned(),
    });
    finding.evidence = evidence(context, topic, trouble, partitions);
    finding.remedies = remedies(context, topic, trouble, partitions);
    finding.brokers = match trouble {
        Trouble::NoLeader { eligible, .. } => eligible.clone(),
        Trouble::LeaderLost { leader, .. } | Trouble::NotServed { leader } => vec![*leader],
        Trouble::BelowMin { .. } => Vec::new(),
    };
    finding
}

fn evidence(context: &Context<'_, '_>, topic: &str, trouble: &Trouble, partitions: &[PartitionId]) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let shown: Vec<_> = partitions.iter().take(NAMED).collect();
    let more = partitions.len() - shown.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let list: Vec<_> = shown.iter().map(ToString::to_string).collect();
    evidence.push(seen_(format!("Partitions of {topic}: {}{rest}.", list.join(", "))));
    let first = partitions.first().and_then(|id| Some((id, context.facts.state_topics.get(topic)?.get(id)?)));
    evidence.extend(first.map(|(id, seen)| {
        let leader = seen.newest.leader.map_or_else(|| "no leader".to_owned(), |leader| format!("leader {leader}"));
        seen_(format!(
            "Partition {id}: {leader}, replicas {}, ISR {}.",
            words::ids(&seen.newest.replicas),
            words::ids(&seen.newest.isr)
        ))
    }));
    let brokers: &[BrokerId] = match trouble {
        Trouble::NoLeader { eligible, .. } => eligible,
        Trouble::LeaderLost { leader, .. } => std::slice::from_ref(leader),
        Trouble::BelowMin { .. } | Trouble::NotServed { .. } => &[],
    };
    for &broker in brokers.iter().filter(|&&id| context.facts.lost(id)) {
        evidence.push(seen_(format!("{}: {}.", capital(&context.broker(broker)), context.trouble(broker))));
    }
    if let Trouble::NotServed { leader } = trouble {
        evidence.push(seen_(format!(
            "Asked for made-up transactional ids, broker {leader} has said for a minute that it does not coordinate them."
        )));
    }
    let configs = context.facts.snapshot.brokers.values().map(|sight| &sight.state_topic_configs);
    if let Some(Observed::Unavailable(unavailable)) = configs.clone().find(|told| told.unavailable().is_some())
        && !configs.clone().any(|told| told.known().is_some())
    {
        evidence.push(not_seen(format!("Its min.insync.replicas: {}.", unavailable.why)));
    }
    evidence.push(not_seen(if topic == TRANSACTION_STATE {
        "Which applications are concerned.".to_owned()
    } else {
        "Which share groups are concerned.".to_owned()
    }));
    evidence
}

fn remedies(context: &Context<'_, '_>, topic: &str, trouble: &Trouble, partitions: &[PartitionId]) -> Vec<Remedy> {
    let commands = context.commands();
    match trouble {
        Trouble::NoLeader { due: Some(_), .. } | Trouble::LeaderLost { due: Some(_), .. } => {
            vec![step("Wait for the election", "It needs no help.")]
        }
        Trouble::NoLeader { eligible, candidates, .. } if candidates.is_empty() => vec![step(
            if eligible.is_empty() {
                "Start the brokers of its replicas".to_owned()
            } else {
                format!("Start {}", words::brokers(eligible))
            },
            "The data is there: the coordinators come back by themselves, and nothing is lost.",
        )],
        Trouble::NoLeader { candidates, .. } => {
            let mut remedies = Vec::new();
            if let Some(command) = commands.elect_each(Election::Unclean, topic, partitions) {
                remedies.push(
                    Remedy::new("Elect a leader", "This kind of election takes live in-sync replicas first.")
                        .command(command, "A live replica leads, those in sync first.")
                        .danger(Risk::Exposes, "Loses state if no in-sync replica lives at that moment.")
                        .given(format!("{} is alive and in sync", words::brokers(candidates)), true)
                        .verify(commands.describe_topic(topic))
                        .undo("Cannot be undone."),
                );
            }
            remedies.extend(candidates.iter().take(1).map(|&id| {
                super::restart::restart(
                    context,
                    id,
                    format!("Last: restart broker {id}"),
                    "A broker that returns makes the controller elect again.",
                )
            }));
            remedies
        }
        Trouble::LeaderLost { leader, .. } => vec![step(
            format!("Start broker {leader}"),
            "It has the data: the coordinators come back by themselves, and nothing is lost.",
        )],
        Trouble::BelowMin { .. } => vec![
            step("Bring the missing followers back", "Transactions go on as soon as enough replicas are in sync.")
                .looks(commands.describe_topic(topic)),
        ],
        Trouble::NotServed { leader } => vec![super::restart::restart(
            context,
            *leader,
            format!("Restart broker {leader}"),
            "Another broker, or itself after the restart, loads the partitions anew.",
        )],
    }
}

fn factor(
    context: &Context<'_, '_>,
    topic: &str,
    partitions: &BTreeMap<PartitionId, PartitionFacts<'_>>,
) -> Option<Finding> {
    let wanted = context.facts.registered.len().min(3);
    let low: Vec<_> = partitions.iter().filter(|(_, seen)| seen.newest.replicas.len() < wanted).collect();
    let least = low.iter().map(|(_, seen)| seen.newest.replicas.len()).min()?;
    let brokers: BTreeSet<BrokerId> = low.iter().flat_map(|(_, seen)| seen.newest.replicas.iter().copied()).collect();
    let who = if topic == TRANSACTION_STATE { "exactly-once applications" } else { "share groups" };
    let which = if low.len() == partitions.len() {
        "all its partitions".to_owned()
    } else {
        format!("{} of {} partitions", low.len(), partitions.len())
    };
    let mut finding = finding(
        FACTOR,
        Severity::Warning,
        if least <= 1 {
            format!(
                "{topic} has replication factor {least} ({which}): if one of its brokers stops, {who} on it stand still."
            )
        } else {
            format!(
                "{topic} has replication factor {least} ({which}): 3 would survive one more failure of its brokers."
            )
        },
    );
    finding.evidence.push(seen_(format!("There are {} brokers.", context.facts.registered.len())));
    let setting = if topic == TRANSACTION_STATE {
        "transaction.state.log.replication.factor"
    } else {
        "share.coordinator.state.topic.replication.factor"
    };
    finding.remedies.push(
        step(
            format!("Raise its replication factor to {wanted}"),
            format!(
                "A reassignment adds replicas without losing anything. {setting}={wanted} counts only when the topic is made."
            ),
        )
        .looks(context.commands().describe_topic(topic)),
    );
    finding.brokers = brokers.into_iter().collect();
    Some(finding)
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};
    use crate::snapshot::{SHARE_GROUP_STATE, TRANSACTION_STATE};

    fn transactions() -> Sample {
        Sample::kraft(3, 3, 3).state_topic(TRANSACTION_STATE, 6, 3)
    }

    #[test]
    fn nobody_leads_and_nobody_alive_may() {
        let sample = Sample::kraft(3, 3, 3).state_topic(TRANSACTION_STATE, 6, 1).later(5).gone(1).leaderless_after(1);
        let sample = sample.state_no_leader(TRANSACTION_STATE, 0, &[1]).state_no_leader(TRANSACTION_STATE, 3, &[1]);
        let report = sample.later(20).report();
        insta::assert_snapshot!(text(&report, super::TRANSACTION), @"
        [error] 2 of 6 partitions of __transaction_state have no leader: exactly-once applications on them stand still; consumer groups are not concerned.
          outlook: It will not heal by itself.
          seen: Partitions of __transaction_state: 0, 3.
          seen: Partition 0: no leader, replicas [1], ISR [1].
          seen: Broker 1 (127.0.0.1:9001): connection refused.
          not seen: Which applications are concerned.
          -> Start broker 1: The data is there: the coordinators come back by themselves, and nothing is lost.
        ");
    }

    #[test]
    fn a_leader_is_lost_and_an_election_is_due() {
        insta::assert_snapshot!(text(&transactions().gone(1).report(), super::TRANSACTION), @"
        [error] Broker 1 is down: it leads 2 of 6 partitions of __transaction_state. Exactly-once applications on them stand still; consumer groups are not concerned.
          outlook: An election is due by 12:00:13 UTC.
          seen: Partitions of __transaction_state: 0, 3.
          seen: Partition 0: leader 1, replicas [1, 2, 3], ISR [1, 2, 3].
          seen: Broker 1 (127.0.0.1:9001): connection refused.
          not seen: Which applications are concerned.
          -> Wait for the election: It needs no help.
        ");
    }

    #[test]
    fn a_leader_that_does_not_serve() {
        let sample = transactions().transaction_canary(1, 0, 16);
        assert!(!slugs(&sample.clone().later(5).report()).contains(&super::TRANSACTION.to_owned()));
        insta::assert_snapshot!(text(&sample.later(70).report(), super::TRANSACTION), @"
        [error] Broker 1 leads partition 0 of __transaction_state, and does not serve it: exactly-once applications on it stand still; consumer groups are not concerned.
          outlook: It will not heal by itself.
          seen: Partitions of __transaction_state: 0.
          seen: Partition 0: leader 1, replicas [1, 2, 3], ISR [1, 2, 3].
          seen: Asked for made-up transactional ids, broker 1 has said for a minute that it does not coordinate them.
          not seen: Which applications are concerned.
          -> Restart broker 1: Another broker, or itself after the restart, loads the partitions anew.
             if (met): broker 1 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 1 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
        ");
    }

    #[test]
    fn too_few_in_sync() {
        let sample = transactions().state_isr(TRANSACTION_STATE, 0, &[1]);
        assert!(!slugs(&sample.clone().later(5).report()).contains(&super::TRANSACTION.to_owned()), "a restart");
        insta::assert_snapshot!(text(&sample.later(60).report(), super::TRANSACTION), @"
        [error] Partition 0 of __transaction_state has fewer replicas in sync than min.insync.replicas=2 asks for: exactly-once applications on it stand still; consumer groups are not concerned.
          outlook: It will not heal by itself.
          seen: Partitions of __transaction_state: 0.
          seen: Partition 0: leader 1, replicas [1, 2, 3], ISR [1].
          not seen: Which applications are concerned.
          -> Bring the missing followers back: Transactions go on as soon as enough replicas are in sync.
             $ kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __transaction_state
        ");
    }

    #[test]
    fn share_groups_stand_still() {
        let sample =
            Sample::kraft(3, 3, 3).state_topic(SHARE_GROUP_STATE, 3, 3).state_no_leader(SHARE_GROUP_STATE, 0, &[1]);
        insta::assert_snapshot!(text(&sample.later(60).report(), super::SHARE), @"
        [outage] Partition 0 of __share_group_state has no leader: share groups on it get no records; other groups are not concerned.
          outlook: It will not heal by itself.
          seen: Partitions of __share_group_state: 0.
          seen: Partition 0: no leader, replicas [1, 2, 3], ISR [1].
          not seen: Which share groups are concerned.
          -> Elect a leader: This kind of election takes live in-sync replicas first.
             if (met): broker 1 is alive and in sync
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type unclean --topic __share_group_state --partition 0
             changes: A live replica leads, those in sync first.
             ! (less safe while it lasts) Loses state if no in-sync replica lives at that moment.
             verify: kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __share_group_state
             undo: Cannot be undone.
          -> Last: restart broker 1: A broker that returns makes the controller elect again.
             if (met): broker 1 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 1 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
        ");
    }

    #[test]
    fn consumer_groups_are_not_concerned() {
        let report = transactions().state_no_leader(TRANSACTION_STATE, 0, &[]).later(60).report();
        assert!(report.partitions.iter().all(|partition| partition.status == Status::Working));
    }

    #[test]
    fn all_is_well() {
        let slugs = slugs(&transactions().report());
        assert!(slugs.is_empty(), "{slugs:?}");
    }

    #[test]
    fn few_replicas() {
        let sample = Sample::kraft(3, 3, 3).state_topic(TRANSACTION_STATE, 6, 1);
        insta::assert_snapshot!(text(&sample.report(), super::FACTOR), @"
        [warning] __transaction_state has replication factor 1 (all its partitions): if one of its brokers stops, exactly-once applications on it stand still.
          seen: There are 3 brokers.
          -> Raise its replication factor to 3: A reassignment adds replicas without losing anything. transaction.state.log.replication.factor=3 counts only when the topic is made.
             $ kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __transaction_state
        ");
    }

    #[test]
    fn while_no_broker_answers_nothing_can_be_told() {
        let sample = transactions().gone(1).gone(2).gone(3).later(60);
        assert!(!slugs(&sample.report()).contains(&super::TRANSACTION.to_owned()));
    }
}
