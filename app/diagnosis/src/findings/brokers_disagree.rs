//! `brokers-disagree`: brokers that answer name different leaders, for longer than news takes to travel.
//!
//! Catalogue row 4: a broker cut off from ZooKeeper or the controllers keeps an old view. The older leader epoch is
//! the stale one.

use super::{Context, Rule, capital, finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, words};

const SLUG: &str = "brokers-disagree";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Brokers that answer name different leaders, for longer than news takes to travel",
        severity: "error",
        opens: "Brokers that answer name different leaders for more than 10 s.",
        closes: "They agree.",
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let lasting = context
        .group_by(|verdict| (verdict.cause == Cause::Disagreement && verdict.status == Status::Unknown).then_some(()));
    let Some(partitions) = lasting.into_values().next() else { return Vec::new() };
    let Some(seen) = partitions.first().and_then(|partition| context.facts.partitions.get(partition)) else {
        return Vec::new();
    };
    let stale: Vec<BrokerId> = seen
        .views
        .iter()
        .filter(|(_, view)| view.leader != seen.newest.leader || view.leader_epoch != seen.newest.leader_epoch)
        .map(|(&id, _)| id)
        .collect();
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!("Brokers disagree on who leads {}: clients may be sent to the wrong one.", context.reach(&partitions)),
    );
    for (broker, view) in &seen.views {
        let leader = view.leader.map_or_else(|| "no leader".to_owned(), |leader| format!("leader {leader}"));
        let epoch = view.leader_epoch.map(|epoch| format!(", epoch {epoch}")).unwrap_or_default();
        finding.evidence.push(seen_(format!("Broker {broker} says: {leader}{epoch}.")));
    }
    finding.remedies.push(step(
        format!("Look at the log of {}: its view is the older one", words::brokers(&stale)),
        format!(
            "{} may be cut off from the controller. Restart it only if it is not the last in-sync replica of anything.",
            capital(&words::brokers(&stale))
        ),
    ));
    finding.brokers = stale;
    finding.partitions = partitions;
    vec![finding]
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn a_stale_broker_is_named() {
        let sample = Sample::kraft(3, 3, 3).view(3, 0, Some(2), 4).later(20);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] Brokers disagree on who leads partition 0 of __consumer_offsets: clients may be sent to the wrong one.
          seen: Broker 1 says: leader 1, epoch 5.
          seen: Broker 2 says: leader 1, epoch 5.
          seen: Broker 3 says: leader 2, epoch 4.
          -> Look at the log of broker 3: its view is the older one: Broker 3 may be cut off from the controller. Restart it only if it is not the last in-sync replica of anything.
        ");
    }

    #[test]
    fn news_on_its_way_is_recovering() {
        let report = Sample::kraft(3, 3, 3).view(3, 0, Some(2), 4).report();
        assert_eq!(report.partitions[0].status, Status::Recovering);
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_silent_brokers_old_view_does_not_count() {
        let report = Sample::kraft(3, 3, 3).view(3, 0, Some(2), 4).hung(3, 10).isr(0, &[1, 2]).report();
        assert_eq!(report.partitions[0].views_agree, Some(true));
    }
}
