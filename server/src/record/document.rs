//! Documents as they are kept: JSON, compressed.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use unstuck_diagnosis::history::{Chronicle, FORMAT, Frozen, IncidentId, Moment};
use unstuck_diagnosis::memory::Memory;
use unstuck_store::Document;

/// How large a document may be once it is unpacked, in bytes: a damaged or hostile one must not fill the memory.
const UNPACKED_LIMIT: u64 = 1 << 30;
/// What a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A document that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// None of ours, cut off, or damaged.
    #[error("it is not a snapshot of Unstuck, or it is damaged: {0}")]
    Damaged(String),
    /// Written by a newer version.
    #[error("it is written in format {found}, and this Unstuck reads formats up to {FORMAT}: read it with a newer one")]
    Newer {
        /// Its format.
        found: u32,
    },
}

/// Everything known of a cluster but its groups, as it is kept beside them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) format: u32,
    /// Kafka's id of the cluster that this is about.
    pub(super) cluster_id: Option<String>,
    pub(super) memory: Memory,
    pub(super) chronicle: Chronicle,
}

/// A moment as a document.
///
/// # Errors
/// Only if memory runs out.
pub fn write_frozen(frozen: &Frozen) -> Result<Vec<u8>, DocumentError> {
    pack(frozen)
}

/// A moment of an incident, as a store keeps it; `None`, and logged, if it cannot be written.
pub(crate) fn document(incident: IncidentId, moment: Moment, frozen: &Frozen) -> Option<Document> {
    match write_frozen(frozen) {
        Ok(bytes) => Some(Document { incident, moment, at: frozen.at, format: frozen.format, bytes }),
        Err(error) => {
            tracing::error!(%error, "a defect in Unstuck: what was seen cannot be written");
            None
        }
    }
}

/// Reads a moment, compressed or as plain JSON, of any format up to the newest.
///
/// # Errors
/// It is none, damaged, or newer.
pub fn read_frozen(bytes: &[u8]) -> Result<Frozen, DocumentError> {
    unpack(bytes)
}

pub(super) fn pack<T: Serialize>(value: &T) -> Result<Vec<u8>, DocumentError> {
    let damaged = |error: &dyn std::fmt::Display| DocumentError::Damaged(error.to_string());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    serde_json::to_writer(std::io::BufWriter::new(&mut encoder), value).map_err(|error| damaged(&error))?;
    encoder.flush().map_err(|error| damaged(&error))?;
    encoder.finish().map_err(|error| damaged(&error))
}

pub(super) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DocumentError> {
    #[derive(Deserialize)]
    struct Head {
        format: u32,
    }
    let unpacked = if bytes.starts_with(&GZIP) {
        let mut text = Vec::new();
        let read = GzDecoder::new(bytes).take(UNPACKED_LIMIT).read_to_end(&mut text);
        read.map_err(|error| DocumentError::Damaged(error.to_string()))?;
        text
    } else {
        bytes.to_vec()
    };
    let damaged = |error: serde_json::Error| DocumentError::Damaged(error.to_string());
    let Head { format } = serde_json::from_slice(&unpacked).map_err(damaged)?;
    if format > FORMAT {
        return Err(DocumentError::Newer { found: format });
    }
    serde_json::from_slice(&unpacked).map_err(damaged)
}
