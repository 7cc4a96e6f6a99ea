//! No real name is left, and what is said stays true.

use std::collections::BTreeMap;

use unstuck_diagnosis::history::{Book, Frozen, Moment, Note, SeenMembers};
use unstuck_diagnosis::sample::Sample;

use super::super::archive::Archive;
use super::hide;

fn archive() -> Archive {
    let mut sample = Sample::kraft(3, 6, 1).group_on(0, "orders").group_on(1, "audit").later(1);
    let id = sample.memory.groups.by_id.keys().next().cloned().expect("a group");
    let members = SeenMembers {
        at: sample.now(),
        count: 1,
        clients: vec![("billing-client".to_owned(), "/10.1.2.3".to_owned())],
    };
    sample.memory.see_members(&id, members);
    let dead = sample.later(1).gone(1).leaderless_after(1).published();
    let mut n = 0;
    let changes = Book::default().step(&dead.report, &mut || {
        n += 1;
        format!("name-{n}")
    });
    let incident = changes.incidents.first().cloned().expect("an incident");
    let text = format!("{} is stuck, asked the owners; xorders is something else", id);
    Archive {
        kind: "unstuck-incident".to_owned(),
        format: 1,
        written_by: "0".to_owned(),
        pseudonyms: false,
        notes: vec![Note { number: 1, at: dead.report.observed_at, by: "Ada".to_owned(), text }],
        findings: changes.findings,
        events: Vec::new(),
        documents: BTreeMap::from([(Moment::Opening, Frozen::of(&dead, "0"))]),
        incident,
    }
}

#[test]
fn no_name_of_a_group_a_client_or_a_host_is_left() {
    let archive = archive();
    let hidden = hide(&archive).expect("an archive");
    let text = serde_json::to_string(&hidden).expect("JSON");
    for group in archive.documents[&Moment::Opening].memory.groups.by_id.keys() {
        assert!(!text.contains(&format!("\"{group}\"")), "{group}");
        assert!(!text.contains(&format!("{group} is stuck")), "{group}");
    }
    for name in ["127.0.0.1", "10.1.2.3", "billing-client"] {
        assert!(!text.contains(name), "{name}");
    }
    assert!(hidden.pseudonyms && text.contains("xorders is something else"), "{}", hidden.notes[0].text);
}

#[test]
fn what_is_said_stays_true() {
    let archive = archive();
    let hidden = hide(&archive).expect("an archive");
    let (before, after) = (&archive.documents[&Moment::Opening], &hidden.documents[&Moment::Opening]);
    let sizes = |frozen: &Frozen| -> Vec<_> {
        frozen.memory.groups.by_partition.iter().map(|(partition, ids)| (*partition, ids.len())).collect()
    };
    assert_eq!(sizes(before), sizes(after), "each group on its partition");
    let again = after.diagnosed_again().report;
    assert_eq!(again.headline, before.report.headline);
    let slugs = |frozen: &Frozen| frozen.report.findings.iter().map(|one| one.slug.clone()).collect::<Vec<_>>();
    assert_eq!(slugs(before), again.findings.iter().map(|one| one.slug.clone()).collect::<Vec<_>>());
}
