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

/// How much of a jump is done at once.
const JUMP: Duration = Duration::from_secs(60);

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
    /// How often it was played again.
    restarts: u64,
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
            state: Mutex::new(State { world, base: Duration::ZERO, since: Instant::now(), told, restarts: 0 }),
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
        state.restarts += 1;
        for (id, door) in &self.doors {
            let reachable = state.world.reachable(*id);
            door.send_modify(|door| *door = Door { reachable, life: door.life + 1 });
        }
        self.changes.send_modify(|number| *number += 1);
        self.wake.notify_one();
    }

    /// Moves time ahead in small steps, so that connections and the clock have their turns.
    pub(super) async fn jump(&self, by: Duration) {
        let restarts = self.lock().restarts;
        let mut left = by;
        while !left.is_zero() && self.jump_once(&mut left, restarts) {
            tokio::task::yield_now().await;
        }
    }

    /// One step of a jump; `false` if the drill was played again since it began.
    fn jump_once(&self, left: &mut Duration, restarts: u64) -> bool {
        let mut state = self.lock();
        if state.restarts != restarts {
            return false;
        }
        let part = (*left).min(JUMP);
        *left -= part;
        state.base += part;
        self.advance(&mut state);
        self.wake.notify_one();
        true
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
    run_until_stopped(&shared.stop, clock).await;
}

async fn run_until_stopped(stop: &CancellationToken, clock: impl Future<Output = ()>) {
    let _ends = EndsByPanic(stop);
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = clock => {}
    }
}

/// A drill whose clock has stopped by a defect looks alive and is not: so it ends.
struct EndsByPanic<'a>(&'a CancellationToken);

impl Drop for EndsByPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("the drill ends: its clock has stopped, which is a defect of Unstuck");
            self.0.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_clock_that_stops_by_a_defect_ends_the_drill() {
        let stop = CancellationToken::new();
        let of_clock = stop.clone();
        let clock = tokio::spawn(async move {
            run_until_stopped(&of_clock, async { panic!("a defect, for the test") }).await;
        });
        assert!(clock.await.is_err_and(|error| error.is_panic()));
        assert!(stop.is_cancelled());
    }
}
