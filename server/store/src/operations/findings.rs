//! Findings, each time they were open.

use std::collections::BTreeSet;

use unstuck_diagnosis::history::{FindingRecord, IncidentId, Subject};

use super::{documents_of, json, key_of, last_of_each, millis, number_of};
use crate::error::Fault;
use crate::kept::FindingsWanted;
use crate::sql::{Transaction, Value, values};

/// Keeps findings, each in place of what was kept under its id.
pub(super) async fn upsert(
    transaction: &mut Transaction,
    cluster: i64,
    findings: &[FindingRecord],
) -> Result<(), Fault> {
    let mut rows: Vec<[Value; 7]> = Vec::new();
    let mut concerned: Vec<[Value; 2]> = Vec::new();
    for (_, finding) in last_of_each(findings, |finding| &finding.id) {
        let id = finding.id.0.as_str();
        let (opened, closed) = (millis(finding.opened.at), finding.closed.map(|closed| millis(closed.at)));
        let incident = finding.incident.as_ref().map(|incident| incident.0.clone());
        rows.push(values![id, cluster, finding.slug.as_str(), opened, closed, incident, json(finding)?]);
        concerned.extend(subjects(finding).iter().map(|subject| values![key_of(subject), id]));
    }
    let there = "(id) DO UPDATE SET slug = excluded.slug, opened = excluded.opened, closed = excluded.closed, \
                 incident = excluded.incident, document = excluded.document WHERE findings.cluster = excluded.cluster";
    let columns = ["id", "cluster", "slug", "opened", "closed", "incident", "document"];
    transaction.insert("findings", columns, there, rows).await?;
    transaction.insert("concerned", ["subject", "finding"], "DO NOTHING", concerned).await?;
    Ok(())
}

/// Which partitions and brokers it concerned at any time.
fn subjects(finding: &FindingRecord) -> BTreeSet<Subject> {
    let moments = [Some(&finding.at_opening), Some(&finding.at_worst), finding.last.as_ref()];
    let each = moments.into_iter().flatten();
    each.flat_map(|one| {
        let partitions = one.partitions.iter().copied().map(Subject::Partition);
        partitions.chain(one.brokers.iter().copied().map(Subject::Broker))
    })
    .collect()
}

/// The newest findings of this kind, newest first.
pub(crate) async fn findings(
    transaction: &mut Transaction,
    cluster: &str,
    wanted: &FindingsWanted,
    limit: u32,
) -> Result<Vec<FindingRecord>, Fault> {
    let Some(cluster) = number_of(transaction, cluster).await? else { return Ok(Vec::new()) };
    let (only, argument) = match wanted {
        FindingsWanted::All => ("", None),
        FindingsWanted::Open => ("AND closed IS NULL ", None),
        FindingsWanted::OfIncident(incident) => ("AND incident = $3 ", Some(incident.0.clone())),
        FindingsWanted::Concerning(subject) => {
            ("AND id IN (SELECT finding FROM concerned WHERE subject = $3) ", Some(key_of(subject)))
        }
        FindingsWanted::OfSlug(slug) => ("AND slug = $3 ", Some(slug.clone())),
        FindingsWanted::WithId(id) => ("AND id = $3 ", Some(id.0.clone())),
    };
    let mut arguments = values![cluster, i64::from(limit)].to_vec();
    arguments.extend(argument.map(Value::from));
    let sql = format!("SELECT document FROM findings WHERE cluster = $1 {only}ORDER BY opened DESC, id LIMIT $2");
    documents_of("findings", &transaction.rows(&sql, arguments).await?)
}

/// The findings of an incident, oldest first.
pub(super) async fn of_incident(
    transaction: &mut Transaction,
    incident: &IncidentId,
) -> Result<Vec<FindingRecord>, Fault> {
    let sql = "SELECT document FROM findings WHERE incident = $1 ORDER BY opened, id";
    documents_of("findings", &transaction.rows(sql, values![incident.0.as_str()]).await?)
}
