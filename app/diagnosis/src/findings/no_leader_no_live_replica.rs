//! `no-leader-no-live-replica`: a coordinator's partition has no leader, and nobody alive may become one.
//!
//! Kafka-semantics catalogue rows 1 and 47; founding incidents 1 and 3. Opens when every broker that answers says
//! leader -1 and no eligible replica (ISR, or ELR while the ISR is empty, KIP-966) lives; closes when one is back.

use super::{
    Context, Rule, capital, cause, describe_topic, election_command, everyone_alive, finding, likely, not_seen, seen_,
    step,
};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "no-leader-no-live-replica";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A coordinator's partition has no leader, and nobody alive may become one",
        severity: "outage",
        opens: "Every broker that answers says \"no leader\", and no eligible replica lives.",
        closes: "An eligible replica is back.",
        shadows: &["broker-ids-unknown"],
        ..Entry::BLANK
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
    let replicas = replicas_of(context, &partitions);
    let only = replicas.len() == 1;
    let who = words::brokers(eligible);
    let sentence = if eligible.is_empty() {
        format!("No leader, and no broker is known that could lead: {}.", context.reach(&partitions))
    } else if only {
        format!("{} held the only replica of {} and is down.", capital(&who), context.reach(&partitions))
    } else {
        format!("No leader, and the in-sync replicas are down ({who}): {}.", context.reach(&partitions))
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
    finding.brokers = eligible.to_vec();
    finding.partitions = partitions;
    finding
}

fn replicas_of(context: &Context<'_, '_>, partitions: &[PartitionId]) -> Vec<BrokerId> {
    let views = partitions.iter().filter_map(|partition| context.facts.partitions.get(partition));
    let mut replicas: Vec<_> = views.flat_map(|seen| seen.newest.replicas.iter().copied()).collect();
    replicas.sort_unstable();
    replicas.dedup();
    replicas
}

fn remedies(
    context: &Context<'_, '_>,
    eligible: &[BrokerId],
    replicas: &[BrokerId],
    partitions: &[PartitionId],
) -> Vec<Remedy> {
    let groups = context.group_count(partitions);
    let offsets = if groups == 0 {
        "committed offsets".to_owned()
    } else {
        format!("committed offsets of {}", words::count(groups, "group"))
    };
    let title = match eligible {
        [] => format!("Start {}", words::brokers(replicas)),
        [one] => format!("Start broker {one}"),
        many => format!("Start one of {}", words::brokers(many)),
    };
    let mut remedies =
        vec![step(title, "The data is there: the groups come back by themselves within seconds, and nothing is lost.")];
    if let Some(&partition) = partitions.first()
        && !everyone_alive(context, replicas).is_empty()
    {
        remedies.push(Remedy {
            title: "Only if its disk is lost: elect a replica that was not in sync".to_owned(),
            why: format!(
                "Makes {} leader. Once per partition concerned.",
                words::brokers(&everyone_alive(context, replicas))
            ),
            command: Some(election_command(context, "unclean", partition)),
            danger: Some(format!("Loses {offsets}: those groups read again or skip, as auto.offset.reset says.")),
            ..Remedy::default()
        });
    } else if replicas.len() == 1 {
        remedies.push(Remedy {
            title: "Only if its disk is lost: start it with an empty log directory and the same id".to_owned(),
            why: "An empty replica may lead the partition again. Other topics on that disk are rebuilt from their other \
                  replicas, if they have any."
                .to_owned(),
            command: Some(describe_topic(context)),
            danger: Some(format!(
                "Loses {offsets} for good. Save the output of this command first. Whether KRaft elects an empty replica \
                 depends on the release; an unclean election may be needed."
            )), ..Remedy::default() });
    }
    remedies.push(Remedy {
        title: "Do not delete __consumer_offsets".to_owned(),
        why: "Some guides advise it. It helps no sooner than starting the broker.".to_owned(),
        command: None,
        danger: Some("Deletes the committed offsets of all groups, the working ones included.".to_owned()),
        ..Remedy::default()
    });
    remedies
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
          -> Only if its disk is lost: start it with an empty log directory and the same id: An empty replica may lead the partition again. Other topics on that disk are rebuilt from their other replicas, if they have any.
             $ kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe --topic __consumer_offsets
             ! Loses committed offsets of 1 group for good. Save the output of this command first. Whether KRaft elects an empty replica depends on the release; an unclean election may be needed.
          -> Do not delete __consumer_offsets: Some guides advise it. It helps no sooner than starting the broker.
             ! Deletes the committed offsets of all groups, the working ones included.
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
          -> Only if its disk is lost: elect a replica that was not in sync: Makes brokers 2 and 3 leader. Once per partition concerned.
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9002 --election-type unclean --topic __consumer_offsets --partition 0
             ! Loses committed offsets: those groups read again or skip, as auto.offset.reset says.
          -> Do not delete __consumer_offsets: Some guides advise it. It helps no sooner than starting the broker.
             ! Deletes the committed offsets of all groups, the working ones included.
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
          -> Do not delete __consumer_offsets: Some guides advise it. It helps no sooner than starting the broker.
             ! Deletes the committed offsets of all groups, the working ones included.
        ");
    }
}
