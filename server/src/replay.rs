//! `unstuck serve --replay`: what was recorded, on the ordinary pages. No cluster is looked at.
//!
//! ```text
//! files ──→ Film (all moments, in order of time) ──→ Player ── Published of each cluster ──→ pages, API, live events
//!                                                      ↑
//!                                    form POST /replay, on every page (bar.rs)
//! ```

mod bar;
mod film;
mod player;
pub(crate) mod routes;

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub(crate) use bar::{bar, escaped};
pub(crate) use film::Film;
pub(crate) use player::Player;

use crate::access::Door;
use crate::access::arguments::AccessArgs;
use crate::cli::{EXIT_SOFTWARE, Failure, cannot_listen, end_on_signal};
use crate::config::{self, DEFAULT_LISTEN, Environment};
use crate::kept::{self, Piece};
use crate::serving;

pub(crate) async fn run(
    files: &[PathBuf],
    listen: Option<&str>,
    access: &AccessArgs,
    environment: &Environment,
) -> Result<u8, Failure> {
    let variable = environment.get("UNSTUCK_LISTEN");
    let listen = match (listen, &variable) {
        (Some(text), _) => config::listen_address(text, "--listen")?,
        (None, Some(text)) => config::listen_address(text, "UNSTUCK_LISTEN")?,
        (None, None) => config::listen_address(DEFAULT_LISTEN, "the default")?,
    };
    let door = Door::new(&config::access(&access.options(), environment, listen)?)?;
    let (mut moments, mut incidents) = (Vec::new(), Vec::new());
    for path in files {
        let kept = kept::read_file(path)?;
        if let Some(why) = &kept.rest {
            tracing::warn!(file = %path.display(), "what follows {} moments cannot be read: {why}", kept.moments().len());
        }
        for piece in kept.pieces {
            match piece {
                Piece::Moment(frozen) => moments.push(*frozen),
                Piece::Incident(archive) => {
                    moments.extend(archive.documents.values().cloned());
                    incidents.push(*archive);
                }
            }
        }
    }
    let film = Film::of(moments).ok_or_else(|| {
        Failure::usage(
            "there is no moment to show\n  The incidents have been kept without what was seen.\n  \
             Name a file that `unstuck snapshot` wrote",
        )
    })?;
    let listener = tokio::net::TcpListener::bind(listen).await.map_err(|error| cannot_listen(listen, &error))?;
    let address = listener.local_addr().map_err(|error| cannot_listen(listen, &error))?;
    let shutdown = CancellationToken::new();
    end_on_signal(&shutdown)?;
    eprintln!("\n  {}", film.words());
    eprintln!("  It is at {}://{address}   (Ctrl-C ends it)\n", door.scheme());
    door.warn(address);
    let player = Arc::new(Player::new(film));
    let served = serving::serve_replay(player, incidents, door, listener, shutdown).await;
    served.map_err(|error| Failure { code: EXIT_SOFTWARE, message: error.to_string() })?;
    Ok(0)
}

#[cfg(test)]
mod tests;
