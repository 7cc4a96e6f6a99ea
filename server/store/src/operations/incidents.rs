//! Incidents with what belongs to them: notes, who looks after them, and what was seen at their moments.

use jiff::Timestamp;
use unstuck_diagnosis::history::{
    Acknowledged, Event, FindingRecord, Incident, IncidentId, Moment, Note, OpenedBy, Subject,
};

use super::events::{Order, select};
use super::{documents_of, findings, json, last_of_each, millis, number_for, number_of, parsed, time};
use crate::error::Fault;
use crate::kept::{Document, INCIDENT_EVENTS_CAP, IncidentFile};
use crate::sql::{Row, Transaction, Value, values};

const COLUMNS: [&str; 8] = ["id", "cluster", "opened", "ended", "imported", "notes", "acknowledged", "document"];

fn row_of(cluster: i64, incident: &Incident) -> Result<[Value; 8], Fault> {
    let (opened, ended) = (millis(incident.opened.at), incident.closed.map(millis));
    let imported = i64::from(incident.by == OpenedBy::Import);
    let acknowledged = incident.acknowledged.as_ref().map(json).transpose()?;
    Ok(values![incident.id.0.as_str(), cluster, opened, ended, imported, 0_i64, acknowledged, json(incident)?])
}

/// Keeps incidents, each in place of what was kept under its id; who acknowledged it stays.
pub(super) async fn upsert(transaction: &mut Transaction, cluster: i64, incidents: &[Incident]) -> Result<(), Fault> {
    let each = last_of_each(incidents, |incident| &incident.id);
    let rows: Vec<[Value; 8]> = each.map(|(_, incident)| row_of(cluster, incident)).collect::<Result<_, _>>()?;
    let there = "(id) DO UPDATE SET opened = excluded.opened, ended = excluded.ended, document = excluded.document \
                 WHERE incidents.cluster = excluded.cluster";
    transaction.insert("incidents", COLUMNS, there, rows).await?;
    Ok(())
}

/// Keeps an incident that was made by hand or imported, with what came with it.
pub(crate) async fn put_incident(
    transaction: &mut Transaction,
    cluster: &str,
    incident: &Incident,
    findings: &[FindingRecord],
    events: &[Event],
    documents: &[Document],
    notes: &[Note],
) -> Result<(), Fault> {
    let cluster = number_for(transaction, cluster).await?;
    let row = row_of(cluster, incident)?;
    if transaction.insert("incidents", COLUMNS, "DO NOTHING", vec![row]).await? == 0 {
        return Err(Fault::Exists(incident.id.0.clone()));
    }
    let id = incident.id.0.as_str();
    let enclosed = "INSERT INTO enclosed (incident, findings, events) VALUES ($1, $2, $3)";
    transaction.run(enclosed, values![id, json(&findings)?, json(&events)?]).await?;
    let own: Vec<Document> =
        documents.iter().map(|document| Document { incident: incident.id.clone(), ..document.clone() }).collect();
    put_documents(transaction, &own).await?;
    // Counted anew: what came from elsewhere may count with gaps.
    for (note, number) in notes.iter().zip(1..) {
        put_note(transaction, id, &Note { number, ..note.clone() }).await?;
    }
    let count = i64::try_from(notes.len()).unwrap_or(i64::MAX);
    transaction.run("UPDATE incidents SET notes = $2 WHERE id = $1", values![id, count]).await?;
    Ok(())
}

async fn put_note(transaction: &mut Transaction, incident: &str, note: &Note) -> Result<(), Fault> {
    let sql = "INSERT INTO notes (incident, number, document) VALUES ($1, $2, $3)";
    transaction.run(sql, values![incident, i64::from(note.number), json(note)?]).await?;
    Ok(())
}

/// Adds a note; it gets the next number.
pub(crate) async fn add_note(
    transaction: &mut Transaction,
    id: &IncidentId,
    by: &str,
    text: &str,
    at: Timestamp,
) -> Result<Note, Fault> {
    // Also keeps others from taking the same number meanwhile.
    let next = "UPDATE incidents SET notes = notes + 1 WHERE id = $1 RETURNING notes";
    let rows = transaction.rows(next, values![id.0.as_str()]).await?;
    let number = rows.first().ok_or_else(|| Fault::NotFound(id.0.clone()))?.number(0)?;
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let note = Note { number, at, by: by.to_owned(), text: text.to_owned() };
    put_note(transaction, &id.0, &note).await?;
    Ok(note)
}

/// Says who looks after an incident, or that nobody does.
pub(crate) async fn acknowledge(
    transaction: &mut Transaction,
    id: &IncidentId,
    acknowledged: Option<&Acknowledged>,
) -> Result<(), Fault> {
    let acknowledged = acknowledged.map(json).transpose()?;
    let sql = "UPDATE incidents SET acknowledged = $2 WHERE id = $1";
    // A name with NUL is none that was kept.
    let there = !id.0.contains('\0') && transaction.run(sql, values![id.0.as_str(), acknowledged]).await? > 0;
    if there { Ok(()) } else { Err(Fault::NotFound(id.0.clone())) }
}

/// Keeps documents, each in place of an earlier one of the same moment.
pub(super) async fn put_documents(transaction: &mut Transaction, documents: &[Document]) -> Result<(), Fault> {
    let sql = "INSERT INTO documents (incident, moment, at, format, bytes) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (incident, moment) DO UPDATE SET at = excluded.at, format = excluded.format, \
               bytes = excluded.bytes";
    for document in documents {
        let (incident, moment) = (document.incident.0.as_str(), document.moment.slug());
        let (at, format) = (millis(document.at), i64::from(document.format));
        transaction.run(sql, values![incident, moment, at, format, document.bytes.as_slice()]).await?;
    }
    Ok(())
}

/// The document of a moment.
pub(crate) async fn document(
    transaction: &mut Transaction,
    id: &IncidentId,
    moment: Moment,
) -> Result<Option<Document>, Fault> {
    let sql = "SELECT at, format, bytes FROM documents WHERE incident = $1 AND moment = $2";
    let rows = transaction.rows(sql, values![id.0.as_str(), moment.slug()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let format = u32::try_from(row.number(1)?).unwrap_or(u32::MAX);
    Ok(Some(Document { incident: id.clone(), moment, at: time(row.number(0)?)?, format, bytes: row.bytes(2)? }))
}

/// An incident as it was written, with who acknowledged it since.
fn incident_of(row: &Row) -> Result<Incident, Fault> {
    let mut incident: Incident = parsed("incidents", &row.text(0)?)?;
    let acknowledged = row.optional_text(1)?;
    incident.acknowledged = acknowledged.map(|text| parsed::<Acknowledged>("incidents", &text)).transpose()?;
    Ok(incident)
}

/// Incidents that are not over, of one cluster or of all, newest first.
pub(super) async fn open(transaction: &mut Transaction, cluster: Option<i64>) -> Result<Vec<Incident>, Fault> {
    let only = if cluster.is_some() { "AND cluster = $1 " } else { "" };
    let sql = format!(
        "SELECT document, acknowledged FROM incidents WHERE ended IS NULL AND imported = 0 {only}ORDER BY opened DESC, id"
    );
    let arguments: Vec<Value> = cluster.into_iter().map(Value::from).collect();
    transaction.rows(&sql, arguments).await?.iter().map(incident_of).collect()
}

/// Incidents of one cluster or of all, newest first. Without `before` all that are open stand before the others; with it
/// only those follow that are over. A millisecond is never cut in two: there may be more than `limit`.
pub(crate) async fn incidents(
    transaction: &mut Transaction,
    cluster: Option<&str>,
    before: Option<Timestamp>,
    limit: u32,
) -> Result<Vec<Incident>, Fault> {
    let mut number = None;
    if let Some(cluster) = cluster {
        number = number_of(transaction, cluster).await?;
        if number.is_none() {
            return Ok(Vec::new());
        }
    }
    let mut incidents = if before.is_none() { open(transaction, number).await? } else { Vec::new() };
    let only = if number.is_some() { "AND cluster = $3 " } else { "" };
    let over = format!("FROM incidents WHERE opened < $1 AND (ended IS NOT NULL OR imported = 1) {only}");
    // As many as wanted, and those that opened in the same millisecond as the last of them.
    let sql = format!(
        "SELECT document, acknowledged {over}AND opened >= COALESCE((SELECT MIN(opened) FROM (SELECT opened {over}\
         ORDER BY opened DESC LIMIT $2) AS page), 0) ORDER BY opened DESC, id"
    );
    let mut arguments = values![before.map_or(i64::MAX, millis), i64::from(limit)].to_vec();
    arguments.extend(number.map(Value::from));
    for row in transaction.rows(&sql, arguments).await? {
        incidents.push(incident_of(&row)?);
    }
    Ok(incidents)
}

/// Everything that is kept of an incident but its documents.
pub(crate) async fn incident(transaction: &mut Transaction, id: &IncidentId) -> Result<Option<IncidentFile>, Fault> {
    let name = id.0.as_str();
    let sql = "SELECT document, acknowledged, cluster, opened, ended, imported FROM incidents WHERE id = $1";
    let rows = transaction.rows(sql, values![name]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let incident = incident_of(row)?;
    let notes = "SELECT document FROM notes WHERE incident = $1 ORDER BY number";
    let notes = documents_of("notes", &transaction.rows(notes, values![name]).await?)?;

    let mut found = findings::of_incident(transaction, id).await?;
    let enclosed = "SELECT findings, events FROM enclosed WHERE incident = $1";
    let rows = transaction.rows(enclosed, values![name]).await?;
    let mut events: Vec<Event> = Vec::new();
    if let Some(row) = rows.first() {
        let came_with: Vec<FindingRecord> = parsed("enclosed", &row.text(0)?)?;
        let more: Vec<_> = came_with.into_iter().filter(|one| found.iter().all(|known| known.id != one.id)).collect();
        found.extend(more);
        found.sort_by(|one, other| (one.opened.at, &one.id).cmp(&(other.opened.at, &other.id)));
        events = parsed("enclosed", &row.text(1)?)?;
        events.sort_by_key(|event| event.since.at);
    }
    // What was imported happened to another cluster, even if that has the same name.
    let elsewhere = row.number(5)? == 1;
    let mut events_cut = false;
    if events.is_empty() && !elsewhere {
        (events, events_cut) = events_between(transaction, row, &incident).await?;
    }
    Ok(Some(IncidentFile {
        incident,
        findings: found,
        notes,
        moments: moments(transaction, id).await?,
        events,
        events_cut,
    }))
}

async fn moments(transaction: &mut Transaction, id: &IncidentId) -> Result<Vec<(Moment, Timestamp)>, Fault> {
    let rows = transaction.rows("SELECT moment, at FROM documents WHERE incident = $1", values![id.0.as_str()]).await?;
    let mut moments = Vec::new();
    for row in &rows {
        let slug = row.text(0)?;
        let moment = [Moment::Opening, Moment::Worst, Moment::Closing].into_iter().find(|one| one.slug() == slug);
        moments.extend(moment.map(|moment| Ok::<_, Fault>((moment, time(row.number(1)?)?))).transpose()?);
    }
    moments.sort();
    Ok(moments)
}

/// What happened to the incident's partitions, its brokers and the cluster until it was over.
async fn events_between(
    transaction: &mut Transaction,
    row: &Row,
    incident: &Incident,
) -> Result<(Vec<Event>, bool), Fault> {
    let partitions = incident.partitions.iter().copied().map(Subject::Partition);
    let brokers = incident.brokers.iter().copied().map(Subject::Broker);
    let subjects: Vec<Subject> = std::iter::once(Subject::Cluster).chain(partitions).chain(brokers).collect();
    let until = row.optional_number(4)?.map_or(i64::MAX, |ended| ended.saturating_add(1));
    let (cluster, span) = (row.number(2)?, (row.number(3)?, until));
    let limit = Some(INCIDENT_EVENTS_CAP + 1);
    let mut rows = select(transaction, cluster, &subjects, span, Order::OldestFirst, limit).await?;
    let cap = usize::try_from(INCIDENT_EVENTS_CAP).unwrap_or(usize::MAX);
    let cut = rows.len() > cap;
    rows.truncate(cap);
    Ok((documents_of("events", &rows)?, cut))
}
