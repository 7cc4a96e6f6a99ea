//! Events and findings in the order of time, as few lines as tell it: what happened to many partitions at once is one
//! line, and so is a leader that changes again and again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use leptos::prelude::*;
use unstuck_diagnosis::history::{Event, FindingRecord, Happened, Since, Subject};
use unstuck_diagnosis::{BrokerId, PartitionId};

use super::times::{began, pair, when};
use super::told::{of_many, partitions, sentence};
use crate::part::coded;
use crate::text::{amount, count, finding_href};

/// Within how many milliseconds changes of a leader belong together.
const FLAPPING_MS: i64 = 900_000;
/// From how many changes of the leader on they are one line.
const FLAPPING_FROM: usize = 5;
/// How many leaders such a line names.
const LEADERS_NAMED: usize = 12;
/// How many single lines are folded below one at most.
const FOLDED_CAP: usize = 200;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// When it began.
    pub(crate) since: Since,
    /// The sentence.
    pub(crate) text: String,
    /// The finding that it is about.
    pub(crate) slug: Option<String>,
    /// The single sentences that it stands for.
    pub(crate) folded: Vec<(Timestamp, String)>,
}

impl Line {
    fn of(event: &Event) -> Self {
        Self { since: event.since, text: sentence(event), slug: None, folded: Vec::new() }
    }

    fn of_many(text: String, mut events: Vec<&Event>) -> Self {
        events.sort_by_key(|event| event.since.at);
        let since = events.first().map_or(Since { at: Timestamp::UNIX_EPOCH, after: None }, |event| event.since);
        let folded = events.into_iter().take(FOLDED_CAP).map(|event| (event.since.at, sentence(event))).collect();
        Self { since, text, slug: None, folded }
    }
}

/// Everything in the order of time. Of findings only what happened from `from` on, where events before that are told
/// elsewhere.
pub(crate) fn lines(events: &[Event], findings: &[FindingRecord], from: Option<Timestamp>) -> Vec<Line> {
    let (mut lines, rest) = flapping(events);
    lines.extend(at_once(&rest));
    for record in findings {
        let opened = format!("Finding: {}.", record.at_opening.sentence.trim_end_matches('.'));
        lines.push(Line { since: record.opened, text: opened, slug: Some(record.slug.clone()), folded: Vec::new() });
        if let Some(closed) = record.closed {
            let last = record.last.as_ref().unwrap_or(&record.at_worst);
            let text = format!("No longer so: {}.", last.sentence.trim_end_matches('.'));
            lines.push(Line { since: closed, text, slug: Some(record.slug.clone()), folded: Vec::new() });
        }
    }
    lines.retain(|line| from.is_none_or(|from| line.since.at >= from));
    lines.sort_by_key(|line| line.since.at);
    lines
}

/// A leader that changed again and again.
struct Flap {
    partition: PartitionId,
    from: Timestamp,
    to: Timestamp,
    leaders: Vec<Option<BrokerId>>,
}

impl Flap {
    fn text(&self) -> String {
        let named = self.leaders.iter().take(LEADERS_NAMED);
        let named: Vec<String> =
            named.map(|leader| leader.map_or_else(|| "nobody".to_owned(), |leader| leader.to_string())).collect();
        let more = if self.leaders.len() > LEADERS_NAMED { ", …" } else { "" };
        format!(
            "Partition {}: its leader changed {} times between {}: led by {}{more}.",
            self.partition,
            amount(self.leaders.len()),
            pair(self.from, self.to, self.from),
            named.join(", "),
        )
    }

    /// Whether a line about it says this as well.
    fn covers(&self, event: &Event) -> bool {
        matches!(event.what, Happened::Leadership { .. } | Happened::Verdict { .. })
            && event.subject == Subject::Partition(self.partition)
            && (self.from..=self.to).contains(&event.since.at)
    }
}

/// Lines about leaders that changed many times within a short while, and the events that are left.
fn flapping(events: &[Event]) -> (Vec<Line>, Vec<&Event>) {
    let mut taken = BTreeSet::new();
    let mut lines = Vec::new();
    for flap in flaps(events) {
        let mine: Vec<usize> = (0..events.len()).filter(|&n| flap.covers(&events[n])).collect();
        lines.push(Line::of_many(flap.text(), mine.iter().map(|&n| &events[n]).collect()));
        taken.extend(mine);
    }
    (lines, events.iter().enumerate().filter(|(n, _)| !taken.contains(n)).map(|(_, event)| event).collect())
}

fn flaps(events: &[Event]) -> Vec<Flap> {
    let mut leaders: BTreeMap<PartitionId, Vec<(Timestamp, Option<BrokerId>)>> = BTreeMap::new();
    for event in events {
        if let (Subject::Partition(partition), Happened::Leadership { leader, .. }) = (&event.subject, &event.what) {
            leaders.entry(*partition).or_default().push((event.since.at, *leader));
        }
    }
    let mut flaps = Vec::new();
    for (partition, mut all) in leaders {
        all.sort_by_key(|(at, _)| *at);
        // Only another leader is a change: an event may tell of the ISR alone.
        all.dedup_by_key(|(_, leader)| *leader);
        let mut rest = &all[..];
        while let Some((first, _)) = rest.first() {
            let within = |at: &Timestamp| at.as_millisecond().saturating_sub(first.as_millisecond()) <= FLAPPING_MS;
            let (mine, later) = rest.split_at(rest.iter().take_while(|(at, _)| within(at)).count());
            if let [(from, _), .., (to, _)] = mine
                && mine.len() >= FLAPPING_FROM
            {
                let leaders = mine.iter().map(|(_, leader)| *leader).collect();
                flaps.push(Flap { partition, from: *from, to: *to, leaders });
            }
            rest = later;
        }
    }
    flaps
}

/// What happened to several partitions at the same moment in the same way is one line.
fn at_once(events: &[&Event]) -> Vec<Line> {
    let mut alike: BTreeMap<(Timestamp, String), Vec<&Event>> = BTreeMap::new();
    let mut lines = Vec::new();
    for event in events {
        match (&event.subject, of_many(&event.what)) {
            (Subject::Partition(_), Some(gist)) => alike.entry((event.since.at, gist)).or_default().push(event),
            _ => lines.push(Line::of(event)),
        }
    }
    for ((_, gist), events) in alike {
        if let [event] = events[..] {
            lines.push(Line::of(event));
            continue;
        }
        let mut hit: Vec<PartitionId> = Vec::new();
        let mut groups = 0;
        for event in &events {
            if let Subject::Partition(partition) = event.subject {
                hit.push(partition);
            }
            if let Happened::GroupsVanished { count } = event.what {
                groups += count;
            }
        }
        hit.sort_unstable();
        let text = if groups > 0 {
            format!(
                "{} of {} are not listed any more. They were not deleted.",
                count(groups, "group"),
                count(hit.len(), "partition")
            )
        } else {
            format!("{} {gist}.", partitions(&hit))
        };
        lines.push(Line::of_many(text, events));
    }
    lines
}

/// Lines as a list; times are those of somebody who thinks of `near`.
pub(crate) fn list(lines: Vec<Line>, near: Timestamp) -> AnyView {
    let items = lines.into_iter().map(|line| {
        let about = line.slug.map(|slug| view! { " "<a class="slug" href=finding_href(&slug)>{slug.clone()}</a> });
        let number = line.folded.len();
        let folded = (number > 0).then(|| {
            let all = line.folded.into_iter().map(|(at, text)| {
                view! { <li><span class="soft when">{when(at, near)}</span>" "{text}</li> }
            });
            view! {
                <details>
                    <summary>{format!("one by one: {}", amount(number))}</summary>
                    <ul class="singles">{all.collect_view()}</ul>
                </details>
            }
        });
        view! {
            <li>
                <p class="soft">{capitalized(&began(line.since, near))}</p>
                <div><p>{coded(&line.text)}{about}</p>{folded}</div>
            </li>
        }
    });
    view! { <ol class="timeline">{items.collect_view()}</ol> }.into_any()
}

/// `At 15:48:02 UTC` for the head of a line: without the first word where it is only `at`.
fn capitalized(words: &str) -> String {
    words.strip_prefix("at ").unwrap_or(words).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_966_800 + second).expect("a time")
    }

    fn leads(partition: PartitionId, second: i64, leader: Option<BrokerId>) -> Event {
        Event {
            since: Since { at: at(second), after: None },
            subject: Subject::Partition(partition),
            what: Happened::Leadership { leader, leader_epoch: Some(7), isr: leader.into_iter().collect() },
        }
    }

    fn texts(events: &[Event]) -> String {
        let told = |line: &Line| format!("{} [{}]", line.text, line.folded.len());
        lines(events, &[], None).iter().map(told).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn many_changes_of_a_leader_are_one_line() {
        let mut events: Vec<Event> =
            (0..9).map(|n| leads(3, i64::from(n) * 90, Some(if n % 2 == 0 { 1 } else { 2 }))).collect();
        events.push(leads(3, 5_000, Some(1)));
        events.push(leads(4, 100, None));
        events.reverse();
        insta::assert_snapshot!(texts(&events));
    }

    #[test]
    fn what_hits_many_partitions_at_once_is_one_line() {
        let mut events: Vec<Event> = (0..17).map(|n| leads(n * 3, 10, None)).collect();
        events.push(leads(1, 10, Some(2)));
        for partition in [0, 3] {
            events.push(Event {
                since: Since { at: at(11), after: None },
                subject: Subject::Partition(partition),
                what: Happened::GroupsVanished { count: 2 },
            });
        }
        insta::assert_snapshot!(texts(&events));
    }
}
