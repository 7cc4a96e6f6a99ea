//! `no-leader-no-live-replica`: a coordinator's partition has no leader, and nobody alive may become one.
//!
//! Kafka-semantics catalogue rows 1 and 47; founding incidents 1 and 3. Opens when every broker that answers says
//! leader -1 and no eligible replica (ISR, or ELR while the ISR is empty, KIP-966) lives; closes when one is back.

use super::ways_out::{never_delete_the_topic, who_answer};
use super::{Context, Rule, capital, cause, finding, likely, not_seen, seen_};
use crate::commands::Election;
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, Remedy, Risk, Severity};
use crate::verdict::Cause;
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

const SLUG: &str = "no-leader-no-live-replica";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "No leader, and no live replica that could become one",
        severity: "outage",
        means: "Each consumer group lives on one partition of `__consumer_offsets`, and the leader of that partition is \
                the group's coordinator. Here the partition has no leader, and none of the replicas that have all its \
                data is alive. Kafka waits for one of them rather than lose commits, for ever if need be. The groups on \
                this partition stand still: members cannot join, commit or read their committed offsets. Groups on other \
                partitions are not touched. With replication factor 1 one stopped broker is enough for this; that the \
                data topics have three replicas does not help, because coordinators live on this topic alone.",
        opens: "Every broker that answers says leader -1, and no eligible replica lives. Eligible are the members of the \
                ISR; where the ISR is empty (Kafka 4.0 and newer, KIP-966), the eligible leader replicas.",
        closes: "A broker with an eligible replica is back and leads, or an election was forced.",
        not_told: "Releases below 2.4 hide the ISR of a partition without a leader, and eligible leader replicas are told \
                   by KRaft brokers from 3.7 on only. Where neither is known, Unstuck says that it does not know who could \
                   lead. Whether the disk of the lost broker survived cannot be seen from outside.",
        clients_see: "Java and librdkafka clients log nothing at their default level and wait: FindCoordinator answers 15 \
                      (COORDINATOR_NOT_AVAILABLE) again and again. `commitSync` and `poll` end in a TimeoutException. \
                      sarama says \"Offset's topic has not yet been created\", which misleads: it exists. The groups \
                      vanish from `kafka-consumer-groups.sh --list` without an error, as if they had never been there.",
        way_out: "1. Start the broker that has the data. Within seconds of its start the groups go on where they were, \
                  and nothing is lost. 2. Only if its disk is gone for good, and another replica lives that was not in \
                  sync: an unclean election, which loses the commits that the survivor never got. 3. Only if there was no \
                  other replica: start the broker with an empty log directory and the same id, or run an unclean election \
                  after its start; the groups of this partition lose all their committed offsets. Then set each of them \
                  back by time with `kafka-consumer-groups.sh --reset-offsets --to-datetime`, or they start where \
                  `auto.offset.reset` says, which with `latest` skips records.",
        never: "Do not delete `__consumer_offsets` to have it created anew: all groups lose all offsets, those that work \
                included. Do not move the partition to another broker with a reassignment: it copies from the leader, and \
                there is none. It hangs, `--cancel` hangs with it, and an unclean election after it makes an empty log \
                the leader: that looks like a success and has lost everything, even if the old broker comes back.",
        twins: &[
            ("no-leader-live-replica", "there an in-sync replica lives, and an election without loss is possible"),
            ("leader-lost", "there the cluster still names the lost broker as leader: the moments before this one"),
            ("broker-not-reachable", "there the cluster lists the broker as live, and only we cannot reach it"),
        ],
        shadows: &["broker-ids-unknown", "broker-down", "groups-not-listed", "data-partition-without-leader"],
        versions: "all; unclean elections by command from 2.4 on (KIP-460)",
        sources: &[
            "KIP-460 (kinds of elections)",
            "KIP-966 (eligible leader replicas)",
            "KAFKA-8442 (the ISR hidden below 2.4)",
            "KafkaController, PartitionStateMachine.scala (offline partition leader election)",
            "PartitionChangeBuilder.java (the same in KRaft)",
        ],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let select = cause(|cause| match cause {
        Cause::NoLeaderNoCandidate { eligible } => Some(eligible.clone()),
        _ => None,
    });
    context.group_by(select).into_iter().map(|(eligible, partitions)| explain(context, &eligible, partitions)).collect()
}

fn explain(context: &Context<'_, '_>, eligible: &[BrokerId], partitions: Vec<PartitionId>) -> Finding {
    let replicas = context.replicas_of(&partitions);
    let only = replicas.len() == 1;
    let who = words::brokers(eligible);
    let sentence = if eligible.is_empty() {
        format!("No leader, and no broker is known that could lead: {}.", context.reach(&partitions))
    } else if only {
        format!("{} held the only replica of {} and is down.", capital(&who), context.reach(&partitions))
    } else {
        let what = if elr(context, &partitions) { "eligible leader replicas" } else { "in-sync replicas" };
        format!("No leader, and the {what} are down ({who}): {}.", context.reach(&partitions))
    };
    let mut finding = finding(SLUG, Severity::Outage, sentence);
    finding.outlook = Some(match eligible {
        [] => "It will not heal by itself.".to_owned(),
        [one] => format!("It will not heal by itself: only broker {one} can lead, with all its data."),
        many => format!("It will not heal by itself: one of {} has to come back.", words::brokers(many)),
    });
    finding.evidence.extend(partitions.first().map(|&partition| context.everyone_says_no_leader(partition)));
    for &broker in eligible {
        finding.evidence.push(seen_(format!("{}: {}.", capital(&context.broker(broker)), context.trouble(broker))));
    }
    if elr(context, &partitions) && !eligible.is_empty() {
        finding.evidence.push(seen_(format!(
            "The ISR is empty; eligible leader replicas (ELR): {}. An election of one of them loses nothing.",
            words::ids(eligible)
        )));
    }
    if replicas.len() > 1 && !eligible.is_empty() {
        let behind: Vec<_> = replicas.iter().copied().filter(|id| !eligible.contains(id)).collect();
        if !behind.is_empty() {
            finding.evidence.push(likely(format!(
                "The other replicas ({}) were not in sync: leading from them would lose commits.",
                words::brokers(&behind)
            )));
        }
    }
    if eligible.is_empty() {
        finding.evidence.push(not_seen(
            "Which replicas may lead: the ISR is shown as empty, and eligible leader replicas were not told."
                .to_owned(),
        ));
    }
    finding.remedies = remedies(context, eligible, &replicas, &partitions);
    finding.avoid = avoid(&replicas);
    finding.brokers = eligible.to_vec();
    finding.partitions = partitions;
    finding
}

/// Whether it is the ELR (KIP-966) that tells who may lead.
fn elr(context: &Context<'_, '_>, partitions: &[PartitionId]) -> bool {
    let first = partitions.first().and_then(|id| context.facts.partitions.get(id));
    first.is_some_and(|seen| seen.newest.isr.is_empty() && !seen.eligible.is_empty() && seen.newest.replicas.len() > 1)
}

fn remedies(
    context: &Context<'_, '_>,
    eligible: &[BrokerId],
    replicas: &[BrokerId],
    partitions: &[PartitionId],
) -> Vec<Remedy> {
    let could_lead = if eligible.is_empty() { replicas } else { eligible };
    let why = "The data is there: the groups come back by themselves within seconds, and nothing is lost.";
    let mut remedies = vec![context.start(could_lead, eligible.is_empty(), why)];
    let lost = format!("the disk of {} is lost for good", words::brokers(could_lead));
    let offsets = context.offsets_of(partitions);
    let behind = context.facts.answering_among(replicas);
    if !behind.is_empty() {
        let who = words::brokers(&behind);
        let one = if behind.len() == 1 { who.clone() } else { format!("one of {who}") };
        let why = format!("Makes {one} leader, with what it had when it fell out of sync.");
        let title = "Only if its disk is lost: elect a replica that was not in sync";
        let forced = context
            .election(Election::Unclean, partitions, title, &why)
            .unwrap_or_else(|| allow_unclean(context, title, &why));
        let danger = format!(
            "Loses {offsets}, as far as they are newer than that replica: those groups read again or skip, as \
             auto.offset.reset says."
        );
        remedies.push(Remedy {
            undo: Some("Impossible: when the old leader returns, it cuts its log to the new leader's.".to_owned()),
            ..context.kept_first(forced).given(lost, None).given(who_answer(&behind), true).danger(Risk::Loses, danger)
        });
    } else if replicas.len() == 1 {
        remedies.push(
            Remedy::new(
                "Only if its disk is lost: start it with an empty log directory and the same id",
                "An empty replica may lead the partition again. Other topics on that disk are rebuilt from their other \
                 replicas, if they have any. If no leader comes (KRaft may refuse an empty replica), an unclean election \
                 after its start makes it leader.",
            )
            .looks(context.commands().save_topic(OFFSETS_TOPIC))
            .given(lost, None)
            .danger(Risk::Loses, format!("Loses {offsets} for good. Keep first what the command shows."))
            .verify(context.is_back(could_lead))
            .undo("Impossible."),
        );
    }
    remedies
}

/// Below 2.4 no tool elects uncleanly: the topic's setting has to allow it.
fn allow_unclean(context: &Context<'_, '_>, title: &str, why: &str) -> Remedy {
    let commands = context.commands();
    let setting = "unclean.leader.election.enable";
    Remedy::new(title, format!("{why} Releases below 2.4 have no command for this election, so the topic allows it."))
        .command(
            commands.set_topic(OFFSETS_TOPIC, &format!("{setting}=true")),
            format!("{setting} of {OFFSETS_TOPIC}: every partition of it may now elect a replica that is not in sync."),
        )
        .verify(format!(
            "`{}` shows a leader. If none comes within a minute, it takes a new controller.",
            commands.describe_topic(OFFSETS_TOPIC)
        ))
        .undo(format!(
            "Take the setting away at once: `{}`. What was lost stays lost.",
            commands.unset_topic(OFFSETS_TOPIC, setting)
        ))
}

fn avoid(replicas: &[BrokerId]) -> Vec<Avoid> {
    let mut avoid = vec![never_delete_the_topic()];
    if replicas.len() == 1 {
        avoid.push(Avoid {
            what: "Do not reassign these partitions to a live broker".to_owned(),
            why: "A reassignment copies from the leader, and there is none. It hangs, cancelling it hangs too, and an \
                  unclean election after it makes an empty log the leader: it looks like a success and has lost all."
                .to_owned(),
        });
    }
    avoid
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn the_only_replica_is_down() {
        let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").gone(1).leaderless_after(1);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] Broker 1 held the only replica of 2 of 6 partitions of __consumer_offsets (1 known group) and is down.
          outlook: It will not heal by itself: only broker 1 can lead, with all its data.
          seen: Brokers 2 and 3 say: no leader, leader epoch 6.
          seen: Broker 1 (127.0.0.1:9001): connection refused.
          -> Start broker 1: The data is there: the groups come back by themselves within seconds, and nothing is lost.
             if (not known): its log directories are still there
             verify: Unstuck shows broker 1 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
          -> Only if its disk is lost: start it with an empty log directory and the same id: An empty replica may lead the partition again. Other topics on that disk are rebuilt from their other replicas, if they have any. If no leader comes (KRaft may refuse an empty replica), an unclean election after its start makes it leader.
             if (not known): the disk of broker 1 is lost for good
             $ kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe --topic __consumer_offsets > topic-before.txt
             ! (loses data) Loses the committed offsets of 1 group for good. Keep first what the command shows.
             verify: Unstuck shows broker 1 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
             undo: Impossible.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
          avoid: Do not reassign these partitions to a live broker: A reassignment copies from the leader, and there is none. It hangs, cancelling it hangs too, and an unclean election after it makes an empty log the leader: it looks like a success and has lost all.
        ");
    }

    #[test]
    fn the_last_in_sync_replica_is_down() {
        let sample = Sample::kraft(3, 3, 3).isr(0, &[1]).gone(1).no_leader(0, &[1]);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] No leader, and the in-sync replicas are down (broker 1): partition 0 of __consumer_offsets.
          outlook: It will not heal by itself: only broker 1 can lead, with all its data.
          seen: Brokers 2 and 3 say: no leader, leader epoch 6.
          seen: Broker 1 (127.0.0.1:9001): connection refused.
          likely: The other replicas (brokers 2 and 3) were not in sync: leading from them would lose commits.
          -> Start broker 1: The data is there: the groups come back by themselves within seconds, and nothing is lost.
             if (not known): its log directories are still there
             verify: Unstuck shows broker 1 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
          -> Only if its disk is lost: elect a replica that was not in sync: Makes one of brokers 2 and 3 leader, with what it had when it fell out of sync.
             if (not known): you kept how __consumer_offsets looks now, for whoever has to repair it: `kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe --topic __consumer_offsets > topic-before.txt`
             if (not known): the disk of broker 1 is lost for good
             if (met): brokers 2 and 3 answer
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9002 --election-type unclean --topic __consumer_offsets --partition 0
             changes: The leader of partition 0 of __consumer_offsets, which gets a new leader epoch.
             ! (loses data) Loses the committed offsets of every group there, as far as they are newer than that replica: those groups read again or skip, as auto.offset.reset says.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe --topic __consumer_offsets` shows its leader, and Unstuck says that the groups there work.
             undo: Impossible: when the old leader returns, it cuts its log to the new leader's.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }

    #[test]
    fn an_eligible_leader_replica_is_named_and_not_any_replica() {
        let sample = Sample::kraft(3, 3, 3).eligible(0, &[1]).gone(1).no_leader(0, &[]);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] No leader, and the eligible leader replicas are down (broker 1): partition 0 of __consumer_offsets.
          outlook: It will not heal by itself: only broker 1 can lead, with all its data.
          seen: Brokers 2 and 3 say: no leader, leader epoch 6.
          seen: Broker 1 (127.0.0.1:9001): connection refused.
          seen: The ISR is empty; eligible leader replicas (ELR): [1]. An election of one of them loses nothing.
          likely: The other replicas (brokers 2 and 3) were not in sync: leading from them would lose commits.
          -> Start broker 1: The data is there: the groups come back by themselves within seconds, and nothing is lost.
             if (not known): its log directories are still there
             verify: Unstuck shows broker 1 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
          -> Only if its disk is lost: elect a replica that was not in sync: Makes one of brokers 2 and 3 leader, with what it had when it fell out of sync.
             if (not known): you kept how __consumer_offsets looks now, for whoever has to repair it: `kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe --topic __consumer_offsets > topic-before.txt`
             if (not known): the disk of broker 1 is lost for good
             if (met): brokers 2 and 3 answer
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9002 --election-type unclean --topic __consumer_offsets --partition 0
             changes: The leader of partition 0 of __consumer_offsets, which gets a new leader epoch.
             ! (loses data) Loses the committed offsets of every group there, as far as they are newer than that replica: those groups read again or skip, as auto.offset.reset says.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe --topic __consumer_offsets` shows its leader, and Unstuck says that the groups there work.
             undo: Impossible: when the old leader returns, it cuts its log to the new leader's.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }

    #[test]
    fn not_while_a_replica_in_sync_lives() {
        let sample = Sample::kraft(3, 3, 3).gone(1).no_leader(0, &[1, 2, 3]);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn an_empty_isr_of_one_replica_hides_nobody() {
        let sample = Sample::kraft(3, 3, 1).gone(1).no_leader(0, &[]);
        let text = text(&sample.report(), super::SLUG);
        assert!(text.contains("only broker 1 can lead, with all its data"), "{text}");
    }

    #[test]
    fn an_unknown_isr_is_said() {
        let sample = Sample::kraft(3, 3, 2).gone(1).gone(2).no_leader(0, &[]);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] No leader, and no broker is known that could lead: partition 0 of __consumer_offsets.
          outlook: It will not heal by itself.
          seen: Broker 3 says: no leader, leader epoch 6.
          not seen: Which replicas may lead: the ISR is shown as empty, and eligible leader replicas were not told.
          -> Start brokers 1 and 2: The data is there: the groups come back by themselves within seconds, and nothing is lost.
             if (not known): their log directories are still there
             verify: Unstuck shows brokers 1 and 2 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }
}
