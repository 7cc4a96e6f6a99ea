//! `lag-stands-still`: records are written, and the group commits nothing on a partition. Catalogue rows 33, 35 and 46.

use super::{GroupContext, GroupRule};
use crate::commands::Reset;
use crate::detail::CommittedOffset;
use crate::findings::{finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, Remedy, Risk, Severity};
use crate::{time, words};

const SLUG: &str = "lag-stands-still";
/// A consumer that commits every few seconds has committed by then.
const LONG_ENOUGH_MS: i64 = 60_000;

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "Records are written, and the group commits nothing there",
        severity: "warning",
        means: "The coordinator serves, the group has members, and yet the committed offset of a partition stays while its \
                log grows. If other partitions of the group go on, the member fails at one record again and again (a poison \
                message), or a read_committed consumer waits for a transaction that does not end. If none goes on, the \
                application hangs, does not commit, or commits more rarely than Unstuck has looked.",
        opens: "Two looks at the group at least 60 s apart show the same committed offset and a larger end, and there is \
                something left to read.",
        closes: "An offset is committed there, or nothing is left to read.",
        not_told: "With a first look there is nothing to compare with; so it opens a minute later at the earliest. Whether \
                   records are processed without being committed is not visible.",
        clients_see: "The same exception over and over (a deserialization error, for example), or nothing at all.",
        way_out: "Read the member's log. Look for a hanging transaction where read_committed cannot get further. Fix the \
                  consumer so that it gets past the record; skipping the record is the last way out.",
        never: "Do not delete the group or reset all its offsets because of one partition. Do not skip a record before it is \
                seen to be the record: a slow handler, or one that waits for a database, gets on by itself.",
        twins: &[
            ("group-data-partition-without-leader", "then the partition has no leader"),
            ("unstable-offsets", "then a transaction holds offsets back"),
            ("isr-below-min", "then commits are refused for all groups on that coordinator"),
        ],
        shadows: &[],
        versions: "all",
        sources: &["OffsetFetch", "ListOffsets with both isolation levels"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some((detail, before)) = context.detail.and_then(|detail| Some((detail, detail.compared_with?))) else {
        return Vec::new();
    };
    let long = time::millis_between(before, detail.at);
    if long < LONG_ENOUGH_MS || detail.member_count == 0 {
        return Vec::new();
    }
    let offsets = || detail.offsets.iter().flatten();
    let still: Vec<&CommittedOffset> = offsets().filter(|one| one.stands_still()).collect();
    let Some(first) = still.first() else { return Vec::new() };
    let moving = offsets().filter(|one| one.moves()).count();
    let names: Vec<String> =
        still.iter().map(|one| format!("{}-{}", crate::visible(&one.topic), one.partition)).collect();
    let id = context.id();
    let at = words::list(&names);
    let sentence = if moving > 0 {
        format!("{id} does not get on at {at}, while it goes on elsewhere: a record or a transaction is in its way.")
    } else {
        format!("{id} has committed nothing for {} although records are written ({at}).", time::span(long))
    };
    let mut finding = finding(SLUG, Severity::Warning, sentence);
    for one in still.iter().take(5) {
        finding.evidence.push(seen_(format!(
            "{}-{}: committed {} at {} and at {}, while the end went from {} to {}.",
            crate::visible(&one.topic),
            one.partition,
            one.committed,
            time::clock(before),
            time::clock(detail.at),
            one.end_before.unwrap_or_default(),
            one.end.unwrap_or_default()
        )));
    }
    if moving > 0 {
        finding.evidence.push(seen_(format!("{} of the group went on meanwhile.", words::count(moving, "partition"))));
    }
    // Behind the last stable offset nothing can be read by read_committed consumers.
    let held: Vec<&&CommittedOffset> =
        still.iter().filter(|one| one.stable_end.is_some_and(|stable| stable <= one.committed)).collect();
    for one in held.iter().take(3) {
        finding.evidence.push(seen_(format!(
            "{}-{}: an open transaction begins at offset {}; read_committed consumers cannot read past it.",
            crate::visible(&one.topic),
            one.partition,
            one.stable_end.unwrap_or_default()
        )));
    }
    finding.remedies = remedies(context, first, held.first().map(|one| **one), moving > 0);
    finding.avoid.push(Avoid {
        what: "Do not reset the group or skip records before you know what holds it".to_owned(),
        why: "A handler that is slow, or waits for a database, gets on by itself; what was skipped is never processed, and \
              what was reset is processed again."
            .to_owned(),
    });
    vec![finding]
}

fn remedies(
    context: &GroupContext<'_>,
    first: &CommittedOffset,
    held: Option<&CommittedOffset>,
    one_of_many: bool,
) -> Vec<Remedy> {
    let commands = context.commands();
    let mut remedies = Vec::new();
    if let Some(held) = held {
        let title = "See whether the transaction hangs";
        let why = "Its producer may be gone; then it ends by itself after its time-out, or hangs if brokers lost track of it.";
        let hanging = step(title, why);
        let longest = context.settings().transaction_max_timeout_ms;
        let look = held.leader.and_then(|leader| commands.find_hanging(leader, longest));
        remedies.push(match look {
            Some(look) => hanging.looks(look),
            None => hanging,
        });
    }
    let holder = context.detail.and_then(|detail| {
        detail.members.iter().find(|member| {
            member
                .assignment
                .iter()
                .flatten()
                .any(|one| one.topic == first.topic && one.partitions.contains(&first.partition))
        })
    });
    let whose =
        holder.map_or_else(|| "the member that has the partition".to_owned(), crate::detail::GroupMember::named);
    remedies.push(step(
        format!("Read the log of {whose}"),
        format!(
            "The record at offset {} of {}-{} is the next one.",
            first.committed,
            crate::visible(&first.topic),
            first.partition
        ),
    ));
    if one_of_many {
        let empty = context.state().map(|state| state == "Empty");
        let topic = format!("{}:{}", first.topic, first.partition);
        remedies.push(
            Remedy::new(
                "As the last way out, skip the record",
                "If it cannot be processed, the group goes on behind it. Make sure that it is the record, not the database \
                 behind it.",
            )
            .command(
                commands.reset_offsets(context.raw_id(), Some(&topic), Reset::ShiftBy(1)),
                "The committed offset of that partition: one further.",
            )
            .given("the group has no members (the tool refuses otherwise)", empty)
            .danger(Risk::Loses, "The group never processes that record.")
            .verify(commands.describe_group(context.raw_id()))
            .undo(commands.reset_offsets(context.raw_id(), Some(&topic), Reset::ShiftBy(-1))),
        );
    }
    remedies
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Made, detail, group, inside, told_inside, trace};
    use crate::detail::GroupTrace;

    fn look(seconds: i64, first: (i64, i64), second: (i64, i64)) -> Made {
        detail("Stable")
            .at(seconds)
            .member("client-a", "10.0.0.7", &[0, 1])
            .offset("orders", 0, first.0, first.1)
            .offset("orders", 1, second.0, second.1)
    }

    fn slugs(before: &Made, now: &Made) -> Vec<String> {
        let trace = trace([before]);
        inside(&group("Stable"), &trace, &now.clone().after(&trace)).into_iter().map(|finding| finding.slug).collect()
    }

    #[test]
    fn one_record_is_in_the_way() {
        let before = look(0, (10, 20), (7, 9));
        let trace = trace([&before]);
        let now = look(90, (10, 55), (40, 41)).after(&trace);
        insta::assert_snapshot!(told_inside(&group("Stable"), &trace, &now, super::SLUG), @"
        [warning] my-group does not get on at orders-0, while it goes on elsewhere: a record or a transaction is in its way.
          seen: orders-0: committed 10 at 12:00:00 UTC and at 12:01:30 UTC, while the end went from 20 to 55.
          seen: 1 partition of the group went on meanwhile.
          -> Read the log of client-a at 10.0.0.7: The record at offset 10 of orders-0 is the next one.
          -> As the last way out, skip the record: If it cannot be processed, the group goes on behind it. Make sure that it is the record, not the database behind it.
             if (not met): the group has no members (the tool refuses otherwise)
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --group my-group --topic orders:0 --reset-offsets --shift-by 1 --execute
             changes: The committed offset of that partition: one further.
             ! (loses data) The group never processes that record.
             verify: kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group
             undo: kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --group my-group --topic orders:0 --reset-offsets --shift-by -1 --execute
          avoid: Do not reset the group or skip records before you know what holds it: A handler that is slow, or waits for a database, gets on by itself; what was skipped is never processed, and what was reset is processed again.
        ");
        let now = now.with(|made| made.offsets.iter_mut().flatten().for_each(|one| one.stable_end = Some(10)));
        let told = told_inside(&group("Stable"), &trace, &now, super::SLUG);
        assert!(told.contains("an open transaction begins at offset 10"), "{told}");
        assert!(told.contains("find-hanging"), "{told}");
    }

    #[test]
    fn nothing_is_committed_at_all() {
        let trace = trace([&look(0, (10, 20), (7, 9))]);
        let now = look(90, (10, 55), (7, 30)).after(&trace);
        insta::assert_snapshot!(told_inside(&group("Stable"), &trace, &now, super::SLUG).lines().next().unwrap_or_default(), @"[warning] my-group has committed nothing for 1 min although records are written (orders-0 and orders-1).");
    }

    #[test]
    fn who_keeps_up_or_has_nothing_to_read_does_not_stand_still() {
        let before = look(0, (10, 10), (7, 9));
        assert!(slugs(&before, &look(90, (10, 10), (40, 41))).is_empty(), "nothing was written");
        assert!(slugs(&before, &look(90, (12, 15), (40, 41))).is_empty());
    }

    #[test]
    fn too_soon_or_the_first_time_nothing_is_said() {
        assert!(slugs(&look(0, (10, 20), (7, 9)), &look(30, (10, 55), (7, 30))).is_empty());
        assert!(inside(&group("Stable"), &GroupTrace::default(), &look(0, (10, 20), (7, 9))).is_empty());
    }
}
