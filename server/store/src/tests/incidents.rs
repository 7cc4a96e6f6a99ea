//! Incidents: what is kept of them, and who may change what.

use anyhow::{Context, Result};
use unstuck_diagnosis::history::{Acknowledged, Incident, IncidentId, Moment, Note, OpenedBy, Subject};

use super::made::{at, event, incident, over, record};
use super::on_both;
use super::place::Place;
use crate::{Batch, Document, Kind};

on_both!(
    who_acknowledged_it_is_not_overwritten,
    notes_are_numbered,
    notes_at_once,
    open_ones_first_then_by_page,
    the_file_of_an_incident,
    one_that_is_put_keeps_what_came_with_it,
    an_imported_one_does_not_touch_what_is_recorded_here,
    one_of_a_cluster_that_is_kept_under_another_name_is_listed_there,
    an_id_that_is_there_is_refused,
    what_is_not_there,
);

fn id(id: &str) -> IncidentId {
    IncidentId(id.to_owned())
}

fn anna() -> Acknowledged {
    Acknowledged { by: "Anna \0 🦀".to_owned(), at: at(8) }
}

async fn who_acknowledged_it_is_not_overwritten(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let batch = |incident: Incident| Batch { incidents: vec![incident], ..Batch::default() };
    place.store.write("prod", token, &batch(incident("i1", 5))).await?;
    place.store.acknowledge(&id("i1"), Some(&anna())).await?;
    place.store.write("prod", token, &batch(over("i1", 5, 20))).await?;
    let expected = Incident { acknowledged: Some(anna()), ..over("i1", 5, 20) };
    assert_eq!(place.store.incidents(Some("prod"), None, 10).await?, std::slice::from_ref(&expected));
    let file = place.store.incident(&id("i1")).await?.context("the incident")?;
    assert_eq!(file.incident, expected);
    place.store.acknowledge(&id("i1"), None).await?;
    assert_eq!(place.store.incidents(None, None, 10).await?, [over("i1", 5, 20)]);
    Ok(())
}

async fn notes_are_numbered(place: &Place) -> Result<()> {
    place.store.put_incident("prod", &incident("i1", 5), &[], &[], &[], &[]).await?;
    let first = place.store.add_note(&id("i1"), "Anna", "Looks *bad* \0 🦀", at(6)).await?;
    let second = place.store.add_note(&id("i1"), "", "", at(7)).await?;
    assert_eq!((first.number, second.number), (1, 2));
    let file = place.store.incident(&id("i1")).await?.context("the incident")?;
    assert_eq!(file.notes, [first, second]);
    Ok(())
}

async fn notes_at_once(place: &Place) -> Result<()> {
    place.store.put_incident("prod", &incident("i1", 5), &[], &[], &[], &[]).await?;
    let other = place.again().await?;
    let mut tasks = Vec::new();
    for n in 0..10 {
        let store = if n % 2 == 0 { place.store.clone() } else { other.clone() };
        tasks.push(tokio::spawn(async move { store.add_note(&id("i1"), "", &n.to_string(), at(n)).await }));
    }
    let mut numbers = Vec::new();
    for task in tasks {
        numbers.push(task.await??.number);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    Ok(())
}

async fn open_ones_first_then_by_page(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let mut incidents: Vec<_> = (0..10).map(|n| over(&format!("over-{n}"), n * 10, n * 10 + 5)).collect();
    incidents.push(incident("open-old", 1));
    incidents.push(incident("open-new", 200));
    incidents.push(over("twin", 50, 60));
    place.store.write("prod", token, &Batch { incidents, ..Batch::default() }).await?;
    let ids = async |before, limit| -> Result<Vec<String>> {
        let page = place.store.incidents(Some("prod"), before, limit).await?;
        Ok(page.into_iter().map(|incident| incident.id.0).collect())
    };
    assert_eq!(ids(None, 3).await?, ["open-new", "open-old", "over-9", "over-8", "over-7"]);
    let page = ids(Some(at(70)), 2).await?;
    assert_eq!(page, ["over-6", "over-5", "twin"], "those of one moment stay together");
    assert_eq!(ids(Some(at(50)), 100).await?, ["over-4", "over-3", "over-2", "over-1", "over-0"]);
    assert!(ids(Some(at(0)), 100).await?.is_empty());
    assert!(place.store.incidents(Some("another"), None, 10).await?.is_empty());
    assert_eq!(place.store.incidents(None, None, 100).await?.len(), 13);
    Ok(())
}

async fn the_file_of_an_incident(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let mut own = record("f1", 10, &[7]);
    own.incident = Some(id("i1"));
    let inside =
        vec![event(10, Subject::Partition(7), 1), event(12, Subject::Broker(3), 2), event(20, Subject::Cluster, 3)];
    let mut events = inside.clone();
    events.push(event(9, Subject::Cluster, 4));
    events.push(event(21, Subject::Cluster, 5));
    events.push(event(15, Subject::Partition(8), 6));
    let documents = [(Moment::Worst, 12), (Moment::Closing, 20), (Moment::Opening, 10)]
        .map(|(moment, when)| Document { incident: id("i1"), moment, at: at(when), format: 1, bytes: b"{}".to_vec() });
    let batch = Batch {
        findings: vec![own.clone(), record("f2", 11, &[7])],
        incidents: vec![over("i1", 10, 20)],
        events,
        documents: documents.to_vec(),
        ..Batch::default()
    };
    place.store.write("prod", token, &batch).await?;
    let file = place.store.incident(&id("i1")).await?.context("the incident")?;
    assert_eq!(file.findings, [own]);
    assert_eq!(file.events, inside);
    assert!(!file.events_cut);
    assert_eq!(file.moments, [(Moment::Opening, at(10)), (Moment::Worst, at(12)), (Moment::Closing, at(20))]);
    Ok(())
}

fn document(text: &str) -> Document {
    Document { incident: id("whatever"), moment: Moment::Worst, at: at(6), format: 1, bytes: text.into() }
}

async fn one_that_is_put_keeps_what_came_with_it(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    // The finding is open here, and belongs to another incident.
    let mut known = record("f1", 5, &[7]);
    known.incident = Some(id("other"));
    place.store.write("prod", token, &Batch { findings: vec![known.clone()], ..Batch::default() }).await?;
    let by_hand = Incident { by: OpenedBy::Person(Some("Anna".to_owned())), ..incident("i1", 6) };
    let events = [event(5, Subject::Cluster, 1)];
    let notes = [Note { number: 7, at: at(6), by: "Anna".to_owned(), text: "See this.".to_owned() }];
    place.store.put_incident("prod", &by_hand, std::slice::from_ref(&known), &events, &[document("x")], &notes).await?;
    let file = place.store.incident(&id("i1")).await?.context("the incident")?;
    assert_eq!((file.incident, file.findings), (by_hand, vec![known.clone()]));
    assert_eq!(file.events, events);
    assert_eq!(file.notes.iter().map(|note| note.number).collect::<Vec<_>>(), [1]);
    assert_eq!(place.store.add_note(&id("i1"), "", "", at(7)).await?.number, 2);
    let kept = place.store.document(&id("i1"), Moment::Worst).await?.context("the document")?;
    assert_eq!((kept.incident, kept.bytes), (id("i1"), b"x".to_vec()));
    let restored = place.store.restore("prod").await?.context("a record")?;
    assert_eq!(restored.open_findings, [known], "as it was");
    Ok(())
}

async fn an_imported_one_does_not_touch_what_is_recorded_here(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    place
        .store
        .write("prod", token, &Batch { events: vec![event(6, Subject::Cluster, 1)], ..Batch::default() })
        .await?;
    let imported = Incident { by: OpenedBy::Import, ..incident("i1", 5) };
    place.store.put_incident("prod", &imported, &[record("f1", 5, &[7])], &[], &[], &[]).await?;
    let file = place.store.incident(&id("i1")).await?.context("the incident")?;
    assert_eq!((file.findings.len(), file.events.len()), (1, 0), "only what came with it");
    let restored = place.store.restore("prod").await?.context("a record")?;
    assert!(restored.open_incidents.is_empty() && restored.open_findings.is_empty());
    assert_eq!(place.store.events("prod", &[], None, 10).await?.len(), 1);
    assert_eq!(place.store.incidents(None, None, 10).await?, [imported]);
    let elsewhere = Incident { cluster: "elsewhere".to_owned(), by: OpenedBy::Import, ..incident("i2", 5) };
    place.store.put_incident("elsewhere", &elsewhere, &[], &[], &[], &[]).await?;
    assert_eq!(place.store.restore("elsewhere").await?, None);
    Ok(())
}

async fn one_of_a_cluster_that_is_kept_under_another_name_is_listed_there(place: &Place) -> Result<()> {
    place.store.put_incident("prod (another)", &incident("i1", 5), &[], &[], &[], &[]).await?;
    assert_eq!(place.store.incidents(Some("prod (another)"), None, 10).await?, [incident("i1", 5)]);
    assert_eq!(place.store.incidents(Some("prod"), None, 10).await?, []);
    Ok(())
}

async fn an_id_that_is_there_is_refused(place: &Place) -> Result<()> {
    place.store.put_incident("prod", &incident("i1", 5), &[], &[], &[document("x")], &[]).await?;
    let refused = place.store.put_incident("prod", &incident("i1", 9), &[], &[], &[document("y")], &[]).await;
    assert_eq!(refused.map_err(|error| error.kind()), Err(Kind::Exists));
    let file = place.store.incident(&id("i1")).await?.context("the incident")?;
    assert_eq!(file.incident, incident("i1", 5));
    assert_eq!(
        place.store.document(&id("i1"), Moment::Worst).await?.map(|document| document.bytes),
        Some(b"x".to_vec())
    );
    Ok(())
}

async fn what_is_not_there(place: &Place) -> Result<()> {
    for name in ["nothing", "", "a\0b", "' OR ''='"] {
        assert_eq!(place.store.incident(&id(name)).await?, None);
        let note = place.store.add_note(&id(name), "", "", at(0)).await;
        assert_eq!(note.map_err(|error| error.kind()), Err(Kind::NotFound), "{name:?}");
        let acknowledged = place.store.acknowledge(&id(name), Some(&anna())).await;
        assert_eq!(acknowledged.map_err(|error| error.kind()), Err(Kind::NotFound), "{name:?}");
    }
    let refused = place.store.put_incident("prod", &incident("a\0b", 5), &[], &[], &[], &[]).await;
    assert_eq!(refused.map_err(|error| error.kind()), Err(Kind::Other), "the same on both");
    Ok(())
}
