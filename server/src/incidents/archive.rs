//! An incident as one file: taken to another Unstuck, attached to a ticket, diagnosed again with today's rules.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unstuck_app::{IncidentView, Now};
use unstuck_diagnosis::history::{Event, FindingRecord, Frozen, Incident, IncidentId, Moment, Note, OpenedBy};
use unstuck_store::{Document, Store, StoreError};

use super::pseudonyms;
use crate::record::{DocumentError, read_frozen, write_frozen};

/// The format that is written.
pub(crate) const FORMAT: u32 = 1;
/// What the file says that it is.
pub(crate) const KIND: &str = "unstuck-incident";

/// An incident with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// `unstuck-incident`.
    pub kind: String,
    /// The format; newer ones are refused.
    pub format: u32,
    /// The version of Unstuck that wrote it.
    pub written_by: String,
    /// Whether groups, clients and hosts have made-up names.
    #[serde(default)]
    pub pseudonyms: bool,
    /// The incident.
    pub incident: Incident,
    /// Its findings, oldest first.
    pub findings: Vec<FindingRecord>,
    /// What happened meanwhile, oldest first.
    pub events: Vec<Event>,
    /// What people wrote.
    pub notes: Vec<Note>,
    /// What was seen, by moment.
    pub documents: BTreeMap<Moment, Frozen>,
}

/// An incident that cannot be taken out of the store, or put into it.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file is none.
    #[error("it is no incident that Unstuck exported: {0}")]
    NoArchive(String),
    /// A newer version wrote it.
    #[error("it is written in format {0}, and this Unstuck reads formats up to {FORMAT}: import it with a newer one")]
    Newer(u32),
    /// What was seen cannot be read or written.
    #[error("{0}")]
    Document(#[from] DocumentError),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
}

/// Takes an incident out of a store; `None` if there is none of this id.
///
/// # Errors
/// The store or a document cannot be read.
pub async fn export(store: &dyn Store, id: &IncidentId, pseudonyms: bool) -> Result<Option<Archive>, ArchiveError> {
    let Some(file) = store.incident(id).await? else { return Ok(None) };
    let mut documents = BTreeMap::new();
    for (moment, _) in &file.moments {
        if let Some(document) = store.document(id, *moment).await? {
            documents.insert(*moment, read_frozen(&document.bytes)?);
        }
    }
    let archive = Archive {
        kind: KIND.to_owned(),
        format: FORMAT,
        written_by: env!("CARGO_PKG_VERSION").to_owned(),
        pseudonyms: false,
        incident: file.incident,
        findings: file.findings,
        events: file.events,
        notes: file.notes,
        documents,
    };
    if pseudonyms { Ok(Some(pseudonyms::hide(&archive)?)) } else { Ok(Some(archive)) }
}

/// Reads an exported incident.
///
/// # Errors
/// It is none, damaged, or newer.
pub fn read(bytes: &[u8]) -> Result<Archive, ArchiveError> {
    #[derive(Deserialize)]
    struct Head {
        kind: String,
        format: u32,
    }
    let none = |error: serde_json::Error| ArchiveError::NoArchive(error.to_string());
    let head: Head = serde_json::from_slice(bytes).map_err(none)?;
    if head.kind != KIND {
        return Err(ArchiveError::NoArchive(format!("it calls itself {:?}", head.kind)));
    }
    if head.format > FORMAT {
        return Err(ArchiveError::Newer(head.format));
    }
    serde_json::from_slice(bytes).map_err(none)
}

/// Puts an exported incident into a store, under the id that it had.
///
/// # Errors
/// The store has it already, or cannot be written.
pub async fn import(store: &dyn Store, archive: &Archive) -> Result<(), ArchiveError> {
    let incident = Incident { by: OpenedBy::Import, ..archive.incident.clone() };
    let documents = archive.documents.iter().map(|(moment, frozen)| {
        let (incident, moment) = (incident.id.clone(), *moment);
        Ok(Document { incident, moment, at: frozen.at, format: frozen.format, bytes: write_frozen(frozen)? })
    });
    let documents: Vec<Document> = documents.collect::<Result<_, DocumentError>>()?;
    store
        .put_incident(&incident.cluster, &incident, &archive.findings, &archive.events, &documents, &archive.notes)
        .await?;
    Ok(())
}

impl Archive {
    /// As pages show it, with its worst moment. What is now is no part of it.
    #[must_use]
    pub fn view(&self) -> IncidentView {
        let mut shown =
            Moment::ALL.into_iter().filter_map(|moment| Some((moment, self.documents.get(&moment)?.clone())));
        IncidentView {
            incident: self.incident.clone(),
            findings: self.findings.clone(),
            notes: self.notes.clone(),
            events: self.events.clone(),
            events_cut: false,
            moments: self.documents.iter().map(|(moment, frozen)| (*moment, frozen.at)).collect(),
            then: shown.next(),
            unreadable: None,
            now: Now::NotLookedAt,
        }
    }
}
