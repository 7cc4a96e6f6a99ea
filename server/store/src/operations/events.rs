//! What happened, and when.

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use unstuck_diagnosis::history::{Event, Subject};

use super::{documents_of, json, key_of, millis, number_of};
use crate::error::Fault;
use crate::sql::{Row, Transaction, Value, places, values};

/// Keeps events; one that is there already is left.
pub(super) async fn insert(transaction: &mut Transaction, cluster: i64, events: &[Event]) -> Result<(), Fault> {
    let mut rows: Vec<[Value; 5]> = Vec::new();
    for event in events {
        let document = json(event)?;
        let (subject, at) = (key_of(&event.subject), millis(event.since.at));
        rows.push(values![cluster, subject, at, digest(&document), document]);
    }
    let columns = ["cluster", "subject", "at", "digest", "document"];
    transaction.insert("events", columns, "DO NOTHING", rows).await?;
    Ok(())
}

fn digest(document: &str) -> i64 {
    let hash = Sha256::digest(document.as_bytes());
    hash.iter().take(8).fold(0, |number, &byte| number << 8 | i64::from(byte))
}

/// Events of these subjects, or of all, newest first, before a time. A millisecond is never cut in two: there may be more
/// than `limit`, so that whoever goes on before the last one misses none.
pub(crate) async fn events(
    transaction: &mut Transaction,
    cluster: &str,
    subjects: &[Subject],
    before: Option<Timestamp>,
    limit: u32,
) -> Result<Vec<Event>, Fault> {
    let Some(cluster) = number_of(transaction, cluster).await? else { return Ok(Vec::new()) };
    let span = (i64::MIN, before.map_or(i64::MAX, millis));
    let page = select(transaction, cluster, subjects, span, Order::NewestFirst, Some(limit)).await?;
    let full = page.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let Some(last) = page.last().filter(|_| full) else { return documents_of("events", &page) };
    let oldest = last.number(1)?;
    let later: Vec<Row> = page.into_iter().filter(|row| row.number(1).is_ok_and(|at| at > oldest)).collect();
    let same = select(transaction, cluster, subjects, (oldest, oldest + 1), Order::NewestFirst, None).await?;
    let mut events: Vec<Event> = documents_of("events", &later)?;
    events.extend(documents_of::<Event>("events", &same)?);
    Ok(events)
}

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// For pages that begin with now.
    NewestFirst,
    /// For what is told as a story.
    OldestFirst,
}

/// The documents and times of events from the first time on and before the second one.
pub(super) async fn select(
    transaction: &mut Transaction,
    cluster: i64,
    subjects: &[Subject],
    (from, before): (i64, i64),
    order: Order,
    limit: Option<u32>,
) -> Result<Vec<Row>, Fault> {
    let mut arguments = values![cluster, from, before, limit.map_or(i64::MAX, i64::from)].to_vec();
    let mut only = String::new();
    if !subjects.is_empty() {
        only = format!("AND subject IN ({}) ", places(arguments.len(), subjects.len()));
        arguments.extend(subjects.iter().map(|subject| Value::from(key_of(subject))));
    }
    let order = match order {
        Order::NewestFirst => "at DESC, number DESC",
        Order::OldestFirst => "at, number",
    };
    let sql = format!(
        "SELECT document, at FROM events WHERE cluster = $1 AND at >= $2 AND at < $3 {only}ORDER BY {order} LIMIT $4"
    );
    Ok(transaction.rows(&sql, arguments).await?)
}
