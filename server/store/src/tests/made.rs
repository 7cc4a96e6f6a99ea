//! Made-up things to keep.

use std::collections::BTreeSet;

use jiff::Timestamp;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::{
    Event, FindingRecord, Happened, Incident, IncidentId, OpenedBy, OpeningId, SeenMembers, Since, Subject,
};
use unstuck_diagnosis::memory::{GoneGroup, SeenGroup, StateChange};
use unstuck_diagnosis::report::{Evidence, Finding, Severity, Strength};

/// So many seconds after the tests' beginning.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

/// Ids that any client may use.
pub(super) fn odd_ids() -> Vec<GroupId> {
    let longest = "é".repeat(16_383) + "x";
    assert_eq!(longest.len(), 32_767);
    let mut ids: Vec<_> = [
        "",
        " ",
        "orders",
        "Orders",
        "группа 🦀",
        "a\0b",
        "\0",
        "'; DROP TABLE known_groups; --",
        "%s{}\\u0000",
        "e\u{301}",
        "é",
    ]
    .map(GroupId::from)
    .to_vec();
    ids.push(GroupId(longest));
    ids.push(GroupId("z".repeat(32_767)));
    ids.sort();
    ids
}

pub(super) fn seen(last_seen: i64) -> SeenGroup {
    SeenGroup {
        group_type: Some("classic".to_owned()),
        protocol_type: "consumer\0".to_owned(),
        state: Some("Stable".to_owned()),
        first_seen: at(0),
        last_seen: at(last_seen),
        listed_by: BTreeSet::from([1, 2]),
        state_since: Some(at(1)),
        earlier: vec![StateChange { state: "Empty 🦀".to_owned(), until: at(1) }],
        other_protocol_type: Some("connect".to_owned()),
        ..SeenGroup::default()
    }
}

/// Remembered only: no listing has it.
pub(super) fn unlisted(last_seen: i64) -> SeenGroup {
    SeenGroup { listed_by: BTreeSet::new(), ..seen(last_seen) }
}

pub(super) fn gone(last_seen: i64) -> GoneGroup {
    GoneGroup {
        last_seen: at(last_seen),
        state: Some("Empty".to_owned()),
        protocol_type: "consumer".to_owned(),
        state_since: None,
    }
}

pub(super) fn members(when: i64) -> SeenMembers {
    SeenMembers { at: at(when), count: 2, clients: vec![("app\0-1 🦀".to_owned(), "/10.0.0.1".to_owned())] }
}

pub(super) fn since(when: i64) -> Since {
    Since { at: at(when), after: Some(at(when - 1)) }
}

/// A partition has another leader epoch.
pub(super) fn event(when: i64, subject: Subject, epoch: i32) -> Event {
    let what = Happened::Leadership { leader: Some(1), leader_epoch: Some(epoch), isr: vec![1, 2] };
    Event { since: since(when), subject, what }
}

pub(super) fn finding(slug: &str, partitions: &[i32], brokers: &[i32]) -> Finding {
    Finding {
        slug: slug.to_owned(),
        severity: Severity::Outage,
        sentence: "Groups stand still: \0 and 🦀 are in their ids.".to_owned(),
        outlook: None,
        evidence: vec![Evidence { strength: Strength::Seen, text: "No leader.".to_owned() }],
        remedies: Vec::new(),
        avoid: Vec::new(),
        follows_from: None,
        partitions: partitions.to_vec(),
        brokers: brokers.to_vec(),
    }
}

pub(super) fn record(id: &str, opened: i64, partitions: &[i32]) -> FindingRecord {
    let finding = finding("no-leader-no-live-replica", partitions, &[3]);
    FindingRecord {
        id: OpeningId(id.to_owned()),
        slug: finding.slug.clone(),
        opened: since(opened),
        closed: None,
        at_opening: finding.clone(),
        at_worst: finding,
        worst_at: at(opened),
        last: None,
        incident: None,
    }
}

pub(super) fn incident(id: &str, opened: i64) -> Incident {
    Incident {
        id: IncidentId(id.to_owned()),
        cluster: "prod".to_owned(),
        opened: since(opened),
        calm_since: None,
        closed: None,
        by: OpenedBy::Unstuck,
        title: "2 groups stand still 🦀".to_owned(),
        severity: Severity::Outage,
        stuck_groups: 2,
        slugs: vec!["no-leader-no-live-replica".to_owned()],
        partitions: vec![7],
        brokers: vec![3],
        acknowledged: None,
    }
}

/// The same incident, over.
pub(super) fn over(id: &str, opened: i64, closed: i64) -> Incident {
    Incident { calm_since: Some(at(closed - 1)), closed: Some(at(closed)), ..incident(id, opened) }
}
