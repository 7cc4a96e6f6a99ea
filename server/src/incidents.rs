//! Incidents: read for pages and API, written about by people, carried to other servers as files.

pub mod archive;
mod pseudonyms;
pub(crate) mod routes;
#[cfg(test)]
mod tests;

pub(crate) use pseudonyms::Names;

use std::sync::Arc;

use jiff::Timestamp;
use unstuck_app::{History, IncidentView, Now};
use unstuck_diagnosis::Published;
use unstuck_diagnosis::history::{Frozen, Incident, IncidentId, Moment, OpenedBy, Since, Subject};
use unstuck_diagnosis::report::{Report, Severity, Status};
use unstuck_store::{FindingsWanted, IncidentFile, Store, StoreError};

use crate::record::{document, read_frozen, unguessable};

/// How many events or incidents are shown at once.
pub(crate) const PAGE: u32 = 100;
/// How many findings of something are shown.
const FINDINGS: u32 = 50;
/// How long the name of a person may be, in characters.
pub(crate) const NAME_CAP: usize = 100;
/// How long a note may be, in bytes.
pub(crate) const NOTE_CAP: usize = 16 * 1024;

/// What happened to some subjects.
pub(crate) async fn history(
    store: &dyn Store,
    key: &str,
    subjects: &[Subject],
    before: Option<Timestamp>,
) -> Result<History, StoreError> {
    let events = store.events(key, subjects, before, PAGE).await?;
    let mut findings = Vec::new();
    for subject in subjects {
        // Findings concern partitions and brokers.
        if matches!(subject, Subject::Partition(_) | Subject::Broker(_)) {
            let wanted = FindingsWanted::Concerning(subject.clone());
            findings.extend(store.findings(key, &wanted, FINDINGS).await?);
        }
    }
    let more = events.len() >= PAGE as usize;
    Ok(History { events, findings, more, dropped_until: store.dropped_until(key).await? })
}

/// An incident with the moment that was asked for, or else its worst.
pub(crate) async fn view(
    store: &dyn Store,
    id: &IncidentId,
    moment: Option<Moment>,
    now: impl FnOnce(&str) -> Option<Arc<Published>>,
) -> Result<Option<IncidentView>, StoreError> {
    let Some(file) = store.incident(id).await? else { return Ok(None) };
    let IncidentFile { incident, findings, notes, moments, events, events_cut } = file;
    let kept = |wanted: Moment| moments.iter().any(|(moment, _)| *moment == wanted);
    let asked = moment.filter(|moment| kept(*moment));
    let shown = asked.or_else(|| Moment::ALL.into_iter().find(|one| kept(*one)));
    let (mut then, mut unreadable) = (None, None);
    if let Some(moment) = shown
        && let Some(document) = store.document(id, moment).await?
    {
        match read_frozen(&document.bytes) {
            Ok(frozen) => then = Some((moment, frozen)),
            Err(error) => unreadable = Some(error.to_string()),
        }
    }
    let now = match (now(&incident.cluster), &then) {
        (None, _) => Now::NotLookedAt,
        (Some(now), Some((_, then))) if another(&then.report, &now.report) => Now::AnotherCluster,
        (Some(now), _) => Now::Seen(now),
    };
    Ok(Some(IncidentView { incident, findings, notes, events, events_cut, moments, then, unreadable, now }))
}

/// Whether two reports are about different clusters. Where an id is not known, nothing says so.
fn another(one: &Report, other: &Report) -> bool {
    one.cluster_id.is_some() && other.cluster_id.is_some() && one.cluster_id != other.cluster_id
}

/// Keeps what is seen now under a link among the incidents of the cluster that is kept as `key`, and gives its id. It is
/// over at once: nobody watches it.
///
/// # Errors
/// The store cannot be written.
pub(crate) async fn by_hand(
    store: &dyn Store,
    key: &str,
    published: &Published,
    by: Option<String>,
) -> Result<IncidentId, StoreError> {
    let incident = made_by_hand(published, by);
    let frozen = Frozen::of(published, env!("CARGO_PKG_VERSION"));
    let documents: Vec<_> = document(incident.id.clone(), Moment::Opening, &frozen).into_iter().collect();
    store.put_incident(key, &incident, &[], &[], &documents, &[]).await?;
    Ok(incident.id)
}

/// What is seen now as an incident that is over at once.
fn made_by_hand(published: &Published, by: Option<String>) -> Incident {
    let report = &published.report;
    let at = report.observed_at;
    let mut incident = Incident {
        id: IncidentId(unguessable()),
        cluster: report.cluster.clone(),
        opened: Since { at, after: None },
        calm_since: Some(at),
        closed: Some(at),
        by: OpenedBy::Person(by),
        title: report.headline.sentence.clone(),
        severity: report.findings.iter().map(|one| one.severity).max().unwrap_or(Severity::Info),
        stuck_groups: report.groups.by_status.get(&Status::Stuck).copied().unwrap_or_default(),
        slugs: Vec::new(),
        partitions: Vec::new(),
        brokers: Vec::new(),
        acknowledged: None,
    };
    for finding in &report.findings {
        incident.take_in(finding);
    }
    incident
}

/// What is seen now, as the file that an export of it would be.
#[cfg(test)]
pub(crate) fn by_hand_for_tests(published: &Published) -> archive::Archive {
    archive::Archive {
        kind: archive::KIND.to_owned(),
        format: archive::FORMAT,
        written_by: "1.2.3".to_owned(),
        pseudonyms: false,
        incident: made_by_hand(published, None),
        findings: Vec::new(),
        events: Vec::new(),
        notes: Vec::new(),
        documents: [(Moment::Opening, Frozen::of(published, "1.2.3"))].into(),
    }
}
