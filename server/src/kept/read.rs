//! Reading a file of ours, whatever it holds and whatever was done to it.

use std::io::{BufRead, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;
use serde::Deserialize;
use unstuck_diagnosis::history::{FORMAT, Frozen};

use crate::cli::Failure;
use crate::incidents::archive::{self, Archive, ArchiveError};

/// How large a file may be once it is unpacked, in bytes: a damaged or hostile one must not fill the memory.
const UNPACKED_LIMIT: usize = 1 << 30;
/// What a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// What is said of a file that ends within something.
const CUT_OFF: &str = "it ends in the middle";

/// What a file holds.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Its parts, in order; at least one.
    pub(crate) pieces: Vec<Piece>,
    /// Why what follows them could not be read, if anything does.
    pub(crate) rest: Option<String>,
}

/// One document of a file.
#[derive(Debug)]
pub(crate) enum Piece {
    /// What was seen at one moment.
    Moment(Box<Frozen>),
    /// An incident.
    Incident(Box<Archive>),
}

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrongFile {
    /// It cannot be read at all.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// Nothing that Unstuck wrote.
    #[error("it is no snapshot, recording or incident of Unstuck: {0}")]
    NotOurs(String),
    /// Ours, but cut off or changed.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// A newer version wrote it.
    #[error("it is written in format {0}, and this Unstuck reads formats up to {FORMAT}")]
    Newer(u32),
    /// More than is read.
    #[error("it is larger than {0} bytes once it is unpacked")]
    TooLarge(usize),
}

impl WrongFile {
    fn meaning(&self) -> (&'static str, &'static str) {
        match self {
            Self::Unreadable(_) => ("Without it there is nothing to say.", "Check the path and its permissions"),
            Self::NotOurs(_) => (
                "Unstuck explains what it wrote itself.",
                "Give a file that `unstuck snapshot` wrote, or an exported incident; a scenario's file ends with .toml",
            ),
            Self::Damaged(_) => (
                "What is missing cannot be made up.",
                "Copy it again from where it comes from, as a whole and in binary mode",
            ),
            Self::Newer(_) => ("An older version would get it wrong.", "Read it with a newer Unstuck"),
            Self::TooLarge(_) => {
                ("It would fill this machine's memory.", "Record a shorter time, or less often, into one file")
            }
        }
    }

    /// For the command line.
    pub(crate) fn failure(&self, path: &Path) -> Failure {
        let (meaning, remedy) = self.meaning();
        Failure::usage(format!("{}: {self}\n  {meaning}\n  {remedy}", path.display()))
    }
}

/// Reads a file; `-` is standard input.
///
/// # Errors
/// In three lines for people.
pub(crate) fn read_file(path: &Path) -> Result<Kept, Failure> {
    let unreadable = |error: std::io::Error| WrongFile::Unreadable(error.to_string()).failure(path);
    let file: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(path).map_err(unreadable)?)
    };
    let mut bytes = Vec::new();
    file.take(UNPACKED_LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    read(&bytes).map_err(|wrong| wrong.failure(path))
}

/// Reads what is in a file.
pub(super) fn read(bytes: &[u8]) -> Result<Kept, WrongFile> {
    read_within(bytes, UNPACKED_LIMIT)
}

/// The same with a limit.
pub(super) fn read_within(bytes: &[u8], limit: usize) -> Result<Kept, WrongFile> {
    let mut kept = Kept { pieces: Vec::new(), rest: None };
    let ended = if bytes.starts_with(&GZIP) {
        unpack(bytes, limit, &mut kept.pieces)
    } else if bytes.len() > limit {
        Err(WrongFile::TooLarge(limit))
    } else {
        parse(bytes, &mut kept.pieces)
    };
    match ended {
        Ok(()) if kept.pieces.is_empty() => Err(WrongFile::NotOurs("it is empty".to_owned())),
        Ok(()) => Ok(kept),
        // What was written before a sudden end, or before what somebody put behind it, is as good as ever.
        Err(WrongFile::Damaged(why) | WrongFile::NotOurs(why)) if !kept.pieces.is_empty() => {
            kept.rest = Some(why);
            Ok(kept)
        }
        Err(wrong) => Err(wrong),
    }
}

/// Reads what was compressed, one part after the other.
fn unpack(mut bytes: &[u8], limit: usize, pieces: &mut Vec<Piece>) -> Result<(), WrongFile> {
    let mut left = limit;
    let mut text = Vec::new();
    while bytes.fill_buf().is_ok_and(|rest| !rest.is_empty()) {
        text.clear();
        let mut part = GzDecoder::new(bytes);
        let read = (&mut part).take(left as u64 + 1).read_to_end(&mut text);
        if text.len() > left {
            return Err(WrongFile::TooLarge(limit));
        }
        if let Err(error) = read {
            let cut = error.kind() == std::io::ErrorKind::UnexpectedEof;
            return Err(WrongFile::Damaged(if cut { CUT_OFF.to_owned() } else { error.to_string() }));
        }
        left -= text.len();
        parse(&text, pieces)?;
        bytes = part.into_inner();
    }
    Ok(())
}

/// Reads JSON documents that stand one after the other.
fn parse(text: &[u8], pieces: &mut Vec<Piece>) -> Result<(), WrongFile> {
    /// What tells a document of ours.
    #[derive(Deserialize)]
    struct Head {
        format: Option<u32>,
        kind: Option<String>,
        snapshot: Option<serde::de::IgnoredAny>,
    }
    let mut heads = serde_json::Deserializer::from_slice(text).into_iter::<Head>();
    let mut from = 0;
    while let Some(head) = heads.next() {
        let head = head.map_err(|error| match error.classify() {
            serde_json::error::Category::Eof => WrongFile::Damaged(CUT_OFF.to_owned()),
            _ => WrongFile::NotOurs(error.to_string()),
        })?;
        let until = heads.byte_offset();
        let document = text.get(from..until).unwrap_or_default();
        from = until;
        let Some(format) = head.format else {
            return Err(WrongFile::NotOurs("it names no format".to_owned()));
        };
        if let Some(kind) = head.kind {
            if kind != archive::KIND {
                return Err(WrongFile::NotOurs(format!("it calls itself {kind:?}")));
            }
            let incident = archive::read(document).map_err(|error| match error {
                ArchiveError::Newer(format) => WrongFile::Newer(format),
                ArchiveError::NoArchive(why) => WrongFile::Damaged(why),
                other => WrongFile::Damaged(other.to_string()),
            })?;
            if let Some(newer) = incident.documents.values().map(|one| one.format).find(|format| *format > FORMAT) {
                return Err(WrongFile::Newer(newer));
            }
            pieces.push(Piece::Incident(Box::new(incident)));
            continue;
        }
        if format > FORMAT {
            return Err(WrongFile::Newer(format));
        }
        if head.snapshot.is_none() {
            return Err(WrongFile::NotOurs("it has no facts about a cluster".to_owned()));
        }
        let frozen = serde_json::from_slice(document).map_err(|error| WrongFile::Damaged(error.to_string()))?;
        pieces.push(Piece::Moment(Box::new(frozen)));
    }
    Ok(())
}
