//! Placement proves itself: FindCoordinator answers against what the hash predicts.

use std::collections::BTreeMap;

use crate::BrokerId;
use crate::facts::Facts;
use crate::placement::partition_for;
use crate::report::{PlacementProof, TopicPresence};
use crate::snapshot::CoordinatorAnswers;
use crate::time::millis_between;
use crate::words;

/// How long answers must contradict the hash before that is more than a leadership change in between.
const CONTRADICTED_MS: i64 = 10_000;
/// The largest partition count that is tried as an explanation of contradicting answers.
const MAX_TRIED_COUNT: i32 = 1_000;

/// What the FindCoordinator answers of the brokers that answer prove.
pub(crate) fn prove(facts: &Facts<'_>) -> PlacementProof {
    match facts.presence {
        TopicPresence::Present => {}
        TopicPresence::Absent | TopicPresence::Vanished => return PlacementProof::NoTopic,
        TopicPresence::MaybeHidden | TopicPresence::Unknown => {
            return PlacementProof::Unproven { sentence: "__consumer_offsets could not be looked at".to_owned() };
        }
    }
    let Some(count) = facts.partition_count() else {
        return PlacementProof::Unproven { sentence: "the partitions of __consumer_offsets are not known".to_owned() };
    };
    let answers: BTreeMap<BrokerId, &CoordinatorAnswers> = facts
        .answering
        .iter()
        .filter_map(|id| Some((*id, facts.snapshot.brokers.get(id)?.coordinators.known()?)))
        .collect();
    let fits: BTreeMap<BrokerId, Fit> = answers.iter().map(|(&id, answers)| (id, fit(answers, count, count))).collect();
    let contradicting: Vec<BrokerId> = fits.iter().filter(|(_, fit)| fit.against > 0).map(|(&id, _)| id).collect();
    if contradicting.is_empty() {
        let proven = fits.values().any(|fit| fit.with > 0);
        return if proven && answers.iter().all(|(&broker, answers)| tells(facts, broker, answers, count)) {
            PlacementProof::Certain { partition_count: count }
        } else if proven {
            let sentence = "a broker is set to another partition count, and every answer fits both".to_owned();
            PlacementProof::Unproven { sentence }
        } else {
            PlacementProof::Unproven { sentence: not_asked(facts) }
        };
    }
    let patient = facts
        .memory
        .placement_contradicted_since
        .is_some_and(|since| millis_between(since, facts.now) >= CONTRADICTED_MS);
    if patient {
        return match counts_used(facts, count, &answers, &contradicting, true) {
            Some(used) => drift(count, used, &contradicting),
            None => foreign(&answers),
        };
    }
    // A broker whose own setting explains its answers needs no second look.
    if let Some(used) = counts_used(facts, count, &answers, &contradicting, false) {
        return drift(count, used, &contradicting);
    }
    // After a proof it is most likely a leadership that moved between two answers. Without one, a partition that may be
    // wrong is not shown.
    let sentence = "brokers name other coordinators than the hash predicts; looking again before saying why".to_owned();
    if facts.memory.placement_proven_for == Some(count) {
        PlacementProof::Unproven { sentence }
    } else {
        PlacementProof::Contradicted { sentence }
    }
}

/// Whether the answers of a broker tell the topic's partition count from the one that the broker is set to (and would use
/// if the topic came to be, or grew, after its start). With a single leader they never do.
fn tells(facts: &Facts<'_>, broker: BrokerId, answers: &CoordinatorAnswers, count: i32) -> bool {
    let sight = facts.snapshot.brokers.get(&broker);
    let setting = sight.and_then(|sight| sight.configs.known()?.offsets_topic_num_partitions);
    setting.is_none_or(|other| other == count || fit(answers, other, count).against > 0)
}

/// Whether any answer contradicts the hash in this snapshot; the memory turns it into "since when".
pub(crate) fn contradicted_now(facts: &Facts<'_>) -> bool {
    let Some(count) = facts.partition_count() else { return false };
    facts
        .answering
        .iter()
        .filter_map(|id| facts.snapshot.brokers.get(id)?.coordinators.known())
        .any(|answers| fit(answers, count, count).against > 0)
}

/// The partition count that a broker uses, where drift was found.
pub(crate) fn count_used_by(proof: &PlacementProof, broker: BrokerId) -> Option<i32> {
    match proof {
        PlacementProof::Drift { brokers, .. } => brokers.get(&broker).copied(),
        _ => None,
    }
}

/// Answers that agree with a partition count, and that contradict it.
/// An error code says nothing about placement, nor does a partition whose leader the broker did not know;
/// but nobody can be named for a partition that the topic does not have.
struct Fit {
    with: usize,
    against: usize,
}

fn fit(answers: &CoordinatorAnswers, count: i32, actual: i32) -> Fit {
    let mut fit = Fit { with: 0, against: 0 };
    for (group, answer) in &answers.answers {
        let (Some(partition), Ok(named)) = (partition_for(group, count), answer) else { continue };
        match answers.leaders.get(&partition) {
            Some(leader) if leader == named => fit.with += 1,
            Some(_) => fit.against += 1,
            None if partition >= actual => fit.against += 1,
            None => {}
        }
    }
    fit
}

/// The partition count that each broker uses, if that explains all answers: its own setting, the count that the topic
/// had before, or, with `guess`, any other.
fn counts_used(
    facts: &Facts<'_>,
    count: i32,
    answers: &BTreeMap<BrokerId, &CoordinatorAnswers>,
    contradicting: &[BrokerId],
    guess: bool,
) -> Option<BTreeMap<BrokerId, i32>> {
    let used = answers.iter().map(|(&broker, answers)| {
        if !contradicting.contains(&broker) {
            return Some((broker, count));
        }
        let configs = facts.snapshot.brokers.get(&broker).and_then(|sight| sight.configs.known());
        let setting = configs.and_then(|configs| configs.offsets_topic_num_partitions);
        let remembered = facts.memory.offsets_topic.as_ref().map(|topic| topic.partition_count);
        let guesses = 1..=if guess { MAX_TRIED_COUNT } else { 0 };
        let mut tried = setting.into_iter().chain(remembered).chain(guesses).filter(|&other| other != count);
        let explains = |&other: &i32| {
            let fit = fit(answers, other, count);
            fit.against == 0 && fit.with > 0
        };
        tried.find(explains).map(|other| (broker, other))
    });
    used.collect()
}

fn drift(count: i32, used: BTreeMap<BrokerId, i32>, contradicting: &[BrokerId]) -> PlacementProof {
    let drifted: Vec<String> =
        contradicting.iter().filter_map(|id| Some(format!("broker {id} uses {}", used.get(id)?))).collect();
    PlacementProof::Drift {
        partition_count: count,
        sentence: format!(
            "__consumer_offsets has {count} partitions, but brokers place groups with the count that they read at their \
             start: {}. Until every broker has been restarted, a group can live on either partition.",
            words::list(&drifted)
        ),
        brokers: used,
    }
}

fn foreign(answers: &BTreeMap<BrokerId, &CoordinatorAnswers>) -> PlacementProof {
    let named = answers.values().flat_map(|answers| &answers.answers);
    let example = named.into_iter().find_map(|(group, answer)| Some((group, answer.as_ref().ok()?)));
    let example =
        example.map(|(group, broker)| format!(" For \"{group}\" it names broker {broker}.")).unwrap_or_default();
    PlacementProof::Foreign {
        sentence: format!(
            "This cluster does not place groups as Kafka does (a proxy, a tenant prefix, or another implementation), \
             so no partition is shown.{example}"
        ),
    }
}

fn not_asked(facts: &Facts<'_>) -> String {
    let why = facts
        .answering
        .iter()
        .filter_map(|id| facts.snapshot.brokers.get(id)?.coordinators.unavailable())
        .map(|unavailable| unavailable.why.to_string())
        .next();
    match why {
        Some(why) => format!("FindCoordinator could not prove it: {why}"),
        None => "FindCoordinator has not been asked yet".to_owned(),
    }
}
