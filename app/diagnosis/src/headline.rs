//! The largest sentence of the dashboard: the worst news, and its reach.

use std::collections::BTreeSet;

use crate::BrokerId;
use crate::facts::Facts;
use crate::findings::capital;
use crate::report::{Finding, GroupCounts, Headline, PartitionReport, Severity, Status, TopicPresence};
use crate::{time, words};

/// The headline of a report.
pub(crate) fn write(
    facts: &Facts<'_>,
    partitions: &[PartitionReport],
    groups: &GroupCounts,
    findings: &[Finding],
) -> Headline {
    let status = status(facts, partitions, findings);
    let since = match &facts.memory.headline {
        Some(before) if before.status == status => before.since,
        Some(before) if before.status != Status::Unknown || before.since.is_some() => Some(facts.now),
        _ => None,
    };
    Headline {
        status,
        sentence: sentence(facts, status, partitions, groups, findings),
        detail: detail(facts, status, partitions, groups),
        since,
        since_after: since.and_then(|since| facts.memory.unseen_before(since)),
    }
}

fn status(facts: &Facts<'_>, partitions: &[PartitionReport], findings: &[Finding]) -> Status {
    if facts.snapshot.brokers.is_empty() || facts.answering.is_empty() && partitions.is_empty() {
        return Status::Unknown;
    }
    match facts.presence {
        TopicPresence::Absent => {
            return if findings
                .iter()
                .any(|finding| finding.slug == "offsets-topic-missing" && finding.severity > Severity::Info)
            {
                Status::AtRisk
            } else {
                Status::Working
            };
        }
        TopicPresence::Vanished => return Status::Stuck,
        TopicPresence::MaybeHidden => return Status::Unknown,
        TopicPresence::Unknown if partitions.is_empty() => return Status::Unknown,
        TopicPresence::Present | TopicPresence::Unknown => {}
    }
    partitions.iter().map(|partition| partition.status).max().unwrap_or(Status::Unknown)
}

fn sentence(
    facts: &Facts<'_>,
    status: Status,
    partitions: &[PartitionReport],
    groups: &GroupCounts,
    findings: &[Finding],
) -> String {
    if facts.snapshot.brokers.is_empty() {
        let tried = facts.snapshot.bootstrap.values().any(|sight| sight.answer.unavailable().is_some());
        return if facts.memory.counts_none_since.is_some() {
            "A broker answers, and counts no live broker".to_owned()
        } else if tried {
            "No bootstrap address leads to the cluster".to_owned()
        } else {
            "Looking at the cluster for the first time".to_owned()
        };
    }
    match facts.presence {
        TopicPresence::Absent => {
            return if status == Status::Working {
                "No consumer group has used this cluster yet".to_owned()
            } else {
                "The first consumer will hang: __consumer_offsets cannot be created".to_owned()
            };
        }
        TopicPresence::Vanished => return "__consumer_offsets is gone: no group has a coordinator".to_owned(),
        TopicPresence::MaybeHidden => return "__consumer_offsets is hidden from Unstuck".to_owned(),
        TopicPresence::Unknown if partitions.is_empty() => return "No broker answers".to_owned(),
        TopicPresence::Present | TopicPresence::Unknown => {}
    }
    let hit: Vec<_> = partitions.iter().filter(|partition| partition.status == status).collect();
    let hit_groups: usize = hit.iter().map(|partition| partition.group_count).sum();
    let reach = |verb_one: &str, verb_many: &str| {
        let verb = |n: usize| if n == 1 { verb_one.to_owned() } else { verb_many.to_owned() };
        if hit_groups > 0 {
            format!("{} {}", words::count(hit_groups, "group"), verb(hit_groups))
        } else {
            format!("{} of {} coordinators {}", hit.len(), partitions.len(), verb(hit.len()))
        }
    };
    match status {
        Status::Stuck => format!("{}: {}", culprit(findings), reach("is stuck", "are stuck")),
        Status::Recovering => format!("{}: {}", culprit(findings), reach("is recovering", "are recovering")),
        Status::Unknown
            if partitions.iter().all(|partition| partition.status == Status::Unknown)
                && findings.iter().all(|finding| finding.severity < Severity::Error) =>
        {
            "Looking at the coordinators for the first time".to_owned()
        }
        Status::Unknown => format!(
            "Unstuck could not tell whether {}",
            match (hit_groups, hit.len()) {
                (0, n) => format!("{n} of {} coordinators work", partitions.len()),
                (n, _) => format!("{} work", words::count(n, "group")),
            }
        ),
        Status::AtRisk if findings.iter().any(|finding| finding.slug == "no-controller") => {
            "There is no controller: coordinators work until the next failure".to_owned()
        }
        Status::AtRisk => format!(
            "Everything works, but {} one broker away from standing still",
            match (groups.total, hit_groups) {
                (0, _) | (_, 0) => format!("{} of {} coordinators are", hit.len(), partitions.len()),
                (1, 1) => "the 1 known group is".to_owned(),
                (total, hit) if total == hit => format!("all {} are", words::count(total, "group")),
                (total, hit) => format!("{} of {} are", words::thousands(hit), words::count(total, "group")),
            }
        ),
        Status::LookAtGroup | Status::Working => match groups.total {
            0 => format!("All {} coordinators work", partitions.len()),
            1 => "The coordinator of the 1 known group works".to_owned(),
            total => format!("The coordinators of all {} work", words::count(total, "group")),
        },
    }
}

/// Who or what is to blame, as the beginning of a sentence.
fn culprit(findings: &[Finding]) -> String {
    let Some(worst) = findings.first() else { return "Something stands still".to_owned() };
    let brokers = capital(&words::brokers(&worst.brokers));
    let verb = if worst.brokers.len() == 1 { "is" } else { "are" };
    match worst.slug.as_str() {
        slug if means_down(slug) && !worst.brokers.is_empty() => {
            let down: BTreeSet<BrokerId> = findings
                .iter()
                .filter(|finding| finding.severity == worst.severity && means_down(&finding.slug))
                .flat_map(|finding| finding.brokers.iter().copied())
                .collect();
            format!("{} {} down", capital(&words::brokers(&down)), if down.len() == 1 { "is" } else { "are" })
        }
        "leader-silent" if !worst.brokers.is_empty() => {
            format!("{brokers} {}", if worst.brokers.len() == 1 { "does not answer" } else { "do not answer" })
        }
        "no-leader-live-replica" => "No leader, although in-sync replicas are alive".to_owned(),
        "isr-below-min" => "Too few in-sync replicas for commits".to_owned(),
        "coordinator-failed" => format!("{brokers} {verb} leader and does not serve"),
        "coordinator-silent" if worst.brokers.len() == 1 => {
            format!("The coordinator of {} does not answer", words::brokers(&worst.brokers))
        }
        "coordinator-silent" => format!("The coordinators of {} do not answer", words::brokers(&worst.brokers)),
        "log-dir-failed" => format!("A disk of {} has failed", words::brokers(&worst.brokers)),
        "broker-renumbered" | "broker-ids-unknown" => {
            format!("Replicas are assigned to {}, which nobody knows", words::brokers(&worst.brokers))
        }
        "listener-missing" => "Leaders have no address on this listener".to_owned(),
        "coordinator-loading" => format!("{brokers} {verb} loading"),
        "no-controller" => "There is no controller".to_owned(),
        _ => "Leadership is changing".to_owned(),
    }
}

/// Whether the brokers of such a finding are down.
fn means_down(slug: &str) -> bool {
    matches!(slug, "leader-lost" | "no-leader-no-live-replica" | "commits-wait")
}

fn detail(facts: &Facts<'_>, status: Status, partitions: &[PartitionReport], groups: &GroupCounts) -> String {
    if facts.snapshot.brokers.is_empty() {
        let tried: Vec<_> = facts
            .snapshot
            .bootstrap
            .iter()
            .filter_map(|(address, sight)| Some(format!("{address}: {}", sight.answer.unavailable()?.why)))
            .collect();
        return tried.join(" · ");
    }
    let mut parts = Vec::new();
    if !partitions.is_empty() {
        for status in Status::WORST_FIRST {
            let count = partitions.iter().filter(|partition| partition.status == status).count();
            if count > 0 {
                parts.push(format!("{count} of {} coordinators {}", partitions.len(), status.words()));
            }
        }
    }
    if matches!(status, Status::Stuck | Status::Recovering) {
        let fine: usize = [Status::Working, Status::AtRisk, Status::LookAtGroup]
            .iter()
            .filter_map(|status| groups.by_status.get(status))
            .sum();
        if fine > 0 {
            parts.push(format!("{} on working coordinators", words::count(fine, "group")));
        }
    }
    if !facts.answering.is_empty() {
        let answering: Vec<_> = facts.answering.iter().copied().collect();
        parts.push(format!(
            "{} {}",
            words::brokers(&answering),
            if answering.len() == 1 { "answers" } else { "answer" }
        ));
    }
    if facts.stale && !partitions.is_empty() {
        let last = facts.snapshot.brokers.values().filter_map(|sight| sight.contact.last_answer).max();
        if let Some(last) = last {
            parts.push(format!("no broker answers; last answer at {}", time::clock(last)));
        }
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::Sample;
    use crate::snapshot::Why;

    fn told(sample: &Sample) -> String {
        let headline = sample.report().headline;
        let since = headline.since.map(|since| format!(" (since {})", crate::time::clock(since))).unwrap_or_default();
        format!("[{}] {}{since}\n{}", headline.status.slug(), headline.sentence, headline.detail)
    }

    #[test]
    fn every_headline() {
        let refused = || Sample::empty().bootstrap("kafka:9092", Why::Refused);
        let samples = [
            ("nothing seen", Sample::empty()),
            ("no address works", refused()),
            ("healthy", Sample::kraft(3, 6, 3).group_on(0, "orders").group_on(1, "billing")),
            ("healthy, no groups", Sample::kraft(3, 6, 3)),
            ("one copy", Sample::kraft(3, 6, 1).group_on(0, "orders").group_on(1, "billing")),
            (
                "one copy, broker gone",
                Sample::kraft(3, 6, 1).group_on(0, "orders").group_on(1, "billing").later(5).gone(1),
            ),
            ("noticed by the cluster", Sample::kraft(3, 6, 1).group_on(0, "orders").gone(1).leaderless_after(1)),
            ("election due", Sample::kraft(3, 3, 3).group_on(0, "orders").gone(1)),
            ("hung", Sample::kraft(3, 6, 1).group_on(0, "orders").hung(1, 30)),
            ("not reachable from here", Sample::kraft(3, 6, 1).never_reached(1)),
            ("fresh cluster", Sample::kraft(3, 0, 3).absent()),
            ("cannot be created", Sample::kraft(1, 0, 1).absent()),
            ("hidden", Sample::kraft(3, 0, 3).hidden()),
            ("vanished", Sample::kraft(3, 6, 3).later(60).absent().later(10)),
            ("everything down", Sample::kraft(1, 6, 1).gone(1)),
            ("no quorum", Sample::kraft(3, 3, 3).gone(1).gone(2)),
        ];
        let told: String = samples.iter().map(|(name, sample)| format!("{name}:\n{}\n\n", told(sample))).collect();
        insta::assert_snapshot!(told, @"
        nothing seen:
        [unknown] Looking at the cluster for the first time


        no address works:
        [unknown] No bootstrap address leads to the cluster
        kafka:9092: connection refused

        healthy:
        [working] The coordinators of all 2 groups work
        6 of 6 coordinators working · brokers 1, 2 and 3 answer

        healthy, no groups:
        [working] All 6 coordinators work
        6 of 6 coordinators working · brokers 1, 2 and 3 answer

        one copy:
        [at_risk] Everything works, but all 2 groups are one broker away from standing still
        6 of 6 coordinators at risk · brokers 1, 2 and 3 answer

        one copy, broker gone:
        [stuck] Broker 1 is down: 1 group is stuck (since 12:00:05 UTC)
        2 of 6 coordinators stuck · 4 of 6 coordinators at risk · 1 group on working coordinators · brokers 2 and 3 answer

        noticed by the cluster:
        [stuck] Broker 1 is down: 1 group is stuck (since 12:00:00 UTC)
        2 of 6 coordinators stuck · 4 of 6 coordinators at risk · brokers 2 and 3 answer

        election due:
        [recovering] Broker 1 is down: 1 group is recovering (since 12:00:00 UTC)
        3 of 3 coordinators recovering · brokers 2 and 3 answer

        hung:
        [stuck] Broker 1 does not answer: 1 group is stuck (since 12:00:30 UTC)
        2 of 6 coordinators stuck · 4 of 6 coordinators at risk · brokers 2 and 3 answer

        not reachable from here:
        [unknown] Unstuck could not tell whether 2 of 6 coordinators work
        2 of 6 coordinators unknown · 4 of 6 coordinators at risk · brokers 2 and 3 answer

        fresh cluster:
        [working] No consumer group has used this cluster yet
        brokers 1, 2 and 3 answer

        cannot be created:
        [at_risk] The first consumer will hang: __consumer_offsets cannot be created
        broker 1 answers

        hidden:
        [unknown] __consumer_offsets is hidden from Unstuck
        brokers 1, 2 and 3 answer

        vanished:
        [stuck] __consumer_offsets is gone: no group has a coordinator (since 12:01:10 UTC)
        brokers 1, 2 and 3 answer

        everything down:
        [stuck] Broker 1 is down: 6 of 6 coordinators are stuck (since 12:00:00 UTC)
        6 of 6 coordinators stuck · no broker answers; last answer at 12:00:00 UTC

        no quorum:
        [stuck] Brokers 1 and 2 are down: 3 of 3 coordinators are stuck (since 12:00:00 UTC)
        3 of 3 coordinators stuck · broker 3 answers
        ");
    }

    #[test]
    fn our_own_network_may_be_down() {
        let unreachable = || Why::Unreachable("network is unreachable".to_owned());
        let sample =
            Sample::kraft(3, 3, 1).trouble(1, unreachable()).trouble(2, unreachable()).trouble(3, unreachable());
        assert_eq!(sample.report().headline.status, Status::Unknown);
    }
}
