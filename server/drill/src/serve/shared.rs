//! What connections, listeners and whoever steers the drill share: the world, its clock, and who is told of changes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::scenario::Scenario;
use crate::world::{Reachable, World};

/// Whether a broker can be reached, and how often it could not: a connection that was opened before the last time is
/// gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Door {
    pub(super) reachable: Reachable,
    pub(super) life: u64,
}

impl Door {
    /// Whether the system accepts connections.
    pub(super) fn lets_in(self) -> bool {
        self.reachable != Reachable::Refused
    }
}

#[derive(Debug)]
struct State {
    world: World,
    /// Scenario time at `since`.
    base: Duration,
    since: Instant,
    /// The world's version that everybody has been told of.
    told: u64,
}

#[derive(Debug)]
pub(super) struct Shared {
    /// Brokers with the host and port that they are served on.
    pub(super) places: Vec<(i32, String, u16)>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    state: Mutex<State>,
    doors: BTreeMap<i32, watch::Sender<Door>>,
    changes: watch::Sender<u64>,
    /// Wakes the clock: something else may be due first.
    wake: Notify,
    connections: AtomicU64,
}

impl Shared {
    pub(super) fn new(name: &str, scenario: Arc<Scenario>, places: Vec<(i32, String, u16)>) -> Arc<Self> {
        let world = begin(name, scenario, &places);
        let doors = places
            .iter()
            .map(|(id, ..)| (*id, watch::Sender::new(Door { reachable: world.reachable(*id), life: 0 })))
            .collect();
        let told = world.version();
        Arc::new(Self {
            places,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            state: Mutex::new(State { world, base: Duration::ZERO, since: Instant::now(), told }),
            doors,
            changes: watch::Sender::new(0),
            wake: Notify::new(),
            connections: AtomicU64::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of one answer must not end the drill; the world has no states that are not to be seen.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets time pass until now, and then looks at the world or changes it.
    pub(super) fn with<R>(&self, look: impl FnOnce(&mut World) -> R) -> R {
        let mut state = self.lock();
        self.advance(&mut state);
        let due = state.world.next_due();
        let result = look(&mut state.world);
        self.tell(&mut state);
        if state.world.next_due() != due {
            self.wake.notify_one();
        }
        result
    }

    pub(super) fn restart(&self) {
        let mut state = self.lock();
        let (name, scenario) = (state.world.name().to_owned(), state.world.shared_scenario());
        state.world = begin(&name, scenario, &self.places);
        state.base = Duration::ZERO;
        state.since = Instant::now();
        state.told = state.world.version();
        for (id, door) in &self.doors {
            let reachable = state.world.reachable(*id);
            door.send_modify(|door| *door = Door { reachable, life: door.life + 1 });
        }
        self.changes.send_modify(|number| *number += 1);
        self.wake.notify_one();
    }

    pub(super) fn jump(&self, by: Duration) {
        let mut state = self.lock();
        state.base += by;
        self.advance(&mut state);
        self.wake.notify_one();
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Whether a broker lets in; only for brokers that are served.
    pub(super) fn door(&self, broker: i32) -> watch::Receiver<Door> {
        self.doors.get(&broker).map(watch::Sender::subscribe).expect("each broker that is served has a door")
    }

    /// A number for a connection.
    pub(super) fn number(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Time after time, so that a broker that goes and comes back within one jump has been gone.
    fn advance(&self, state: &mut State) {
        let now = state.base + state.since.elapsed();
        while let Some(due) = state.world.next_due().filter(|due| *due <= now) {
            state.world.advance(due);
            self.tell(state);
        }
        state.world.advance(now);
        self.tell(state);
    }

    fn tell(&self, state: &mut State) {
        if state.world.version() == state.told {
            return;
        }
        state.told = state.world.version();
        for (id, door) in &self.doors {
            let reachable = state.world.reachable(*id);
            door.send_if_modified(|door| {
                let before = *door;
                door.reachable = reachable;
                if reachable != before.reachable && matches!(reachable, Reachable::Refused | Reachable::Closed) {
                    door.life += 1;
                }
                *door != before
            });
        }
        self.changes.send_modify(|number| *number += 1);
    }

    /// When something happens by itself the next time.
    fn next_due(&self) -> Option<Instant> {
        let mut state = self.lock();
        self.advance(&mut state);
        let due = state.world.next_due()?;
        state.since.checked_add(due.saturating_sub(state.base))
    }
}

fn begin(name: &str, scenario: Arc<Scenario>, places: &[(i32, String, u16)]) -> World {
    let mut world = World::new(name, scenario);
    for (broker, host, port) in places {
        world.listens_on(*broker, host, *port);
    }
    world
}

/// The clock: lets happen what is due, when it is due.
pub(super) async fn run(shared: Arc<Shared>) {
    let stop = shared.stop.clone();
    let clock = async {
        loop {
            let woken = shared.wake.notified();
            match shared.next_due() {
                Some(due) => tokio::select! {
                    biased;
                    () = woken => {}
                    () = tokio::time::sleep_until(due) => {}
                },
                None => woken.await,
            }
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = clock => {}
    }
}
