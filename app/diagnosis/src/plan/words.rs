//! A plan in words: what it reaches and costs, how to carry it out, and how to go back.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::layout::Layout;
use super::{BrokerMoves, Change, LeftOut, Plan, ROLLBACK, Wish, moves, reassignment, wanted};
use crate::commands::{Commands, Election, Reassign};
use crate::facts::{Controller, Facts};
use crate::remedy::{Met, Remedy, Risk};
use crate::snapshot::LogDirs;
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

/// Copying should take about so long, in seconds.
const COPYING_SECONDS: u64 = 600;
/// The least that is advised, in bytes per second: below that, copying hardly keeps up with what is written meanwhile.
const LEAST_THROTTLE: u64 = 10_000_000;
/// How many brokers a sentence counts one by one.
const COUNTED: usize = 6;

/// How fast to copy.
struct Throttle {
    limit: Option<u64>,
    advice: String,
}

pub(super) fn describe(layout: &Layout<'_, '_>, wish: Wish, changes: Vec<Change>, draft: &Draft) -> Plan {
    let commands = Commands::new(layout.facts);
    let (brokers, bytes) = moves(layout, &changes, draft);
    let copies = brokers.iter().map(|moves| moves.gets).sum();
    let throttle = throttle(layout, &changes, &brokers, bytes, copies);
    let later = elections(layout, &changes);
    let sentences = sentences(layout, wish, &changes, &brokers, bytes, copies, &throttle);
    let file = wish.file();
    let execute = commands.reassign(&file, Reassign::Execute { throttle: throttle.limit });
    let moved: Vec<_> = moved_leaders(layout, &changes);
    let mut remedy = Remedy::new(title(wish, wanted(layout.facts), copies), sentences.join(" "))
        .command(execute, changes_what(&changes, copies))
        .danger(Risk::Pause, danger(copies, throttle.limit.is_some(), &moved, &later))
        .verify(format!(
            "`{}` says \"completed\" for every partition, and takes the throttle away",
            commands.reassign(&file, Reassign::Verify)
        ))
        .undo(undo(&commands, &file))
        .file(&file, "the lists of replicas afterwards", after(&changes))
        .file(ROLLBACK, "the lists of replicas as they are now", before(&changes));
    for (text, state) in preconditions(layout, &changes, &brokers) {
        remedy = remedy.given(text, state);
    }
    commands.annotate(&mut remedy);
    Plan {
        plan: wish.slug().to_owned(),
        then: then(&commands, &later),
        sentences,
        remedy,
        changes,
        brokers,
        copies,
        bytes,
        throttle: throttle.limit,
        left_out: layout.left_out.clone(),
    }
}

fn title(wish: Wish, factor: usize, copies: usize) -> String {
    match wish {
        Wish::RaiseBalanced if copies == 0 => "Put the replicas into an order that spreads the leaders".to_owned(),
        Wish::Raise => format!("Raise the replication factor to {factor} by a reassignment; leaders stay"),
        Wish::RaiseBalanced => format!("Raise the replication factor to {factor}, and spread the leaders as well"),
        Wish::Evacuate(broker) => format!("Move the replicas of __consumer_offsets off broker {broker}"),
        Wish::Spread => "Spread the replicas of __consumer_offsets over brokers and racks".to_owned(),
    }
}

fn after(changes: &[Change]) -> String {
    reassignment(changes.iter().map(|change| (change.partition, change.to.as_slice())))
}

fn before(changes: &[Change]) -> String {
    reassignment(changes.iter().map(|change| (change.partition, change.from.as_slice())))
}

fn changes_what(changes: &[Change], copies: usize) -> String {
    let lists = words::count(changes.len(), "partition");
    match copies {
        0 => format!("the order of the replicas of {lists}; nothing is copied"),
        copies => format!("the lists of replicas of {lists}; {} copied", are(copies, "replica")),
    }
}

fn are(n: usize, noun: &str) -> String {
    format!("{} {}", words::count(n, noun), if n == 1 { "is" } else { "are" })
}

/// Partitions whose leader gets no place in the new list: another one leads as soon as the copies are in sync.
fn moved_leaders(layout: &Layout<'_, '_>, changes: &[Change]) -> Vec<PartitionId> {
    let gone = |change: &&Change| layout.leaders.get(&change.partition).is_some_and(|id| !change.to.contains(id));
    changes.iter().filter(gone).map(|change| change.partition).collect()
}

/// Partitions whose leader stays in the list without being first: an election of the preferred leader moves them.
fn elections(layout: &Layout<'_, '_>, changes: &[Change]) -> Vec<PartitionId> {
    let waits = |change: &&Change| {
        let leader = layout.leaders.get(&change.partition);
        leader.is_some_and(|id| change.to.contains(id))
            && leader != change.to.first()
            && change.to.first() != change.from.first()
    };
    changes.iter().filter(waits).map(|change| change.partition).collect()
}

fn danger(copies: usize, throttled: bool, moved: &[PartitionId], later: &[PartitionId]) -> String {
    let mut text = match (copies, throttled) {
        (0, _) => "Nothing is copied".to_owned(),
        (_, true) => "Copying costs network and disks, up to the throttle".to_owned(),
        (_, false) => "Copying costs all the network and disks that it gets, as nothing throttles it".to_owned(),
    };
    text += &match (moved.len(), later.len()) {
        (0, 0) => ", and may slow clients down; no coordinator moves.".to_owned(),
        (0, n) => format!(
            "; groups on {} pause when their coordinator moves, at the next election of preferred leaders.",
            words::count(n, "partition")
        ),
        (n, _) => format!(
            "; groups on {} pause for a moment when their coordinator moves, at the end of the copying.",
            words::count(n, "partition")
        ),
    };
    text
}

fn undo(commands: &Commands, file: &str) -> String {
    let back = commands.reassign(ROLLBACK, Reassign::Execute { throttle: None });
    match commands.cancel_reassignment(file) {
        Some(cancel) => format!("while it runs: `{cancel}`; afterwards: `{back}`, with the file saved now"),
        None => format!("once it is complete: `{back}`, with the file saved now"),
    }
}

fn then(commands: &Commands, later: &[PartitionId]) -> Option<Remedy> {
    if later.is_empty() {
        return None;
    }
    let command = commands.elect_each(Election::Preferred, OFFSETS_TOPIC, later)?;
    let remedy = Remedy::new(
        "Then let the preferred leaders lead",
        "Until then the present leaders go on. Where auto.leader.rebalance.enable is on, the controller does it by \
         itself within minutes; the command chooses the hour.",
    )
    .command(command, format!("the leader, and so the coordinator, of {}", words::count(later.len(), "partition")))
    .danger(Risk::Pause, "Groups on these partitions pause for a moment while their coordinator moves.")
    .given("the reassignment is complete", Met::NotKnown)
    .verify(format!("`{}` shows each leader as the first of its replicas", commands.describe_topic(OFFSETS_TOPIC)))
    .undo("none needed: whoever leads holds the same data");
    let mut remedy = remedy;
    commands.annotate(&mut remedy);
    Some(remedy)
}

fn involved(changes: &[Change]) -> BTreeSet<BrokerId> {
    changes.iter().flat_map(|change| change.from.iter().chain(&change.to)).copied().collect()
}

fn preconditions(layout: &Layout<'_, '_>, changes: &[Change], brokers: &[BrokerMoves]) -> Vec<(String, Met)> {
    let involved = involved(changes);
    let down = layout.down(&involved);
    let not_asked = layout.not_asked(&involved);
    let answer = if !down.is_empty() {
        let verb = if down.len() == 1 { "does" } else { "do" };
        (format!("all brokers that hold or get replicas answer ({} {verb} not)", words::brokers(&down)), Met::NotMet)
    } else if !not_asked.is_empty() {
        let text = words::brokers(&not_asked);
        (format!("all brokers that hold or get replicas answer ({text} could not be reached from here)"), Met::NotKnown)
    } else {
        ("all brokers that hold or get replicas answer".to_owned(), Met::Met)
    };
    let mut given = vec![
        answer,
        ("there is a controller".to_owned(), controller(layout.facts)),
        ("no reassignment of __consumer_offsets is under way".to_owned(), idle(layout.facts)),
    ];
    given.extend(room(layout.facts, brokers));
    given
}

fn controller(facts: &Facts<'_>) -> Met {
    match facts.controller {
        Controller::Known(_) => Met::Met,
        Controller::Gone(_) => Met::NotMet,
        Controller::Electing | Controller::NotKnown(_) => Met::NotKnown,
    }
}

fn idle(facts: &Facts<'_>) -> Met {
    let told = || facts.snapshot.brokers.values().filter_map(|sight| sight.reassignments.known());
    if told().any(|running| !running.is_empty()) { Met::NotMet } else { told().next().map(|_| true).into() }
}

/// Whether the disks have room, where sizes and free space are told.
fn room(facts: &Facts<'_>, brokers: &[BrokerMoves]) -> Option<(String, Met)> {
    let getting: Vec<_> = brokers.iter().filter(|moves| moves.gets > 0).collect();
    if getting.is_empty() {
        return None;
    }
    let mut state = Met::Met;
    for moves in &getting {
        let dirs = facts.snapshot.brokers.get(&moves.broker).and_then(|sight| sight.log_dirs.known());
        state = match (state, moves.gets_bytes.zip(dirs.and_then(free))) {
            (Met::NotMet, _) => Met::NotMet,
            (_, Some((bytes, (_, all)))) if all < bytes => Met::NotMet,
            (Met::Met, Some((bytes, (largest, _)))) if largest >= bytes => Met::Met,
            _ => Met::NotKnown,
        };
    }
    let needs: Vec<_> = getting
        .iter()
        .filter_map(|moves| Some(format!("broker {} needs {}", moves.broker, words::size(moves.gets_bytes?))))
        .take(COUNTED)
        .collect();
    let needs = if needs.is_empty() { String::new() } else { format!(" ({})", needs.join(", ")) };
    Some((format!("the disks of the brokers that get replicas have room for them{needs}"), state))
}

/// Free bytes of the emptiest usable directory, and of all together; `None` if not told.
fn free(dirs: &LogDirs) -> Option<(u64, u64)> {
    let usable = || {
        dirs.dirs
            .iter()
            .filter(|dir| dir.error == 0)
            .map(|dir| dir.usable_bytes.and_then(|bytes| u64::try_from(bytes).ok()))
    };
    let all = usable().sum::<Option<u64>>()?;
    Some((usable().flatten().max()?, all))
}

fn throttle(
    layout: &Layout<'_, '_>,
    changes: &[Change],
    brokers: &[BrokerMoves],
    bytes: Option<u64>,
    copies: usize,
) -> Throttle {
    if copies == 0 {
        return Throttle { limit: None, advice: String::new() };
    }
    let down = layout.down(&involved(changes));
    if !down.is_empty() {
        let (is, it) = if down.len() == 1 { ("is", "it is") } else { ("are", "they are") };
        return Throttle {
            limit: None,
            advice: format!(
                "{} {is} down: the tool refuses --throttle while such a broker is among those that hold replicas. Better \
                 wait until {it} back; without a throttle copying takes all the network it gets.",
                crate::findings::capital(&words::brokers(&down))
            ),
        };
    }
    let busiest = brokers.iter().map(|moves| moves.gets_bytes.max(moves.sends_bytes)).max().flatten();
    let Some(busiest) = busiest.filter(|_| bytes.is_some()) else {
        return Throttle {
            limit: Some(LEAST_THROTTLE),
            advice: format!(
                "How large the partitions are is not known, so the throttle is a careful {}/s for each broker; raise it if \
                 copying takes too long.",
                words::size(LEAST_THROTTLE)
            ),
        };
    };
    // Whole megabytes, rounded up.
    let limit = busiest.div_ceil(COPYING_SECONDS).div_ceil(1_000_000).saturating_mul(1_000_000).max(LEAST_THROTTLE);
    Throttle {
        limit: Some(limit),
        advice: format!(
            "Throttled to {}/s for each broker, copying takes about {}.",
            words::size(limit),
            duration(busiest.div_ceil(limit.max(1)))
        ),
    }
}

fn sentences(
    layout: &Layout<'_, '_>,
    wish: Wish,
    changes: &[Change],
    brokers: &[BrokerMoves],
    bytes: Option<u64>,
    copies: usize,
    throttle: &Throttle,
) -> Vec<String> {
    let copied = match (copies, bytes) {
        (0, _) => "nothing is copied".to_owned(),
        (n, Some(bytes)) => format!("{} copied, {} in all", are(n, "replica"), words::size(bytes)),
        (n, None) => format!("{} copied", are(n, "replica")),
    };
    let lists = words::count(changes.len(), "partition");
    let one = changes.len() == 1;
    let (get, leave, keep) = if one { ("gets", "leaves", "keeps") } else { ("get", "leave", "keep") };
    let mut said = vec![match wish {
        Wish::Raise => format!(
            "{lists} {get} {} replicas: {copied}, nothing is moved away, and whoever leads now goes on leading.",
            wanted(layout.facts)
        ),
        Wish::RaiseBalanced if copies == 0 => {
            format!("{lists} {get} the same replicas in another order, which spreads the leaders: nothing is copied.")
        }
        Wish::RaiseBalanced => format!(
            "{lists} {get} {} replicas and an order that spreads the leaders: {copied}, nothing is moved away.",
            wanted(layout.facts)
        ),
        Wish::Evacuate(broker) => {
            format!("{lists} {leave} broker {broker} and {keep} the number of replicas: {copied}.")
        }
        Wish::Spread => format!("{lists} {get} another list of replicas: {copied}."),
    }];
    said.push(leaders(brokers));
    said.extend(one_leads_all(wish, brokers));
    said.extend(min_isr(layout, changes));
    said.extend((copies > 0).then(|| throttle.advice.clone()));
    said.extend(left_out(&layout.left_out));
    said
}

/// `Partitions led afterwards: broker 1: 17 (now 50), …`.
fn leaders(brokers: &[BrokerMoves]) -> String {
    let same = brokers.iter().all(|moves| moves.leads_before == moves.leads_after);
    let shown: Vec<_> = brokers
        .iter()
        .take(COUNTED)
        .map(|moves| {
            if moves.leads_before == moves.leads_after {
                format!("broker {}: {}", moves.broker, moves.leads_after)
            } else {
                format!("broker {}: {} (now {})", moves.broker, moves.leads_after, moves.leads_before)
            }
        })
        .collect();
    let more = brokers.len().saturating_sub(COUNTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let when = if same { "as now" } else { "afterwards" };
    format!("Partitions led {when}: {}{more}.", shown.join(", "))
}

/// The same order everywhere makes one broker the coordinator of every group (case of a rolled-out list of replicas).
fn one_leads_all(wish: Wish, brokers: &[BrokerMoves]) -> Option<String> {
    let leads: Vec<_> = brokers.iter().filter(|moves| moves.leads_after > 0).collect();
    match (wish, leads.as_slice()) {
        (Wish::Raise, [one]) if one.leads_after > 1 && brokers.len() > 1 => Some(format!(
            "Broker {} stays the coordinator of every group; the plan raise-balanced spreads them, at the price of a pause.",
            one.broker
        )),
        _ => None,
    }
}

/// From 3.7 on min.insync.replicas is capped by the number of replicas (KAFKA-15583): more of them let it count.
fn min_isr(layout: &Layout<'_, '_>, changes: &[Change]) -> Option<String> {
    let least = changes.iter().map(|change| change.from.len()).min()?;
    let most = changes.iter().map(|change| change.to.len()).min()?;
    let (now, then) = (layout.facts.min_isr(least)?, layout.facts.min_isr(most)?);
    (then > now).then(|| {
        format!("min.insync.replicas={then} counts in full from then on: commits need {then} replicas in sync.")
    })
}

fn left_out(left_out: &[LeftOut]) -> Option<String> {
    let partitions: Vec<_> = left_out.iter().map(|left| left.partition).collect();
    let why = &left_out.first()?.why;
    Some(match partitions.as_slice() {
        [one] => format!("Partition {one} is left out: {why}."),
        many if left_out.iter().all(|left| left.why == *why) => {
            format!("Partitions {} are left out; of each: {why}.", words::list(many))
        }
        many => format!("Partitions {} are left out: they have no live leader now.", words::list(many)),
    })
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..=1 => "a second".to_owned(),
        2..=90 => format!("{seconds} seconds"),
        91..=5_400 => format!("{} minutes", seconds.div_ceil(60)),
        _ => format!("{} hours", seconds.div_ceil(3_600)),
    }
}
