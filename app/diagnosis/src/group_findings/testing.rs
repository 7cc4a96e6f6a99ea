//! Groups for the tests of rules.

use jiff::{SignedDuration, Timestamp};

use crate::detail::{Assigned, CommittedOffset, GroupDetail, GroupMember, GroupTrace, Uncommitted};
use crate::properties::check_finding;
use crate::report::Finding;
use crate::sample::{Sample, text};
use crate::snapshot::ListedGroup;

/// The moment at which samples begin.
pub(crate) fn start() -> Timestamp {
    Sample::empty().now()
}

pub(crate) fn listed(state: &str, kind: &str) -> ListedGroup {
    ListedGroup {
        protocol_type: "consumer".to_owned(),
        state: Some(state.to_owned()),
        group_type: Some(kind.to_owned()),
    }
}

/// A healthy cluster that lists `my-group` as a classic consumer group in this state.
pub(crate) fn group(state: &str) -> Sample {
    Sample::kraft(3, 50, 3).lists("my-group".into(), listed(state, "classic"))
}

/// A classic group whose state was listed at these seconds, looked at in the second `now`.
pub(crate) fn history(id: &str, states: &[(&str, i64)], now: i64) -> Sample {
    let mut sample = Sample::kraft(3, 50, 3);
    let mut at = 0;
    for (state, second) in states {
        sample = sample.later(second - at).lists(id.into(), listed(state, "classic"));
        at = *second;
    }
    sample.later(now - at)
}

/// What listings tell about a group, as people read it.
pub(crate) fn told(sample: &Sample, group: &str, slug: &str) -> String {
    words(sample, &found(sample, group), slug)
}

/// What listings tell about a group.
fn found(sample: &Sample, group: &str) -> Vec<Finding> {
    let found = sample.lookup(group).group_findings;
    found.iter().for_each(check_finding);
    found
}

/// The slugs of what listings tell.
pub(crate) fn slugs(sample: &Sample, group: &str) -> Vec<String> {
    found(sample, group).into_iter().map(|finding| finding.slug).collect()
}

/// What `my-group`'s inside tells.
pub(crate) fn inside(sample: &Sample, trace: &GroupTrace, detail: &Made) -> Vec<Finding> {
    let published = sample.published();
    let lookup = sample.lookup("my-group");
    let found = super::detail_findings(&published.report, &published.memory, &lookup, &detail.made, trace);
    found.iter().for_each(check_finding);
    found
}

/// The same as people read it.
pub(crate) fn told_inside(sample: &Sample, trace: &GroupTrace, detail: &Made, slug: &str) -> String {
    words(sample, &inside(sample, trace, detail), slug)
}

/// The slugs of what `my-group`'s inside tells.
pub(crate) fn inside_slugs(detail: &Made) -> Vec<String> {
    inside(&group("Stable"), &GroupTrace::default(), detail).into_iter().map(|finding| finding.slug).collect()
}

fn words(sample: &Sample, findings: &[Finding], slug: &str) -> String {
    let mut report = sample.report();
    report.findings = findings.to_vec();
    text(&report, slug)
}

/// A look at the inside of a group, in the making.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) made: GroupDetail,
}

/// A classic consumer group in this state, without members and offsets, seen when samples begin.
pub(crate) fn detail(state: &str) -> Made {
    Made {
        made: GroupDetail {
            at: start(),
            answered_by: 1,
            group_type: Some("classic".to_owned()),
            state: Some(state.to_owned()),
            protocol_type: Some("consumer".to_owned()),
            idle_members: Some(0),
            assigned_partitions: Some(0),
            ..GroupDetail::default()
        },
    }
}

impl Made {
    pub(crate) fn at(mut self, seconds: i64) -> Self {
        self.made.at = start() + SignedDuration::from_secs(seconds);
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut GroupDetail)) -> Self {
        change(&mut self.made);
        self
    }

    /// A member with partitions of the topic `orders`.
    pub(crate) fn member(self, id: &str, host: &str, partitions: &[i32]) -> Self {
        let topics = if partitions.is_empty() {
            Vec::new()
        } else {
            vec![Assigned { topic: "orders".to_owned(), partitions: partitions.to_vec() }]
        };
        let member = GroupMember {
            member_id: format!("{id}-6f9a"),
            client_id: id.to_owned(),
            host: format!("/{host}"),
            assignment: Some(topics),
            ..GroupMember::default()
        };
        self.with(|made| {
            made.member_count += 1;
            made.idle_members = made.idle_members.map(|idle| idle + usize::from(partitions.is_empty()));
            made.assigned_partitions = made.assigned_partitions.map(|count| count + partitions.len());
            made.members.push(member);
        })
    }

    /// A static member.
    pub(crate) fn instance(self, instance: &str, id: &str, host: &str, partitions: &[i32]) -> Self {
        self.member(id, host, partitions).last_member(|member| member.instance_id = Some(instance.to_owned()))
    }

    pub(crate) fn last_member(self, change: impl FnOnce(&mut GroupMember)) -> Self {
        self.with(|made| {
            if let Some(last) = made.members.last_mut() {
                change(last);
            }
        })
    }

    pub(crate) fn offset(self, topic: &str, partition: i32, committed: i64, end: i64) -> Self {
        let one = CommittedOffset {
            topic: topic.to_owned(),
            partition,
            committed,
            end: Some(end),
            lag: Some((end - committed).max(0)),
            stable_end: Some(end),
            leader: Some(1),
            ..CommittedOffset::default()
        };
        self.with(|made| {
            made.committed_count += 1;
            if let Ok(offsets) = &mut made.offsets {
                offsets.push(one);
            }
        })
    }

    pub(crate) fn last_offset(self, change: impl FnOnce(&mut CommittedOffset)) -> Self {
        self.with(|made| {
            if let Ok(offsets) = &mut made.offsets
                && let Some(last) = offsets.last_mut()
            {
                change(last);
            }
        })
    }

    pub(crate) fn uncommitted(self, topic: &str, partition: i32, without_leader: bool) -> Self {
        let one = Uncommitted { topic: topic.to_owned(), partition, end: None, without_leader };
        self.with(|made| made.uncommitted.push(one))
    }

    /// Compared with earlier looks.
    pub(crate) fn after(mut self, trace: &GroupTrace) -> Self {
        trace.compare(&mut self.made);
        self
    }
}

/// Earlier looks.
pub(crate) fn trace<'a>(looks: impl IntoIterator<Item = &'a Made>) -> GroupTrace {
    let mut trace = GroupTrace::default();
    for look in looks {
        trace.keep(&look.made);
    }
    trace
}
