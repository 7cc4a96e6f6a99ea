//! Verdicts that no single finding owns: what must never be called working, and what must not stay undecided.

use jiff::SignedDuration;

use crate::memory::Memory;
use crate::report::{Shard, Status};
use crate::sample::Sample;
use crate::snapshot::{Observed, TopicConfigs};

fn status(sample: &Sample) -> Status {
    sample.report().partitions[0].status
}

#[test]
fn listed_as_live_proves_nothing_while_nobody_is_known_to_be_controller() {
    let mut sample = Sample::kraft(3, 3, 3).quorum_denied();
    sample.memory = Memory::new(sample.now());
    for seconds in [0, 5, 40, 300] {
        let status = status(&sample.clone().gone(2).gone(3).later(seconds));
        assert!(matches!(status, Status::Recovering | Status::Stuck), "{seconds} s: {status:?}");
    }
}

#[test]
fn a_dead_brokers_settings_do_not_decide() {
    let mut sample = Sample::kraft(3, 1, 3).min_isr(1).isr(0, &[2, 3]).view(2, 0, Some(2), 6).view(3, 0, Some(2), 6);
    sample = sample.epoch(0, 6).gone(1).served_now(0).canary(2, 0, 0);
    if let Some(sight) = sample.snapshot.brokers.get_mut(&1) {
        let configs = TopicConfigs { min_insync_replicas: Some(3), ..TopicConfigs::default() };
        sight.topic_configs = Observed::Known(Some(configs));
    }
    assert_eq!(status(&sample), Status::Working);
}

#[test]
fn a_default_of_the_brokers_does_not_verify_writes() {
    let mut sample = Sample::kraft(3, 3, 3);
    for sight in sample.snapshot.brokers.values_mut() {
        sight.topic_configs = Observed::NotAsked;
    }
    let report = sample.report();
    assert_eq!((report.partitions[0].status, report.partitions[0].writes_verified), (Status::Working, false));
}

#[test]
fn an_old_answer_of_the_coordinator_does_not_count() {
    let mut sample = Sample::kraft(3, 3, 3).later(60);
    let old = sample.now() - SignedDuration::from_secs(50);
    for sight in sample.snapshot.brokers.values_mut() {
        sight.canaries.values_mut().for_each(|canary| canary.at = old);
    }
    assert_eq!(status(&sample), Status::Unknown);
}

#[test]
fn a_late_follower_leaves_the_status_and_takes_the_promise() {
    let report = Sample::kraft(3, 3, 3).hung(2, 1).report();
    assert_eq!((report.partitions[0].status, report.partitions[0].writes_verified), (Status::Working, false));
}

#[test]
fn loading_for_ever_is_not_recovering_for_ever() {
    let sample = Sample::kraft(3, 3, 1).canary(1, 0, 14);
    assert_eq!(status(&sample.clone().later(300)), Status::Recovering);
    assert_eq!(status(&sample.later(700)), Status::Unknown);
}

#[test]
fn a_release_below_2_0_that_never_serves_has_failed() {
    let sample = Sample::zookeeper(3, 3, 1).release("1.0").canary(1, 0, 16);
    assert_eq!(status(&sample.clone().later(5)), Status::Recovering);
    assert_eq!(status(&sample.later(70)), Status::Stuck);
}

#[test]
fn a_replica_that_never_catches_up_does_not_move_the_deadline() {
    let mut sample = Sample::kraft(3, 1, 3).quorum_denied().min_isr(2).isr(0, &[1, 2]);
    sample.memory = Memory::new(sample.now());
    let sample = sample.gone(2);
    assert_eq!(status(&sample.clone().later(5)), Status::Recovering);
    assert_eq!(status(&sample.later(60)), Status::Stuck);
}

#[test]
fn at_risk_is_one_broker_from_stuck_with_more_brokers_than_replicas() {
    assert_eq!(status(&Sample::kraft(3, 3, 1)), Status::AtRisk);
    assert_eq!(status(&Sample::kraft(1, 3, 1)), Status::Working);
    assert_eq!(status(&Sample::kraft(4, 1, 3).isr(0, &[1, 2]).min_isr(2)), Status::AtRisk);
    assert_eq!(status(&Sample::kraft(4, 1, 3).isr(0, &[1, 2]).min_isr(1)), Status::Working);
}

#[test]
fn a_coordinator_that_is_gone_serves_nothing() {
    for sample in [Sample::kraft(3, 6, 1).gone(1), Sample::kraft(3, 3, 3).gone(1), Sample::kraft(3, 6, 1).hung(1, 5)] {
        assert_eq!(sample.report().partitions[0].shard, Shard::Unknown);
    }
}

/// Between two looks one broker has heard that the lost leader leads no more, and the other has not.
#[test]
fn what_is_stuck_stays_stuck_while_brokers_learn_of_it_one_after_the_other() {
    let killed = Sample::kraft(3, 6, 1).gone(1);
    assert_eq!(status(&killed), Status::Stuck);
    let half_known = killed.view(2, 0, None, 6);
    assert!(half_known.report().partitions[0].leader.is_none(), "the newest view counts");
    assert_eq!(status(&half_known), Status::Stuck);
    let alive = Sample::kraft(3, 6, 1).view(2, 0, None, 6);
    assert_eq!(status(&alive), Status::Recovering, "a leader that others name, and that answers, is disagreement");
}
