//! What is old goes, and that is said.

use std::time::Duration;

use anyhow::{Context, Result};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::{Incident, IncidentId, Moment, OpenedBy, Subject};

use super::made::{at, event, gone, incident, members, over, record, seen, since, unlisted};
use super::on_both;
use super::place::Place;
use crate::{Batch, Document, Dropped, FindingsWanted, Retention};

on_both!(
    old_groups_go_unless_they_are_listed,
    old_history_goes_and_that_is_remembered,
    what_is_open_stays,
    imported_incidents_age_as_well,
);

const DAY: i64 = 86_400;

fn keep(groups: u64, history: u64) -> Retention {
    let days = |days| Duration::from_secs(days * 86_400);
    Retention { groups: days(groups), history: days(history) }
}

async fn old_groups_go_unless_they_are_listed(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let ids = ["listed", "new", "old", "gone-new", "gone-old"].map(GroupId::from);
    let [listed, new, old, gone_new, gone_old] = ids.clone();
    let batch = Batch {
        groups: vec![(listed, seen(0)), (new, unlisted(5 * DAY)), (old, unlisted(DAY))],
        gone: vec![(gone_new, gone(5 * DAY)), (gone_old, gone(DAY))],
        members: ids.iter().map(|id| (id.clone(), members(0))).collect(),
        ..Batch::default()
    };
    place.store.write("prod", token, &batch).await?;
    let dropped = place.store.retain("prod", &keep(7, 1), at(10 * DAY)).await?;
    assert_eq!(dropped, Dropped { groups: 2, ..Dropped::default() });
    let restored = place.store.restore("prod").await?.context("a record")?;
    let names = |ids: Vec<&GroupId>| ids.into_iter().map(|id| id.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(restored.groups.iter().map(|(id, _)| id).collect()), ["listed", "new"]);
    assert_eq!(names(restored.gone.iter().map(|(id, _)| id).collect()), ["gone-new"]);
    assert_eq!(names(restored.members.iter().map(|(id, _)| id).collect()), ["gone-new", "listed", "new"]);
    assert_eq!(place.store.dropped_until("prod").await?, None, "no history was dropped");
    assert!(place.store.retain("prod", &keep(7, 1), at(10 * DAY)).await?.is_nothing());
    assert!(place.store.retain("unknown", &keep(7, 1), at(10 * DAY)).await?.is_nothing());
    Ok(())
}

fn document(id: &str) -> Document {
    Document { incident: IncidentId(id.to_owned()), moment: Moment::Worst, at: at(0), format: 1, bytes: vec![1] }
}

async fn old_history_goes_and_that_is_remembered(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let closed = |id: &str, days: i64, incident: Option<&str>| {
        let mut finding = record(id, days * DAY, &[7]);
        finding.closed = Some(since(days * DAY + 60));
        finding.incident = incident.map(|id| IncidentId(id.to_owned()));
        finding
    };
    let batch = Batch {
        events: (0..10).map(|day| event(day * DAY, Subject::Cluster, 1)).collect(),
        findings: vec![
            closed("old", 1, Some("i-old")),
            closed("lone", 1, None),
            closed("new", 8, None),
            closed("kept", 1, Some("i-new")),
        ],
        incidents: vec![over("i-old", DAY, 2 * DAY), over("i-new", DAY, 8 * DAY)],
        documents: vec![document("i-old"), document("i-new")],
        ..Batch::default()
    };
    place.store.write("prod", token, &batch).await?;
    place.store.add_note(&IncidentId("i-old".to_owned()), "", "", at(0)).await?;
    let dropped = place.store.retain("prod", &keep(1, 5), at(10 * DAY)).await?;
    assert_eq!(dropped, Dropped { groups: 0, events: 5, findings: 2, incidents: 1 });
    assert_eq!(place.store.dropped_until("prod").await?, Some(at(5 * DAY)));
    assert_eq!(place.store.events("prod", &[], None, 100).await?.len(), 5);
    let findings = place.store.findings("prod", &FindingsWanted::Concerning(Subject::Partition(7)), 10).await?;
    assert_eq!(findings.iter().map(|one| one.id.0.as_str()).collect::<Vec<_>>(), ["new", "kept"]);
    for (id, there) in [("i-old", false), ("i-new", true)] {
        let id = IncidentId(id.to_owned());
        assert_eq!(place.store.incident(&id).await?.is_some(), there);
        assert_eq!(place.store.document(&id, Moment::Worst).await?.is_some(), there);
    }
    // Nothing more to drop: the mark stays.
    assert!(place.store.retain("prod", &keep(1, 5), at(10 * DAY)).await?.is_nothing());
    assert_eq!(place.store.dropped_until("prod").await?, Some(at(5 * DAY)));
    // Somebody wants to keep more from now on: what was dropped is still gone.
    place.store.retain("prod", &keep(1, 30), at(10 * DAY)).await?;
    assert_eq!(place.store.dropped_until("prod").await?, Some(at(5 * DAY)));
    assert_eq!(place.store.dropped_until("another").await?, None);
    Ok(())
}

async fn what_is_open_stays(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    let batch = Batch {
        events: (0..10).map(|day| event(day * DAY, Subject::Cluster, 1)).collect(),
        findings: vec![record("open", 0, &[7])],
        incidents: vec![incident("i-open", 3 * DAY)],
        ..Batch::default()
    };
    place.store.write("prod", token, &batch).await?;
    let dropped = place.store.retain("prod", &keep(1, 1), at(100 * DAY)).await?;
    assert_eq!(dropped, Dropped { events: 3, ..Dropped::default() }, "those before the open incident");
    let restored = place.store.restore("prod").await?.context("a record")?;
    assert_eq!((restored.open_findings.len(), restored.open_incidents.len()), (1, 1));
    Ok(())
}

async fn imported_incidents_age_as_well(place: &Place) -> Result<()> {
    let token = place.token("prod").await?;
    place.store.write("prod", token, &Batch::default()).await?;
    for (id, opened) in [("old", 0), ("new", 9 * DAY)] {
        let imported = Incident { by: OpenedBy::Import, cluster: "elsewhere".to_owned(), ..incident(id, opened) };
        place.store.put_incident("prod", &imported, &[], &[], &[document(id)], &[]).await?;
    }
    let dropped = place.store.retain("prod", &keep(1, 5), at(10 * DAY)).await?;
    assert_eq!(dropped, Dropped { incidents: 1, ..Dropped::default() });
    assert_eq!(place.store.incidents(None, None, 10).await?.len(), 1);
    Ok(())
}
