//! Files in which was kept what was seen: snapshots, recordings, and exported incidents.
//!
//! A snapshot is a [`Frozen`] as JSON, compressed. A recording is several of them, one after the other, each compressed
//! by itself: so what was written before a sudden end can be read, and files put together are a recording again.
//! What a file is, is told by what is in it, never by its name.

mod explain;
mod read;
mod write;

pub(crate) use explain::{Wanted, explain};
pub(crate) use read::{Kept, Piece, read_file};
pub(crate) use write::{open, snapshot};

use unstuck_diagnosis::history::{Frozen, Moment};

/// One moment of a file.
pub(crate) struct Shown<'a> {
    /// Which one, in words.
    pub(crate) place: String,
    /// What was seen.
    pub(crate) frozen: &'a Frozen,
}

impl Kept {
    /// All moments, in the order of the file.
    pub(crate) fn moments(&self) -> Vec<&Frozen> {
        self.pieces.iter().flat_map(Piece::moments).collect()
    }

    /// The moment that is asked for, or else the worst.
    ///
    /// # Errors
    /// There is none of that name; in words.
    pub(crate) fn shown(&self, wanted: Option<&str>) -> Result<Shown<'_>, String> {
        match self.pieces.as_slice() {
            [Piece::Incident(archive)] => {
                let found = match wanted {
                    Some(wanted) => Moment::ALL.into_iter().find(|moment| moment.slug() == wanted),
                    None => Moment::ALL.into_iter().find(|moment| archive.documents.contains_key(moment)),
                };
                let kept: Vec<&str> = archive.documents.keys().map(|moment| moment.slug()).collect();
                let kept = if kept.is_empty() { "none".to_owned() } else { kept.join(", ") };
                let missing = || format!("Moments that are kept of this incident: {kept}.");
                let moment = found.ok_or_else(missing)?;
                let frozen = archive.documents.get(&moment).ok_or_else(missing)?;
                let place = format!("the {} moment of an incident: {}", moment.slug(), archive.incident.title);
                Ok(Shown { place, frozen })
            }
            _ => {
                let moments = self.moments();
                let count = moments.len();
                let number = match wanted {
                    Some(wanted) => wanted.parse::<usize>().ok().filter(|number| (1..=count).contains(number)),
                    // The first of the worst.
                    None => (1..=count).min_by_key(|number| {
                        std::cmp::Reverse(moments.get(number - 1).map(|one| one.report.headline.status))
                    }),
                };
                let missing = || match count {
                    1 => "The file has one moment: leave --step out.".to_owned(),
                    _ => format!("The file has moments 1 to {count}."),
                };
                let number = number.ok_or_else(missing)?;
                let frozen = moments.get(number - 1).copied().ok_or_else(missing)?;
                let place = match count {
                    1 => "a snapshot".to_owned(),
                    _ => format!("moment {number} of {count} of a recording"),
                };
                Ok(Shown { place, frozen })
            }
        }
    }
}

impl Piece {
    fn moments(&self) -> Vec<&Frozen> {
        match self {
            Self::Moment(frozen) => vec![frozen],
            Self::Incident(archive) => {
                let mut moments: Vec<&Frozen> = archive.documents.values().collect();
                moments.sort_by_key(|frozen| frozen.at);
                moments
            }
        }
    }
}

#[cfg(test)]
mod tests;
