//! One bit changes on its way between the probe and a drill, anywhere, either way: nobody panics, nobody hangs, nothing
//! large is allocated, and soon everything is seen as it was before.

mod flip;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep, timeout};
use unstuck_diagnosis::snapshot::{BrokerSight, Snapshot};
use unstuck_drill::serve::Drill;
use unstuck_kafka::{ClusterConfig, Collector, Surroundings};

use crate::simulated::BASE;
use crate::support::facts::{Facts, differences, facts};
use crate::support::relay::{Relay, Way};
use crate::support::{scenario, serves};
use flip::{Flip, Hit, Passed};

const CHILD: &str = "UNSTUCK_TEST_FLIPPED_CHILD";
/// How many bits are flipped in looks at each cluster, if the environment does not say another number.
const FLIPS: u64 = 150;
/// More of them, for a longer search.
const MORE: &str = "UNSTUCK_TEST_FLIPS";
/// The part of a look in which they are: all first questions, and the same ones again.
const FIRST_LOOKS: Duration = Duration::from_secs(18);
/// Until then everything must be as before: the longest time that an answer is waited for, and a look after it.
const RECOVERY: Duration = Duration::from_secs(150);
const SECOND: Duration = Duration::from_secs(1);

const BOTH: &str = r#"
[topic.__consumer_offsets]
partitions = 4
[topic.orders]
partitions = 2
[[group]]
id = "billing-{n}"
count = 3
members = 2
offsets = { orders = 5 }
"#;
/// The newest release, whose versions have compact lengths and tags, and the oldest one.
const CLUSTERS: [&str; 2] = [
    "[cluster]\nmode = \"kraft\"\nrelease = \"4.1.1\"\nbrokers = [1, 2]\nid = \"flipped-00000000000000\"",
    "[cluster]\nmode = \"zookeeper\"\nrelease = \"1.0.2\"\nbrokers = [1, 2]\nid = \"flipped-00000000000000\"",
];

/// The same numbers in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// A drill in simulated time, and the collector that looks at it through a place where a bit is flipped.
struct Look {
    drill: Drill,
    relay: Arc<Relay<Flip>>,
    flip: Arc<Flip>,
    collector: Collector,
}

impl Look {
    fn begin(cluster: &str, flip: Flip) -> Self {
        let drill = Drill::in_memory("test", scenario(&format!("{cluster}{BOTH}")));
        let flip = Arc::new(flip);
        let relay = Relay::new(&drill, Arc::clone(&flip));
        let config = ClusterConfig::new("simulated", drill.bootstrap());
        let dialer = Arc::clone(&relay) as Arc<dyn unstuck_wire::Dial>;
        let collector = Collector::start_with(config, Surroundings::simulated(dialer, BASE));
        Self { drill, relay, flip, collector }
    }

    /// What is seen of the two brokers and by the client, if all of it was asked since then.
    fn facts(&self, since: Timestamp) -> Result<Facts, String> {
        let mut snapshot = Snapshot::clone(&self.collector.snapshots().borrow());
        // Brokers that exist only by a flipped bit are not forgotten, as others are not.
        snapshot.brokers.retain(|id, _| [1, 2].contains(id));
        if snapshot.brokers.len() < 2 || snapshot.client.known().is_none_or(|view| view.at <= since) {
            return Err(format!("{} brokers; the client: {:?}", snapshot.brokers.len(), snapshot.client));
        }
        if let Some((id, sight)) =
            snapshot.brokers.iter().find(|(id, sight)| !is_fresh(sight, since) || !serves(&snapshot, **id))
        {
            return Err(format!("broker {id} since {since}: {sight:#?}"));
        }
        if !Collector::settled(&snapshot) || snapshot.bootstrap.values().any(|way| way.answer.known().is_none()) {
            return Err(format!("{:#?}", snapshot.bootstrap));
        }
        let mut facts = facts(&snapshot, &BTreeMap::new());
        // Attempts, in what was lost in between, are counted on.
        facts.retain(|path, _| !path.ends_with("/attempts"));
        Ok(facts)
    }

    /// Waits until everything, asked anew, is as it was before.
    async fn recovers(&self, before: &Facts, within: Duration) -> Result<(), String> {
        let (began, mut looks) = (Instant::now(), 0);
        let since = BASE + (began - self.flip.began());
        loop {
            sleep(SECOND).await;
            let told = match self.facts(since) {
                Ok(now) => differences(before, &now),
                Err(told) => told,
            };
            if told.is_empty() {
                return Ok(());
            }
            if began.elapsed() > within {
                return Err(told);
            }
            looks += 1;
            if looks % 3 == 0 {
                self.collector.look_now();
            }
        }
    }

    async fn end(self) {
        let ended = async {
            self.collector.shutdown().await;
            self.drill.shutdown().await;
        };
        timeout(60 * SECOND, ended).await.expect("the collector and the drill end");
    }
}

fn is_fresh(sight: &BrokerSight, since: Timestamp) -> bool {
    let quorum = sight.quorum.known().map(|told| told.at);
    let configs = sight.configs.known().map(|told| told.at);
    [
        sight.metadata.known().map(|told| told.at),
        sight.groups.known().map(|told| told.at),
        sight.coordinators.known().map(|told| told.at),
        sight.canaries.values().map(|canary| canary.at).min(),
        if sight.kraft == Some(true) { quorum } else { Some(Timestamp::MAX) },
        if sight.release.as_deref() == Some("1.0") { Some(Timestamp::MAX) } else { configs },
    ]
    .into_iter()
    .all(|at| at.is_some_and(|at| at > since))
}

fn simulate<T>(what: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(what)
}

/// What is seen of a cluster while nothing is flipped, and what passes meanwhile.
fn untouched(cluster: &str) -> (Facts, Passed) {
    simulate(async {
        let look = Look::begin(cluster, Flip::nothing());
        sleep(FIRST_LOOKS).await;
        let passed = look.flip.passed();
        let mut seen = look.facts(BASE);
        for _ in 0..60 {
            sleep(SECOND).await;
            seen = look.facts(BASE + FIRST_LOOKS);
            if seen.is_ok() {
                break;
            }
        }
        look.end().await;
        (seen.expect("everything is seen"), passed)
    })
}

/// Flips a bit, and waits until all is well again. Whether all was without connecting anew.
fn flipped(cluster: &str, before: &Facts, byte: u64, bit: u8) -> (Hit, bool) {
    // Frames about API versions.
    let versions = if cluster == CLUSTERS[1] { 2 } else { 1 };
    simulate(async {
        let look = Look::begin(cluster, Flip::at(byte, bit));
        let hit = timeout(2 * FIRST_LOOKS, look.flip.hit()).await.expect("the byte passes");
        let by_itself = look.recovers(before, RECOVERY).await;
        if let Err(told) = &by_itself {
            assert!(hit.frame < versions, "{hit:?} byte {byte}, bit {bit}: not as before:\n{told}");
            // What a broker offers is asked once on a connection, and stands as long as that one.
            look.relay.hang_up();
            let anew = look.recovers(before, RECOVERY).await;
            anew.unwrap_or_else(|told| panic!("{hit:?} byte {byte}, bit {bit}: not as before anew:\n{told}"));
        }
        look.end().await;
        (hit, by_itself.is_ok())
    })
}

static PANICS: AtomicUsize = AtomicUsize::new(0);
static DONE: AtomicUsize = AtomicUsize::new(0);

/// The child of the next test; on its own it does nothing.
#[test]
fn bits_flipped_in_this_process() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    // Of a task that panics, tokio keeps the panic to itself.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |what| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        usual(what);
    }));
    // Nor does simulated time pass for somebody who never waits.
    std::thread::spawn(|| {
        let mut before = usize::MAX;
        while before != DONE.load(Ordering::Relaxed) {
            before = DONE.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_secs(60));
        }
        eprintln!("one flip takes a minute");
        std::process::abort();
    });
    let flips = std::env::var(MORE).map_or(FLIPS, |number| number.parse().expect("a number"));
    let mut numbers = Numbers(0x00f1_1bed);
    for cluster in CLUSTERS {
        let (before, passed) = untouched(cluster);
        let (mut asked, mut alone) = (0_u64, 0_u64);
        for nth in 0..flips {
            // Anywhere, or where frames begin.
            let start = passed.frames[usize::try_from(nth / 2).expect("few") * 7 % passed.frames.len()];
            let byte = if nth % 2 == 0 { start + numbers.below(14) } else { numbers.below(passed.bytes) };
            let byte = byte.min(passed.bytes - 1);
            let bit = u8::try_from(numbers.below(8)).expect("below 8");
            let (hit, by_itself) = flipped(cluster, &before, byte, bit);
            asked += u64::from(hit.way == Way::Asking);
            alone += u64::from(by_itself);
            DONE.fetch_add(1, Ordering::Relaxed);
            assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{hit:?} byte {byte}, bit {bit}");
        }
        // Both ways, and mostly without connecting anew.
        assert!(asked > flips / 8 && alone > flips * 9 / 10, "{asked} and {alone} of {flips}");
    }
    println!("flipped: {}", DONE.load(Ordering::Relaxed));
}

/// In a child, because an allocation that fails aborts a Rust process, and no test can catch that.
#[test]
fn whatever_bit_is_flipped_between_probe_and_broker_all_is_soon_seen_as_before() {
    let this = std::env::current_exe().expect("the path of this test");
    // 1,000 MB of address space: threads, code, and what a look needs.
    let script = "ulimit -v 1000000 && exec \"$0\" --exact flipped::bits_flipped_in_this_process --nocapture";
    let child = Command::new("sh").args(["-c", script]).arg(this).env(CHILD, "1").output().expect("a shell");
    let text = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && text.contains("flipped: "), "{:?}\n{text}\n{errors}", child.status);
}
