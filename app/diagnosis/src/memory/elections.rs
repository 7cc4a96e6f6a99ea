//! Whether a leader was elected that was not in sync, from looks that are a second apart.
//!
//! What a look shows of such an election depends on the moment. The partition may be seen without a leader in between, or
//! not. The other replicas may have joined the new leader's ISR already. One broker may have heard of it, and others not.
//! And while there is no leader, the ISR may be hidden (below 2.4, KAFKA-8442) or empty, with those who may lead listed
//! apart (KIP-966).

use super::partitions::{PartitionMemory, UncleanElection};
use crate::BrokerId;
use crate::facts::{Facts, PartitionFacts};
use crate::time::millis_between;

/// After a longer pause in looking, replicas may have joined the ISR and their leader may have died unseen.
const PAUSE_MS: i64 = 10_000;
/// Brokers that still disagree after that have an old view; the higher epoch holds.
const DISAGREE_MS: i64 = 10_000;
/// How old the list of eligible replicas may be: it is asked for every few seconds, up to 15.
const ELIGIBLE_MS: i64 = 20_000;

/// Judges a leader that was not leader at the look before.
pub(super) fn suspect(
    before: &PartitionMemory,
    facts: &Facts<'_>,
    seen: &PartitionFacts<'_>,
    leader: BrokerId,
) -> Option<UncleanElection> {
    let looked = before.seen_at.filter(|&at| millis_between(at, facts.now) <= PAUSE_MS)?;
    let leaderless = before.leadership.0.is_none();
    // A KRaft broker that starts tells older ISRs while it reads the metadata log; who may lead is told at its end.
    let told = leaderless && facts.kraft == Some(true) && !before.last_eligible.is_empty();
    let in_sync_before = if told { &before.last_eligible } else { &before.last_isr };
    let in_sync = in_sync_before.contains(&leader) || before.last_eligible.contains(&leader);
    if in_sync || in_sync_before.is_empty() || !in_sync_before.iter().all(|&id| facts.lost(id)) {
        return None;
    }
    // Replicas that left the ISR a moment ago may be eligible, and were not listed yet.
    let lists_eligible = facts.snapshot.brokers.values().any(|sight| sight.elr.known().is_some());
    let just_left = before.short_isr_since.is_some_and(|since| millis_between(since, facts.now) < ELIGIBLE_MS);
    let below_min = facts.min_isr(seen.newest.replicas.len()).is_none_or(|min| before.last_isr.len() < min);
    if !told && facts.kraft == Some(true) && lists_eligible && just_left && below_min {
        return None;
    }
    // Only a leader takes replicas into the ISR. So none joined since the last look if there was no leader, or a dead one;
    // else this one may have joined in between, unless it is still alone.
    let dead = |id: &BrokerId| {
        let trouble = facts.snapshot.brokers.get(id).and_then(|sight| sight.contact.trouble.as_ref());
        trouble.is_some_and(|trouble| trouble.since < looked)
    };
    let nobody_joined = leaderless || before.leadership.0.as_ref().is_some_and(dead);
    let alone = seen.newest.isr == [leader];
    (nobody_joined || alone).then(|| UncleanElection { at: facts.now, leader, isr_before: in_sync_before.clone() })
}

/// Holds a suspected election for seen once brokers agree on the leader, or the others have had the time to hear of it.
pub(super) fn confirm(after: &mut PartitionMemory, facts: &Facts<'_>, seen: &PartitionFacts<'_>) {
    let Some(suspected) = after.suspected_election.take_if(|suspected| {
        let settled = seen.agree || millis_between(suspected.at, facts.now) >= DISAGREE_MS;
        settled || seen.newest.leader != Some(suspected.leader)
    }) else {
        return;
    };
    if seen.newest.leader == Some(suspected.leader) {
        after.unclean_election = Some(suspected);
    }
}

/// Takes those off the remembered eligible replicas that are eligible no more: they are in the ISR again, or the ISR is
/// as large as min.insync.replicas asks for, which empties the list (KIP-966).
pub(super) fn forget_eligible(after: &mut PartitionMemory, facts: &Facts<'_>, seen: &PartitionFacts<'_>) {
    let view = seen.newest;
    if view.leader.is_none() || !seen.agree {
        return;
    }
    after.last_eligible.retain(|id| !view.isr.contains(id));
    let min = facts.min_isr(view.replicas.len()).filter(|_| facts.min_isr_verified());
    if min.is_some_and(|min| view.isr.len() >= min) {
        after.last_eligible.clear();
    }
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs};

    const SLUG: &str = "offsets-may-be-lost";

    /// Broker 1 alone is in sync of partition 0, whose replicas are 1, 2 and 3, for longer than any list is old.
    fn alone(sample: Sample) -> Sample {
        sample.isr(0, &[1]).later(40).later(1)
    }

    fn kraft() -> Sample {
        alone(Sample::kraft(3, 3, 3))
    }

    /// Broker 1 has stopped, and looks go on each second, until the cluster notices.
    fn stopped(sample: Sample) -> Sample {
        (0..9).fold(sample.gone(1), |sample, _| sample.later(1))
    }

    /// These brokers have heard that broker 2 leads, with this ISR.
    fn elected(sample: Sample, heard: &[i32], isr: &[i32]) -> Sample {
        heard.iter().fold(sample.isr(0, isr), |sample, &broker| sample.view(broker, 0, Some(2), 7))
    }

    fn said(sample: &Sample) -> bool {
        slugs(&sample.report()).contains(&SLUG.to_owned())
    }

    #[test]
    fn no_leader_is_seen_in_between() {
        let leaderless = stopped(kraft()).no_leader(0, &[1]).later(1);
        assert!(!said(&leaderless), "nobody was elected yet");
        assert!(said(&elected(leaderless, &[2, 3], &[2]).later(1)));
    }

    #[test]
    fn the_moment_without_a_leader_falls_between_two_looks() {
        assert!(said(&elected(stopped(kraft()), &[2, 3], &[2]).later(1)));
    }

    #[test]
    fn others_are_in_sync_with_the_new_leader_at_the_first_look() {
        assert!(said(&elected(stopped(kraft()), &[2, 3], &[2, 3]).later(1)), "its leader was dead: nobody joined");
        let leaderless = stopped(kraft()).no_leader(0, &[1]).later(1);
        assert!(said(&elected(leaderless, &[2, 3], &[2, 3]).later(1)));
    }

    #[test]
    fn one_broker_hears_of_it_before_the_others() {
        for between in [Sample::later as fn(Sample, i64) -> Sample, |sample, _| sample.no_leader(0, &[1]).later(1)] {
            let heard = elected(between(stopped(kraft()), 1), &[2], &[2]).later(1);
            assert!(!said(&heard), "while they disagree it may be an old view");
            assert!(said(&elected(heard.clone(), &[2, 3], &[2, 3]).later(1)), "whoever has joined meanwhile");
            // One that never hears of it has an old view.
            let never = (0..12).fold(heard.clone(), |sample, _| sample.later(1));
            assert!(said(&never));
            // A third one leads under a higher epoch: then it is that election that counts.
            let other = [2, 3].iter().fold(heard, |sample, &broker| sample.view(broker, 0, Some(3), 8)).later(1);
            let seen = other.memory.partitions[&0].unclean_election.as_ref();
            assert_ne!(seen.map(|election| election.leader), Some(2));
        }
    }

    #[test]
    fn the_isr_is_hidden_while_there_is_no_leader() {
        let old = stopped(alone(Sample::zookeeper(3, 3, 3).release("2.3").controller(3)));
        assert!(said(&elected(old.no_leader(0, &[]).later(1), &[2, 3], &[2, 3]).later(1)));
        // With eligible replicas told, and before they are.
        let empty = stopped(kraft()).no_leader(0, &[]).later(1);
        assert!(said(&elected(empty.clone(), &[2, 3], &[2]).later(1)));
        let told = empty.eligible(0, &[1]).later(1);
        assert!(said(&elected(told, &[2, 3], &[2, 3]).later(1)));
    }

    #[test]
    fn an_eligible_replica_loses_nothing() {
        let eligible = stopped(kraft()).no_leader(0, &[]).eligible(0, &[1, 2]).later(1);
        assert!(!said(&elected(eligible, &[2, 3], &[2]).later(1)));
        // It left the ISR a moment ago, and the list of eligible replicas was asked for before that.
        let just = Sample::kraft(3, 3, 3).min_isr(2).isr(0, &[1]).later(1).gone(1).later(1);
        assert!(!said(&elected(just, &[2, 3], &[2]).later(1)));
    }

    #[test]
    fn who_was_eligible_once_is_not_eligible_for_ever() {
        let once = Sample::kraft(3, 3, 3).isr(0, &[1]).eligible(0, &[2]).later(1);
        let once = once.isr(0, &[1, 2, 3]).eligible(0, &[]).later(1);
        assert!(said(&elected(stopped(alone(once)).no_leader(0, &[1]).later(1), &[2, 3], &[2]).later(1)));
    }

    #[test]
    fn a_replica_that_joined_in_time_loses_nothing() {
        let joined = kraft().isr(0, &[1, 2]).later(1);
        assert!(!said(&elected(stopped(joined), &[2, 3], &[2]).later(1)));
        // It joined, and its leader stopped, between two looks: the others are in sync as well.
        assert!(!said(&elected(kraft().gone(1), &[2, 3], &[2, 3]).later(1)));
    }

    #[test]
    fn the_old_leader_lives_and_has_handed_over() {
        let handed = (1..4).fold(kraft().isr(0, &[2, 1]), |sample, broker| sample.view(broker, 0, Some(2), 7));
        assert!(!said(&handed.later(1)));
    }

    #[test]
    fn what_happened_while_nobody_answered_is_not_known() {
        let mut blind = [2, 3].iter().fold(stopped(kraft()), |sample, &broker| sample.gone(broker));
        blind = blind.later(60).later(60);
        for broker in [2, 3] {
            if let Some(sight) = blind.snapshot.brokers.get_mut(&broker) {
                sight.contact.trouble = None;
            }
        }
        assert!(!said(&elected(blind, &[2, 3], &[2]).later(1)), "broker 1 may have been back meanwhile");
    }
}
