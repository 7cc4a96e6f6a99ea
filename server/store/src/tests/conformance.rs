//! What is written is there again, on both databases.

use anyhow::{Context, Result};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::{Happened, IncidentId, Moment, OpeningId, Subject};

use super::made::{at, event, finding, gone, incident, members, odd_ids, over, record, seen, since};
use super::on_both;
use super::place::Place;
use crate::{Batch, Document, FindingsWanted};

on_both!(
    a_new_store_knows_nothing,
    everything_comes_back,
    changes_replace_what_was,
    a_batch_may_be_written_twice,
    groups_come_and_go,
    many_groups,
    clusters_are_kept_apart,
    events_by_page,
    events_of_one_moment_stay_together,
    findings_by_what_is_asked,
    it_has_a_size,
);

async fn a_new_store_knows_nothing(place: &Place) -> Result<()> {
    let store = &place.store;
    assert_eq!(store.restore("prod").await?, None);
    place.token("prod").await?;
    assert_eq!(store.restore("prod").await?, None, "a lease is no record");
    assert!(store.events("prod", &[], None, 10).await?.is_empty());
    assert!(store.findings("prod", &FindingsWanted::All, 10).await?.is_empty());
    assert!(store.incidents(None, None, 10).await?.is_empty());
    assert_eq!(store.incident(&IncidentId("a\0b".to_owned())).await?, None);
    assert_eq!(store.document(&IncidentId("a".to_owned()), Moment::Worst).await?, None);
    assert_eq!(store.dropped_until("prod").await?, None);
    Ok(())
}

fn everything() -> Batch {
    let ids = odd_ids();
    let document = Document {
        incident: IncidentId("i1".to_owned()),
        moment: Moment::Opening,
        at: at(5),
        format: u32::MAX,
        bytes: vec![0, 255, 10],
    };
    Batch {
        watching_since: at(0),
        looked_until: at(9),
        memory: Some(b"{\"a\\u0000\": 1}\0".to_vec()),
        groups: ids.iter().map(|id| (id.clone(), seen(9))).collect(),
        gone: ids.iter().map(|id| (GroupId(format!("was {}", id.0)), gone(3))).collect(),
        members: ids.iter().map(|id| (id.clone(), members(4))).collect(),
        events: ids.iter().map(|id| event(5, Subject::Group(id.clone()), 1)).collect(),
        findings: vec![record("f1", 5, &[7])],
        incidents: vec![incident("i1", 5)],
        documents: vec![document],
    }
}

async fn everything_comes_back(place: &Place) -> Result<()> {
    let batch = everything();
    place.store.write("prod", place.token("prod").await?, &batch).await?;
    for store in [place.store.clone(), place.again().await?] {
        let restored = store.restore("prod").await?.context("what was written")?;
        assert_eq!((restored.watching_since, restored.looked_until), (at(0), at(9)));
        assert_eq!(restored.memory, batch.memory);
        assert_eq!(restored.groups, batch.groups);
        assert_eq!(restored.gone, batch.gone);
        assert_eq!(restored.members, batch.members);
        assert_eq!(restored.open_findings, batch.findings);
        assert_eq!(restored.open_incidents, batch.incidents);
        for (id, _) in &batch.groups {
            let events = store.events("prod", &[Subject::Group(id.clone())], None, 10).await?;
            assert_eq!(events, [event(5, Subject::Group(id.clone()), 1)], "{}", id.visible());
        }
        assert_eq!(
            store.document(&IncidentId("i1".to_owned()), Moment::Opening).await?.as_ref(),
            batch.documents.first()
        );
    }
    Ok(())
}

async fn changes_replace_what_was(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let first = everything();
    place.store.write("prod", token, &first).await?;
    let id = GroupId::from("orders");
    let mut closed = record("f1", 5, &[7]);
    closed.closed = Some(since(20));
    let document = Document { bytes: b"later".to_vec(), at: at(20), ..first.documents[0].clone() };
    let second = Batch {
        watching_since: at(15),
        looked_until: at(20),
        memory: None,
        groups: vec![(id.clone(), seen(19)), (id.clone(), seen(20))],
        members: vec![(id.clone(), members(20))],
        findings: vec![closed.clone()],
        incidents: vec![over("i1", 5, 20)],
        documents: vec![document.clone()],
        ..Batch::default()
    };
    place.store.write("prod", token, &second).await?;
    let restored = place.store.restore("prod").await?.context("a record")?;
    assert_eq!((restored.watching_since, restored.looked_until), (at(0), at(20)));
    assert_eq!(restored.memory, first.memory, "as before");
    assert_eq!(restored.groups.len(), first.groups.len());
    assert!(restored.groups.contains(&(id.clone(), seen(20))), "the last one counts");
    assert!(restored.members.contains(&(id, members(20))));
    assert!(restored.open_findings.is_empty() && restored.open_incidents.is_empty());
    assert_eq!(place.store.findings("prod", &FindingsWanted::All, 10).await?, [closed]);
    let file = place.store.incident(&IncidentId("i1".to_owned())).await?.context("the incident")?;
    assert_eq!(file.incident, over("i1", 5, 20));
    assert_eq!(file.moments, [(Moment::Opening, at(20))]);
    assert_eq!(place.store.document(&file.incident.id, Moment::Opening).await?, Some(document));
    Ok(())
}

async fn a_batch_may_be_written_twice(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let mut batch = everything();
    batch.events.push(event(5, Subject::Cluster, 1));
    batch.events.push(event(5, Subject::Cluster, 2));
    place.store.write("prod", token, &batch).await?;
    let before = (place.store.restore("prod").await?, place.store.events("prod", &[], None, 100).await?);
    assert_eq!(before.1.len(), batch.events.len());
    place.store.write("prod", token, &batch).await?;
    let after = (place.store.restore("prod").await?, place.store.events("prod", &[], None, 100).await?);
    assert_eq!(before, after);
    Ok(())
}

async fn groups_come_and_go(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let id = GroupId::from("orders");
    let there = Batch { groups: vec![(id.clone(), seen(1))], ..Batch::default() };
    let away = Batch { gone: vec![(id.clone(), gone(2))], ..Batch::default() };
    for _ in 0..2 {
        place.store.write("prod", token, &there).await?;
        let restored = place.store.restore("prod").await?.context("a record")?;
        assert_eq!((restored.groups.len(), restored.gone.len()), (1, 0));
        place.store.write("prod", token, &away).await?;
        let restored = place.store.restore("prod").await?.context("a record")?;
        assert_eq!((restored.groups.len(), restored.gone), (0, vec![(id.clone(), gone(2))]));
    }
    Ok(())
}

async fn many_groups(place: &Place) -> Result<()> {
    // Neither a multiple of the rows of a statement nor of any other round number.
    let groups: Vec<_> = (0..3_333).map(|n| (GroupId(format!("group-{n:05}")), seen(n))).collect();
    let token = place.token("prod").await?;
    place.store.write("prod", token, &Batch { groups: groups.clone(), ..Batch::default() }).await?;
    assert_eq!(place.store.restore("prod").await?.context("a record")?.groups, groups);
    let away = groups.iter().skip(1).map(|(id, _)| (id.clone(), gone(5))).collect();
    place.store.write("prod", token, &Batch { gone: away, ..Batch::default() }).await?;
    let restored = place.store.restore("prod").await?.context("a record")?;
    assert_eq!((restored.groups.len(), restored.gone.len()), (1, 3_332));
    Ok(())
}

async fn clusters_are_kept_apart(place: &Place) -> Result<()> {
    let (prod, test) = (place.token("prod").await?, place.token("test 🦀 'x'").await?);
    place.store.write("prod", prod, &everything()).await?;
    let mut stolen = record("f1", 6, &[1]);
    stolen.slug = "another".to_owned();
    let other = Batch { findings: vec![stolen], incidents: vec![over("i1", 6, 7)], ..Batch::default() };
    place.store.write("test 🦀 'x'", test, &other).await?;
    let restored = place.store.restore("test 🦀 'x'").await?.context("a record")?;
    assert!(restored.groups.is_empty() && restored.gone.is_empty() && restored.members.is_empty());
    assert!(place.store.events("test 🦀 'x'", &[], None, 10).await?.is_empty());
    let restored = place.store.restore("prod").await?.context("a record")?;
    assert_eq!(restored.open_findings, [record("f1", 5, &[7])], "an id of another cluster is left alone");
    assert_eq!(restored.open_incidents, [incident("i1", 5)]);
    Ok(())
}

async fn events_by_page(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let events: Vec<_> = (0..25).map(|n| event(n, Subject::Partition(i32::try_from(n % 3).unwrap_or(0)), 1)).collect();
    place.store.write("prod", token, &Batch { events: events.clone(), ..Batch::default() }).await?;
    let newest_first: Vec<_> = events.iter().rev().cloned().collect();
    let (mut read, mut before) = (Vec::new(), None);
    loop {
        let page = place.store.events("prod", &[], before, 4).await?;
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 4);
        before = Some(last.since.at);
        read.extend(page);
    }
    assert_eq!(read, newest_first);
    let two = [Subject::Partition(0), Subject::Partition(2)];
    let of_two: Vec<_> = newest_first.iter().filter(|event| two.contains(&event.subject)).cloned().collect();
    assert_eq!(place.store.events("prod", &two, None, 100).await?, of_two);
    assert!(place.store.events("prod", &[Subject::Broker(0)], None, 100).await?.is_empty());
    Ok(())
}

async fn events_of_one_moment_stay_together(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let mut events: Vec<_> = (0..10).map(|n| event(7, Subject::Partition(n), 1)).collect();
    events.push(event(8, Subject::Cluster, 2));
    events.push(event(6, Subject::Cluster, 2));
    place.store.write("prod", token, &Batch { events, ..Batch::default() }).await?;
    let page = place.store.events("prod", &[], None, 3).await?;
    assert_eq!(page.len(), 11, "the newest, and all of the next moment");
    let rest = place.store.events("prod", &[], Some(at(7)), 3).await?;
    assert_eq!(rest, [event(6, Subject::Cluster, 2)]);
    Ok(())
}

async fn findings_by_what_is_asked(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let open = record("open", 30, &[7]);
    let mut closed = record("closed", 10, &[8]);
    closed.closed = Some(since(20));
    closed.at_worst = finding("no-leader-no-live-replica", &[8, 9], &[3, 4]);
    closed.incident = Some(IncidentId("i1".to_owned()));
    let mut other = record("other", 20, &[1]);
    other.slug = "at-risk".to_owned();
    let findings = vec![open.clone(), closed.clone(), other.clone()];
    place.store.write("prod", token, &Batch { findings, ..Batch::default() }).await?;
    let asked = [
        (FindingsWanted::All, vec![&open, &other, &closed]),
        (FindingsWanted::Open, vec![&open, &other]),
        (FindingsWanted::OfIncident(IncidentId("i1".to_owned())), vec![&closed]),
        (FindingsWanted::Concerning(Subject::Partition(9)), vec![&closed]),
        (FindingsWanted::Concerning(Subject::Broker(3)), vec![&open, &other, &closed]),
        (FindingsWanted::Concerning(Subject::Cluster), vec![]),
        (FindingsWanted::OfSlug("at-risk".to_owned()), vec![&other]),
        (FindingsWanted::WithId(OpeningId("other".to_owned())), vec![&other]),
        (FindingsWanted::WithId(OpeningId("\0".to_owned())), vec![]),
    ];
    for (wanted, expected) in asked {
        let found = place.store.findings("prod", &wanted, 10).await?;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{wanted:?}");
    }
    assert_eq!(place.store.findings("prod", &FindingsWanted::All, 1).await?, [open]);
    Ok(())
}

async fn it_has_a_size(place: &Place) -> Result<()> {
    let before = place.store.bytes().await?;
    let token = place.token("prod").await?;
    let mut event = event(1, Subject::Cluster, 1);
    event.what =
        Happened::Verdict { status: unstuck_diagnosis::report::Status::Working, sentence: "x".repeat(200_000) };
    let groups = (0..2_000).map(|n| (GroupId(format!("group-{n}")), seen(n))).collect();
    place.store.write("prod", token, &Batch { groups, events: vec![event], ..Batch::default() }).await?;
    let after = place.store.bytes().await?;
    assert!(after > before + 200_000, "{before} → {after}");
    Ok(())
}
