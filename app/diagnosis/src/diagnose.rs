//! From facts and memory to the report.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::facts::{Facts, metadata};
use crate::findings::{self, Context};
use crate::memory::Memory;
use crate::report::{
    BootstrapReport, BrokerReport, BrokerState, DataPartitionsReport, Finding, OffsetsTopicReport, PartitionReport,
    Report, Shard, Status, TopicPresence, ViewReport,
};
use crate::snapshot::{Observed, Snapshot};
use crate::verdict::{PartitionVerdict, judge, shard_word, since};
use crate::{BrokerId, PartitionId, could_not, headline, partition_words, placement_proof, time, what_if, words};

/// What a diagnosis is made from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The facts.
    pub snapshot: &'a Snapshot,
    /// What was seen before. It must have [learned](Memory::learn) the snapshot already.
    pub memory: &'a Memory,
    /// The present. Not before `snapshot.taken_at`.
    pub now: Timestamp,
}

/// The diagnosis: what is wrong, for whom, why, and what to do. Cannot fail; equal input gives equal output.
#[must_use]
pub fn diagnose(input: &Input<'_>) -> Report {
    let facts = Facts::draw(input.snapshot, input.memory, input.now);
    let proof = placement_proof::prove(&facts);
    let verdicts: BTreeMap<PartitionId, PartitionVerdict> =
        facts.partitions.iter().map(|(&id, seen)| (id, judge(&facts, &proof, id, seen))).collect();
    let findings = findings::find(&Context { facts: &facts, proof: &proof, verdicts: &verdicts });
    let partitions: Vec<_> =
        verdicts.iter().filter_map(|(&id, verdict)| partition_report(&facts, id, verdict, &findings)).collect();
    let groups = crate::groups::count(&facts, &proof, &partitions);
    let offsets_topic = offsets_topic(&facts, &findings);
    let brokers: Vec<_> = facts.snapshot.brokers.keys().map(|&id| broker_report(&facts, id, &partitions)).collect();
    let could_not_observe = could_not::could_not_observe(&facts, &proof);
    Report {
        cluster: input.snapshot.cluster.clone(),
        cluster_id: cluster_id(input.snapshot),
        observed_at: input.now,
        watching_since: input.memory.watching_since,
        pauses: input.memory.pauses.clone(),
        headline: headline::write(&facts, &partitions, &groups, &findings),
        bootstrap: bootstrap(input.snapshot),
        brokers,
        racks: what_if::racks(&facts, &partitions),
        offsets_topic,
        partitions,
        placement: proof,
        groups,
        group_settings: crate::groups::settings(&facts),
        data_partitions: data_partitions(input.snapshot),
        findings,
        could_not_observe,
    }
}

fn cluster_id(snapshot: &Snapshot) -> Option<String> {
    let told = snapshot.brokers.values().filter_map(|sight| sight.metadata.known()?.cluster_id.clone());
    let led = snapshot.bootstrap.values().filter_map(|sight| sight.answer.known()?.cluster_id.clone());
    told.chain(led).next()
}

fn bootstrap(snapshot: &Snapshot) -> Vec<BootstrapReport> {
    snapshot
        .bootstrap
        .iter()
        .map(|(address, sight)| BootstrapReport {
            address: address.clone(),
            ok: sight.answer.known().is_some(),
            sentence: match &sight.answer {
                Observed::Known(answer) => {
                    format!(
                        "answered at {}, lists {}",
                        time::clock(answer.at),
                        words::count(answer.broker_count, "live broker")
                    )
                }
                Observed::Unavailable(unavailable) => unavailable.why.to_string(),
                Observed::NotAsked => "not tried yet".to_owned(),
            },
        })
        .collect()
}

fn partition_report(
    facts: &Facts<'_>,
    partition: PartitionId,
    verdict: &PartitionVerdict,
    findings: &[Finding],
) -> Option<PartitionReport> {
    let seen = facts.partitions.get(&partition)?;
    let memory = facts.memory.partitions.get(&partition).cloned().unwrap_or_default();
    let view = seen.newest;
    let since = since(&memory, verdict.status, facts.now);
    let explaining: Vec<_> = findings.iter().filter(|finding| finding.partitions.contains(&partition)).collect();
    Some(PartitionReport {
        partition,
        status: verdict.status,
        sentence: partition_words::sentence(facts, verdict),
        since,
        since_after: since.and_then(|since| facts.memory.unseen_before(since)),
        expected_by: verdict.expected_by.clone(),
        outlook: explaining.first().and_then(|finding| finding.outlook.clone()),
        leader: view.leader,
        last_leader: view.leader.or(memory.last_leader).or(only_replica(&view.replicas)),
        leader_epoch: view.leader_epoch,
        replicas: view.replicas.clone(),
        isr: view.isr.clone(),
        eligible: if view.isr.is_empty() { seen.eligible.clone() } else { Vec::new() },
        live_replicas: view.replicas.iter().copied().filter(|&id| facts.electable_for(seen, id)).collect(),
        shard: verdict.shard,
        views_agree: (!facts.stale).then_some(seen.agree),
        writes_verified: verdict.writes_verified,
        served_by: verdict.served_by.clone(),
        findings: explaining.iter().map(|finding| finding.slug.clone()).collect(),
        group_count: facts.memory.groups.by_partition.get(&partition).map_or(0, std::collections::BTreeSet::len),
        views: facts.snapshot.brokers.keys().map(|&broker| view_report(facts, broker, partition)).collect(),
    })
}

/// With one replica there was never another leader.
fn only_replica(replicas: &[BrokerId]) -> Option<BrokerId> {
    match replicas {
        [one] => Some(*one),
        _ => None,
    }
}

fn view_report(facts: &Facts<'_>, broker: BrokerId, partition: PartitionId) -> ViewReport {
    let sight = facts.snapshot.brokers.get(&broker);
    let metadata = metadata(facts.snapshot, broker);
    let view = metadata.and_then(|metadata| metadata.offsets_topic.as_ref()?.partitions.get(&partition));
    let current = facts.answering.contains(&broker);
    let trouble = sight.and_then(|sight| sight.contact.trouble.as_ref());
    let error = match (trouble, view) {
        (Some(trouble), Some(_)) if !current => Some(format!("{}; this is what it said before", trouble.why)),
        (Some(trouble), _) if !current => Some(trouble.why.to_string()),
        (_, None) if metadata.is_some() => Some("does not list this partition".to_owned()),
        (_, None) => Some("not asked yet".to_owned()),
        (_, Some(view)) if view.error != 0 => {
            Some(format!("error {} ({})", view.error, crate::snapshot::error_name(view.error)))
        }
        _ => None,
    };
    ViewReport {
        broker,
        leader: view.and_then(|view| view.leader),
        leader_epoch: view.and_then(|view| view.leader_epoch),
        isr: view.map(|view| view.isr.clone()).unwrap_or_default(),
        controller: named_controller(facts, broker),
        sees_brokers: metadata.map(|view| view.brokers.keys().copied().collect()).unwrap_or_default(),
        answered_at: metadata.map(|view| view.at),
        shard: sight
            .filter(|_| current)
            .and_then(|sight| sight.canaries.get(&partition))
            .map_or(Shard::Unknown, shard_word),
        error,
    }
}

/// The controller that a broker names; never in KRaft, where the id is a random live broker.
fn named_controller(facts: &Facts<'_>, broker: BrokerId) -> Option<BrokerId> {
    let sight = facts.snapshot.brokers.get(&broker)?;
    (sight.kraft == Some(false)).then(|| sight.metadata.known()?.controller).flatten()
}

fn broker_report(facts: &Facts<'_>, broker: BrokerId, partitions: &[PartitionReport]) -> BrokerReport {
    let sight = facts.snapshot.brokers.get(&broker).cloned().unwrap_or_default();
    let state = facts.state(broker);
    let others = facts.answering.iter().any(|&id| id != broker);
    let coordinates: Vec<_> = partitions
        .iter()
        .filter(|report| report.leader.or(report.last_leader) == Some(broker))
        .map(|report| (report.partition, report.status, report.group_count))
        .collect();
    BrokerReport {
        broker,
        state,
        sentence: partition_words::broker_sentence(facts, broker),
        since: (!matches!(state, BrokerState::Answering | BrokerState::NotTried)).then(|| facts.silent_since(broker)),
        live_for_cluster: others.then(|| facts.listed_live.contains(&broker)),
        controller: named_controller(facts, broker),
        sees_brokers: sight.metadata.known().map(|view| view.brokers.keys().copied().collect()).unwrap_or_default(),
        holds: partitions
            .iter()
            .filter(|report| report.replicas.contains(&broker))
            .map(|report| report.partition)
            .collect(),
        group_count: coordinates.iter().map(|(_, _, groups)| groups).sum(),
        stuck_group_count: coordinates
            .iter()
            .filter(|(_, status, _)| *status == Status::Stuck)
            .map(|(_, _, groups)| groups)
            .sum(),
        coordinates: coordinates.into_iter().map(|(partition, _, _)| partition).collect(),
        last_answer: sight.contact.last_answer,
        if_it_stops: what_if::broker_stops(facts, broker),
        address: sight.address,
        overridden_from: sight.overridden_from,
        rack: sight.rack,
        release: sight.release,
        fenced: sight.fenced,
    }
}

fn offsets_topic(facts: &Facts<'_>, findings: &[Finding]) -> OffsetsTopicReport {
    let factors = || facts.partitions.values().map(|seen| seen.newest.replicas.len());
    let least = factors().min();
    let present = facts.presence == TopicPresence::Present || (facts.stale && least.is_some());
    let presence = if present { TopicPresence::Present } else { facts.presence };
    OffsetsTopicReport {
        presence,
        sentence: match (presence, least) {
            (TopicPresence::Present, Some(least)) => {
                format!("{}, replication factor {least}", words::count(facts.partitions.len(), "partition"))
            }
            (TopicPresence::Present, None) => "there, its partitions not looked at yet".to_owned(),
            (TopicPresence::Absent, _) => "does not exist yet".to_owned(),
            (TopicPresence::Vanished, _) => "gone: it was there before".to_owned(),
            (TopicPresence::MaybeHidden, _) => "not listed to us; whether it exists cannot be told".to_owned(),
            (TopicPresence::Unknown, _) => "could not be looked at".to_owned(),
        },
        partition_count: facts.partition_count(),
        replication_factor: least,
        max_replication_factor: factors().max(),
        registered_brokers: facts.registered.iter().copied().collect(),
        wanted_replication_factor: facts.registered.len().min(3),
        warning: findings
            .iter()
            .find(|finding| {
                finding.slug.starts_with("replication-factor") && finding.severity > crate::report::Severity::Info
            })
            .map(|finding| finding.sentence.clone()),
        min_insync_replicas: facts.min_isr(least.unwrap_or(usize::MAX)).filter(|_| least.is_some()),
        without_leader: facts.partitions.values().filter(|seen| seen.newest.leader.is_none()).count(),
    }
}

fn data_partitions(snapshot: &Snapshot) -> DataPartitionsReport {
    snapshot.client.known().map_or_else(DataPartitionsReport::default, |view| DataPartitionsReport {
        without_leader: Some(view.leaderless_count),
        named: view.leaderless.clone(),
        at: Some(view.at),
    })
}
