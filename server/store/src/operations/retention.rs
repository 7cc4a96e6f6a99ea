//! Dropping what is old.

use std::time::Duration;

use jiff::Timestamp;

use super::{millis, number_of, time};
use crate::error::Fault;
use crate::kept::{Dropped, Retention};
use crate::sql::{Transaction, values};

fn before(now: Timestamp, age: Duration) -> i64 {
    millis(now).saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}

/// Drops what is older than wanted; what is open or listed stays, and so do the events since the oldest open incident.
pub(crate) async fn retain(
    transaction: &mut Transaction,
    cluster: &str,
    keep: &Retention,
    now: Timestamp,
) -> Result<Dropped, Fault> {
    let Some(cluster) = number_of(transaction, cluster).await? else { return Ok(Dropped::default()) };
    let mut dropped = Dropped::default();

    let limit = before(now, keep.groups);
    let remembered = "DELETE FROM known_groups WHERE cluster = $1 AND listed = 0 AND last_seen < $2";
    dropped.groups += transaction.run(remembered, values![cluster, limit]).await?;
    let gone = "DELETE FROM gone_groups WHERE cluster = $1 AND last_seen < $2";
    dropped.groups += transaction.run(gone, values![cluster, limit]).await?;
    let members = "DELETE FROM group_members WHERE cluster = $1 \
                   AND NOT EXISTS (SELECT 1 FROM known_groups AS g WHERE g.cluster = $1 AND g.key = group_members.key) \
                   AND NOT EXISTS (SELECT 1 FROM gone_groups AS g WHERE g.cluster = $1 AND g.key = group_members.key)";
    transaction.run(members, values![cluster]).await?;

    let limit = before(now, keep.history);
    // Nobody looks at the cluster of an imported incident, so it would never end.
    let incidents = "DELETE FROM incidents WHERE (cluster = $1 AND imported = 0 AND ended < $2) \
                     OR (imported = 1 AND COALESCE(ended, opened) < $2)";
    dropped.incidents = transaction.run(incidents, values![cluster, limit]).await?;
    if dropped.incidents > 0 {
        for table in ["notes", "documents", "enclosed"] {
            let orphans = format!("DELETE FROM {table} WHERE incident NOT IN (SELECT id FROM incidents)");
            transaction.run(&orphans, []).await?;
        }
    }
    // The findings of an incident stay with it.
    let findings = "DELETE FROM findings WHERE cluster = $1 AND closed < $2 \
                    AND (incident IS NULL OR incident NOT IN (SELECT id FROM incidents))";
    dropped.findings = transaction.run(findings, values![cluster, limit]).await?;
    if dropped.findings > 0 {
        transaction.run("DELETE FROM concerned WHERE finding NOT IN (SELECT id FROM findings)", []).await?;
    }
    let open = "SELECT MIN(opened) FROM incidents WHERE cluster = $1 AND imported = 0 AND ended IS NULL";
    let oldest = transaction.rows(open, values![cluster]).await?;
    let oldest = oldest.first().map(|row| row.optional_number(0)).transpose()?.flatten();
    let events_limit = oldest.map_or(limit, |opened| opened.min(limit));
    let events = "DELETE FROM events WHERE cluster = $1 AND at < $2";
    dropped.events = transaction.run(events, values![cluster, events_limit]).await?;

    if dropped.events + dropped.findings + dropped.incidents > 0 {
        let until = "INSERT INTO dropped (cluster, until) VALUES ($1, $2) ON CONFLICT (cluster) \
                     DO UPDATE SET until = excluded.until WHERE dropped.until < excluded.until";
        transaction.run(until, values![cluster, limit]).await?;
    }
    Ok(dropped)
}

/// Before which time history was dropped, if any was.
pub(crate) async fn dropped_until(transaction: &mut Transaction, cluster: &str) -> Result<Option<Timestamp>, Fault> {
    let sql = "SELECT until FROM dropped WHERE cluster = (SELECT number FROM clusters WHERE name = $1)";
    let rows = transaction.rows(sql, values![cluster]).await?;
    rows.first().map(|row| time(row.number(0)?)).transpose()
}
