//! Which moment is shown, and the pace.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_diagnosis::{Published, Seq};

use super::Film;
use crate::poller;
use crate::watched::WatchedCluster;

/// How long a moment is shown while it plays, and how often pages hear that they are not old.
const PACE: Duration = Duration::from_secs(2);
/// What is said to whoever asks for more than was recorded.
const NOT_RECORDED: &str = "this is a recording: nobody can be asked, and this was not recorded";

/// Shows a [`Film`].
pub(crate) struct Player {
    film: Film,
    /// What is shown of each cluster.
    screens: BTreeMap<String, watch::Sender<Arc<Published>>>,
    state: Mutex<State>,
}

struct State {
    /// Counted from 0.
    number: usize,
    playing: bool,
    /// How often something was shown: another number each time.
    shown: u64,
    boot: String,
}

/// What a player is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Previous,
    Next,
    Play,
    Pause,
    /// The moment with this number, counted from 1.
    Go(usize),
}

/// How it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Standing {
    /// Which moment is shown, counted from 1.
    pub(crate) moment: usize,
    /// How many there are.
    pub(crate) of: usize,
    /// When that was.
    pub(crate) at: Timestamp,
    /// Of which cluster.
    pub(crate) cluster: String,
    /// Whether the next one comes by itself.
    pub(crate) playing: bool,
    /// In words.
    pub(crate) sentence: String,
}

impl Player {
    /// Stands at the first moment.
    pub(crate) fn new(film: Film) -> Self {
        let screens = film.known_at(0).into_iter();
        let screens = screens.map(|(name, published)| (name.to_owned(), watch::channel(published).0)).collect();
        let state = Mutex::new(State { number: 0, playing: false, shown: 0, boot: poller::boot_id() });
        let player = Self { film, screens, state };
        player.tell(Wish::Go(1));
        player
    }

    /// Does what it is told.
    pub(crate) fn tell(&self, wish: Wish) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = self.film.len() - 1;
        match wish {
            Wish::Previous => (state.number, state.playing) = (state.number.saturating_sub(1), false),
            Wish::Next => (state.number, state.playing) = ((state.number + 1).min(last), false),
            Wish::Go(number) => state.number = number.saturating_sub(1).min(last),
            // At the end it begins anew.
            Wish::Play => {
                state.playing = last > 0;
                if state.number == last {
                    state.number = 0;
                }
            }
            Wish::Pause => state.playing = false,
        }
        self.show(&mut state);
    }

    fn show(&self, state: &mut State) {
        state.shown += 1;
        let seq = Seq { boot: state.boot.clone(), n: state.shown };
        for (cluster, published) in self.film.known_at(state.number) {
            if let Some(screen) = self.screens.get(cluster) {
                screen.send_replace(Arc::new(Published { seq: seq.clone(), ..Published::clone(&published) }));
            }
        }
    }

    /// Goes on while it plays, and tells pages that they are not old while it does not.
    pub(crate) async fn run(&self, shutdown: &CancellationToken) {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(PACE) => self.beat(),
            }
        }
    }

    /// What happens at each beat.
    pub(super) fn beat(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.playing {
            let last = self.film.len() - 1;
            state.number = (state.number + 1).min(last);
            state.playing = state.number < last;
        }
        self.show(&mut state);
    }

    /// How it stands.
    pub(crate) fn standing(&self) -> Standing {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let scene = self.film.scene(state.number);
        let (moment, of) = (state.number + 1, self.film.len());
        let at = crate::text::time(scene.at);
        let place = if of == 1 { String::new() } else { format!(" Moment {moment} of {of}.") };
        Standing {
            moment,
            of,
            at: scene.at,
            cluster: scene.cluster.clone(),
            playing: state.playing,
            sentence: format!("This is a recording of {} at {at}.{place}", scene.cluster),
        }
    }

    /// The clusters, as pages read them.
    pub(crate) fn clusters(&self) -> BTreeMap<String, WatchedCluster> {
        let watched = |screen: &watch::Sender<Arc<Published>>| WatchedCluster {
            published: screen.subscribe(),
            settled: Arc::new(AtomicBool::new(true)),
            ask_detail: Arc::new(|_, _| async { Err(NOT_RECORDED.to_owned()) }.boxed()),
            ask_transaction: Arc::new(|_, _| async { Err(NOT_RECORDED.to_owned()) }.boxed()),
            recording: None,
        };
        self.screens.iter().map(|(name, screen)| (name.clone(), watched(screen))).collect()
    }
}
