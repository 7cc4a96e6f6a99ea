//! What holds for any cluster, however broken: made-up clusters, broken at random.

use proptest::prelude::*;

use crate::GroupId;
use crate::report::{Report, Status};
use crate::sample::Sample;
use crate::snapshot::Why;

#[derive(Clone, Debug)]
enum Blow {
    Gone(i32),
    Hung(i32, i64),
    NeverReached(i32),
    Unreachable(i32),
    NoLeader(i32, Vec<i32>),
    Isr(i32, Vec<i32>),
    View(i32, i32, Option<i32>, i32),
    Canary(i32, i32, i16),
    NoCanary(i32, i32),
    CanariesUnanswered(i32, i64),
    MinIsr(i32),
    NoConfigs,
    NoQuorumLeader,
    QuorumDenied,
    Noticed(i32),
    Later(i64),
    Release(&'static str),
    CoordinatorsUse(i32),
    Absent,
    Hidden,
}

fn blow() -> impl Strategy<Value = Blow> {
    let broker = 1..4_i32;
    let partition = 0..6_i32;
    let brokers = proptest::collection::vec(1..6_i32, 0..4);
    prop_oneof![
        broker.clone().prop_map(Blow::Gone),
        (broker.clone(), 1..60_i64).prop_map(|(id, seconds)| Blow::Hung(id, seconds)),
        broker.clone().prop_map(Blow::NeverReached),
        broker.clone().prop_map(Blow::Unreachable),
        (partition.clone(), brokers.clone()).prop_map(|(id, isr)| Blow::NoLeader(id, isr)),
        (partition.clone(), brokers).prop_map(|(id, isr)| Blow::Isr(id, isr)),
        (broker.clone(), partition.clone(), proptest::option::of(1..6_i32), 0..9_i32)
            .prop_map(|(broker, id, leader, epoch)| Blow::View(broker, id, leader, epoch)),
        (broker.clone(), partition.clone(), prop_oneof![Just(0_i16), Just(14), Just(15), Just(16), Just(30), Just(99)])
            .prop_map(|(broker, id, code)| Blow::Canary(broker, id, code)),
        (broker.clone(), partition).prop_map(|(broker, id)| Blow::NoCanary(broker, id)),
        (broker.clone(), 1..60_i64).prop_map(|(id, seconds)| Blow::CanariesUnanswered(id, seconds)),
        (-1..5_i32).prop_map(Blow::MinIsr),
        Just(Blow::NoConfigs),
        Just(Blow::NoQuorumLeader),
        Just(Blow::QuorumDenied),
        broker.prop_map(Blow::Noticed),
        (1..200_i64).prop_map(Blow::Later),
        prop_oneof![Just("1.0"), Just("2.3"), Just("3.6"), Just("4.1"), Just("odd")].prop_map(Blow::Release),
        (0..100_i32).prop_map(Blow::CoordinatorsUse),
        Just(Blow::Absent),
        Just(Blow::Hidden),
    ]
}

fn strike(sample: Sample, blow: &Blow) -> Sample {
    match blow {
        Blow::Gone(id) => sample.gone(*id),
        Blow::Hung(id, seconds) => sample.hung(*id, *seconds),
        Blow::NeverReached(id) => sample.never_reached(*id),
        Blow::Unreachable(id) => sample.trouble(*id, Why::Unreachable("no route to host".to_owned())),
        Blow::NoLeader(id, isr) => sample.no_leader(*id, isr),
        Blow::Isr(id, isr) => sample.isr(*id, isr),
        Blow::View(broker, id, leader, epoch) => sample.view(*broker, *id, *leader, *epoch),
        Blow::Canary(broker, id, code) => sample.canary(*broker, *id, *code),
        Blow::NoCanary(broker, id) => sample.no_canary(*broker, *id),
        Blow::CanariesUnanswered(id, seconds) => sample.canaries_unanswered(*id, *seconds),
        Blow::MinIsr(min) => sample.min_isr(*min),
        Blow::NoConfigs => sample.no_configs(),
        Blow::NoQuorumLeader => sample.no_quorum_leader(),
        Blow::QuorumDenied => sample.quorum_denied(),
        Blow::Noticed(id) => sample.leaderless_after(*id),
        Blow::Later(seconds) => sample.later(*seconds),
        Blow::Release(release) => sample.release(release),
        Blow::CoordinatorsUse(count) => sample.coordinators_use(*count),
        Blow::Absent => sample.absent(),
        Blow::Hidden => sample.hidden(),
    }
}

/// What must hold for every report (`verdict-rules`).
fn check(sample: &Sample, report: &Report) {
    for partition in &report.partitions {
        let what = format!("{partition:#?}\n{:#?}", sample.snapshot.brokers);
        if matches!(partition.status, Status::Working | Status::AtRisk) {
            let leader = partition.leader.expect("a working partition has a leader");
            let sight = &sample.snapshot.brokers[&leader];
            let silent = sight.contact.trouble.as_ref().is_some_and(|trouble| trouble.why != Why::Silent);
            assert!(!silent, "works although its leader does not answer: {what}");
            assert_eq!(partition.views_agree, Some(true), "works although brokers disagree: {what}");
            if let Some(min) = report.offsets_topic.min_insync_replicas.filter(|_| partition.replicas.len() >= 3) {
                assert!(partition.isr.len() >= min, "works below min ISR: {what}");
            }
        }
        if partition.status == Status::Stuck
            && let Some(leader) = partition.leader
            && let Some(sight) = sample.snapshot.brokers.get(&leader)
        {
            let never = sight.contact.first_answer.is_none();
            assert!(!never, "stuck, because of a leader that was never reached: {what}");
        }
        if partition.status == Status::Recovering && partition.expected_by.is_none() {
            assert!(!partition.findings.is_empty(), "recovering without bound or explanation: {what}");
        }
        if matches!(partition.status, Status::Stuck) {
            assert!(!partition.findings.is_empty(), "stuck without an explanation: {what}");
        }
        assert!(!partition.sentence.is_empty());
    }
    for finding in &report.findings {
        assert!(finding.sentence.ends_with('.'), "{finding:?}");
        assert!(finding.remedies.iter().all(|remedy| !remedy.title.is_empty() && !remedy.why.is_empty()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_cluster_is_too_broken(
        kraft in any::<bool>(),
        brokers in 1..4_i32,
        replicas in 1..4_usize,
        blows in proptest::collection::vec(blow(), 0..8),
        group in any::<String>(),
    ) {
        let healthy = if kraft { Sample::kraft(brokers, 6, replicas) } else { Sample::zookeeper(brokers, 6, replicas) };
        let mut sample = healthy.group_on(0, "orders");
        for blow in &blows {
            sample = strike(sample, blow);
            let report = sample.report();
            prop_assert_eq!(&report, &sample.report(), "equal input, equal output");
            check(&sample, &report);
            let lookup = sample.published().lookup(&[GroupId(group.clone())]);
            prop_assert_eq!(lookup.results.len(), 1);
            prop_assert!(lookup.results[0].verdict.sentence.chars().all(|c| !c.is_control()), "not safe");
        }
    }

    #[test]
    fn visible_text_is_one_safe_line(text in any::<String>()) {
        let shown = crate::visible(&text);
        prop_assert!(!shown.is_empty());
        prop_assert!(shown.chars().all(|c| !c.is_control() && !matches!(c, '\u{202e}' | '\u{200b}')), "not safe");
        prop_assert!(shown.len() < 2_500);
    }
}
