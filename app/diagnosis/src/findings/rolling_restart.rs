//! A rolling restart is `recovering`, not a row of alarms: what may be found while it goes on.

use std::collections::BTreeSet;

use crate::BrokerId;
use crate::report::{Severity, Status};
use crate::sample::Sample;
use crate::snapshot::{Canary, Observed, PartitionView, Trouble, Why};

/// Changes what every broker but the stopped one sees of each partition; the coordinators follow at once.
fn all_see(sample: &mut Sample, down: Option<BrokerId>, change: impl Fn(&mut PartitionView)) {
    let at = sample.now();
    for (&id, sight) in &mut sample.snapshot.brokers {
        let Observed::Known(view) = &mut sight.metadata else { continue };
        if Some(id) == down {
            continue;
        }
        for (&partition, seen) in view.offsets_topic.iter_mut().flat_map(|topic| &mut topic.partitions) {
            change(seen);
            if let Some(canary) = sight.canaries.get_mut(&partition) {
                let leads = seen.leader == Some(id);
                *canary = Canary {
                    code: if leads { 0 } else { 16 },
                    leader_before: (seen.leader, seen.leader_epoch),
                    at,
                    same_since: at,
                    group: canary.group.clone(),
                };
            }
        }
    }
}

fn listed(sample: &mut Sample, broker: BrokerId, live: bool) {
    for (&id, sight) in &mut sample.snapshot.brokers {
        let Observed::Known(view) = &mut sight.metadata else { continue };
        if live {
            view.brokers.insert(broker, format!("127.0.0.1:{}", 9_000 + broker));
        } else if id != broker {
            view.brokers.remove(&broker);
        }
    }
}

/// Leadership moves away in an orderly way, then the broker stops.
fn stop(mut sample: Sample, broker: BrokerId) -> Sample {
    all_see(&mut sample, None, |seen| {
        seen.isr.retain(|&id| id != broker);
        if seen.leader == Some(broker) {
            seen.leader = seen.isr.first().copied();
            seen.leader_epoch = seen.leader_epoch.map(|epoch| epoch + 1);
        }
    });
    let mut sample = sample.later(1);
    listed(&mut sample, broker, false);
    let since = sample.now();
    if let Some(sight) = sample.snapshot.brokers.get_mut(&broker) {
        sight.contact.trouble = Some(Trouble { why: Why::Refused, since, attempts: 1 });
    }
    let controller = Some(broker % 3 + 1);
    for sight in sample.snapshot.brokers.values_mut() {
        if let Observed::Known(view) = &mut sight.metadata {
            view.controller = controller;
        }
        if let Observed::Known(quorum) = &mut sight.quorum {
            quorum.leader = controller;
        }
    }
    sample.later(0)
}

/// It answers again, is listed, catches up, and is preferred.
fn start(mut sample: Sample, broker: BrokerId) -> Sample {
    let other = if broker == 1 { 2 } else { 1 };
    let view = sample.snapshot.brokers.get(&other).map(|sight| sight.metadata.clone()).unwrap_or_default();
    if let Some(sight) = sample.snapshot.brokers.get_mut(&broker) {
        sight.contact.trouble = None;
        sight.metadata = view;
    }
    listed(&mut sample, broker, true);
    let mut sample = sample.later(5);
    all_see(&mut sample, None, |seen| {
        if !seen.isr.contains(&broker) {
            seen.isr.push(broker);
        }
    });
    let mut sample = sample.later(5);
    all_see(&mut sample, None, |seen| {
        if seen.replicas.first() == Some(&broker) && seen.leader != Some(broker) {
            seen.leader = Some(broker);
            seen.leader_epoch = seen.leader_epoch.map(|epoch| epoch + 1);
        }
    });
    sample.later(5)
}

/// What may be said meanwhile, and how loudly.
const EXPECTED: [(&str, Severity); 4] = [
    ("leader-lost", Severity::Error),
    ("broker-down", Severity::Warning),
    ("under-replicated", Severity::Warning),
    ("commits-wait", Severity::Error),
];

fn quiet(sample: &Sample, when: &str) {
    let report = sample.report();
    for finding in report.findings.iter().filter(|finding| finding.severity > Severity::Info) {
        let expected = EXPECTED.iter().any(|(slug, most)| finding.slug == *slug && finding.severity <= *most);
        assert!(expected, "{when}: [{}] {}: {}", finding.severity.slug(), finding.slug, finding.sentence);
    }
    for partition in &report.partitions {
        assert_ne!(partition.status, Status::Stuck, "{when}: {}", partition.sentence);
    }
}

#[test]
fn a_rolling_restart_is_no_row_of_alarms() {
    for kraft in [true, false] {
        let sample = if kraft { Sample::kraft(3, 6, 3) } else { Sample::zookeeper(3, 6, 3) };
        let mut sample = sample.min_isr(2).group_on(0, "orders").group_on(1, "payments").later(60);
        for broker in 1..=3 {
            sample = stop(sample, broker);
            for seconds in [1, 4, 10, 15, 30] {
                sample = sample.later(seconds);
                quiet(&sample, &format!("broker {broker} is down, {seconds} s"));
            }
            sample = start(sample, broker);
            quiet(&sample, &format!("broker {broker} is back"));
            sample = sample.later(60);
        }
        let statuses: BTreeSet<_> = sample.report().partitions.iter().map(|partition| partition.status).collect();
        assert_eq!(statuses, [Status::Working].into());
        let report = sample.report();
        assert!(report.findings.is_empty(), "after it: {:?}", report.findings);
    }
}

#[test]
fn a_leader_that_stops_without_a_word_is_recovering_until_the_election() {
    let mut sample = Sample::kraft(3, 6, 3).min_isr(2).later(60).gone(1);
    for seconds in [1, 3, 4] {
        sample = sample.later(seconds);
        quiet(&sample, &format!("{seconds} s later"));
        let report = sample.report();
        let led = report.partitions.iter().filter(|partition| partition.leader == Some(1));
        assert!(
            led.into_iter().all(|partition| partition.status == Status::Recovering && partition.expected_by.is_some())
        );
    }
}
