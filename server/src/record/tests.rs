//! Recording with a store on disk: what is written, read again, taken over, and what is said while nothing can be written.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use unstuck_diagnosis::Published;
use unstuck_diagnosis::history::{Happened, Subject};
use unstuck_diagnosis::memory::Memory;
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::sample::Sample;
use unstuck_store::Store;

use super::{Inbox, Keeper, Recording, RecordingOf, record};
use crate::config::StoreConfig;

/// A server that records one cluster, without anything that looks.
struct Server {
    published: watch::Sender<Arc<Published>>,
    inbox: Inbox,
    status: watch::Receiver<RecordingOf>,
    keeper: Arc<Keeper>,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(file: &Path, sample: &Sample) -> Self {
        let shutdown = CancellationToken::new();
        let config = StoreConfig::file(file.to_owned());
        let tasks = TaskTracker::new();
        let keeper = Keeper::open(config, &tasks, &shutdown).await.expect("no newer one");
        let (published, receiver) = watch::channel(Arc::new(sample.published()));
        let inbox = Inbox::default();
        let first = RecordingOf { key: "test".to_owned(), recording: Recording::default() };
        let (sender, status) = watch::channel(first);
        let task = tokio::spawn(record(
            Arc::clone(&keeper),
            "test".to_owned(),
            receiver,
            Arc::new(AtomicBool::new(true)),
            inbox.clone(),
            sender,
            shutdown.clone(),
        ));
        Self { published, inbox, status, keeper, shutdown, task }
    }

    fn publish(&self, sample: &Sample) {
        self.published.send_replace(Arc::new(sample.published()));
    }

    fn store(&self) -> Arc<dyn Store> {
        self.keeper.store().expect("it is open")
    }

    async fn until(&mut self, wanted: impl Fn(&Recording) -> bool) -> Recording {
        let waited = self.status.wait_for(|status| wanted(&status.recording));
        let found = tokio::time::timeout(Duration::from_secs(60), waited).await.expect("in time").expect("it runs");
        found.recording.clone()
    }

    async fn end(self) {
        self.shutdown.cancel();
        self.task.await.expect("it ends");
    }
}

/// Waits for something in the store.
async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, look: impl Fn() -> F) -> T {
    for _ in 0..1_200 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what}: not within a minute")
}

fn healthy() -> Sample {
    Sample::kraft(3, 6, 1).group_on(0, "orders").group_on(1, "audit").later(1)
}

#[tokio::test]
async fn what_was_seen_is_known_again_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("state/unstuck.db");
    let sample = healthy();
    let mut first = Server::start(&file, &sample).await;
    first.until(|status| *status == Recording::Recording).await;
    let dead = sample.clone().later(1).gone(1).leaderless_after(1);
    let died = dead.now();
    let dead = dead.later(1);
    first.publish(&dead);
    let store = first.store();
    let incident = eventually("the incident", || async {
        store.incidents(Some("test"), None, 10).await.expect("it can be read").into_iter().next()
    })
    .await;
    assert_eq!((incident.stuck_groups, incident.closed), (1, None));
    first.end().await;

    // Eight minutes later, by another process; nobody can list the groups of the dead broker now.
    let mut again = dead.clone().later(480);
    again.memory = Memory::new(again.now());
    let mut second = Server::start(&file, &again).await;
    second.until(|status| *status == Recording::Recording).await;
    let mut memory = again.memory.clone();
    second.inbox.empty_into(&mut memory);
    assert_eq!(memory.watching_since, sample.memory.watching_since);
    let remembered = memory.groups.by_id.values().find(|group| group.last_listed_by == Some(1));
    assert_eq!(remembered.map(|group| group.last_seen < died), Some(true), "{:#?}", memory.groups.by_id);
    let known = Sample { memory, ..again };
    let report = known.report();
    assert_eq!(report.partitions[0].status, Status::Stuck);
    assert_eq!(report.partitions[0].since, Some(died), "since then, not since the restart");

    // The incident goes on, and no second one is opened.
    second.publish(&known);
    let store = second.store();
    let began = |event: &unstuck_diagnosis::history::Event| event.what == Happened::LookingBegan;
    eventually("the pause in the record", || async {
        let events = store.events("test", &[Subject::Cluster], None, 100).await.expect("it can be read");
        (events.iter().filter(|event| began(event)).count() == 2).then_some(())
    })
    .await;
    assert_eq!(store.incidents(Some("test"), None, 10).await.expect("it can be read").len(), 1);
    second.end().await;
}

#[tokio::test]
async fn one_server_records_and_the_next_one_takes_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("unstuck.db");
    let mut first = Server::start(&file, &healthy()).await;
    first.until(|status| *status == Recording::Recording).await;
    let mut second = Server::start(&file, &healthy()).await;
    second.until(|status| *status == Recording::Elsewhere).await;
    first.end().await;
    second.until(|status| *status == Recording::Recording).await;
    second.end().await;
}

#[tokio::test]
async fn while_nothing_can_be_written_it_says_so_and_then_goes_on_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("state");
    std::fs::write(&place, "a file where a folder should be").expect("a file");
    let sample = healthy();
    let mut server = Server::start(&place.join("unstuck.db"), &sample).await;
    let failing = server.until(|status| matches!(status, Recording::Failing { .. })).await;
    let sentence = failing.not_remembered(Timestamp::now()).expect("a sentence");
    assert!(sentence.starts_with("Not being remembered since ") && sentence.contains(", because "), "{sentence}");
    assert!(server.keeper.store().is_err());

    std::fs::remove_file(&place).expect("the file goes");
    server.until(|status| *status == Recording::Recording).await;
    assert_eq!(Recording::Recording.not_remembered(Timestamp::now()), None);
    let store = server.store();
    assert!(store.restore("test").await.expect("it can be read").is_some_and(|kept| kept.groups.len() == 2));
    server.end().await;
}

#[test]
fn what_is_said_while_nothing_is_remembered() {
    let since: Timestamp = "2026-11-29T15:40:00Z".parse().expect("a time");
    let failing = |dropped| Recording::Failing {
        since,
        because: "Nothing more can be recorded: the disk is full. Free some space; recording then goes on by itself."
            .to_owned(),
        dropped,
    };
    let said = [0, 12].map(|dropped| failing(dropped).not_remembered(since).expect("a sentence"));
    insta::assert_snapshot!(said.join("\n"), @"
    Not being remembered since 15:40:00 UTC, because of trouble with the store. Nothing more can be recorded: the disk is full. Free some space; recording then goes on by itself. Verdicts do not depend on it. What happens meanwhile waits in memory, and is lost if Unstuck ends before.
    Not being remembered since 15:40:00 UTC, because of trouble with the store. Nothing more can be recorded: the disk is full. Free some space; recording then goes on by itself. 12 older events that waited to be written were dropped.
    ");
}

#[tokio::test]
async fn another_cluster_behind_the_same_name_is_kept_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("unstuck.db");
    let mut first = Server::start(&file, &healthy()).await;
    first.until(|status| *status == Recording::Recording).await;
    first.end().await;

    let mut other = Sample::kraft(3, 6, 1).group_on(2, "shipping").later(60);
    for sight in other.snapshot.brokers.values_mut() {
        if let unstuck_diagnosis::snapshot::Observed::Known(view) = &mut sight.metadata {
            view.cluster_id = Some("another-cluster".to_owned());
        }
    }
    let mut second = Server::start(&file, &other).await;
    let key = second.status.wait_for(|status| status.key != "test" && status.recording == Recording::Recording);
    let key = tokio::time::timeout(Duration::from_secs(60), key).await.expect("in time").expect("it runs").key.clone();
    assert_eq!(key, "test (another-cluster)");
    let store = second.store();
    let ids = |kept: unstuck_store::Restored| kept.groups.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>();
    let (old, new) = (store.restore("test").await, store.restore(&key).await);
    assert_eq!(old.expect("it can be read").map(ids).map(|ids| ids.len()), Some(2));
    assert!(new.expect("it can be read").map(ids).is_some_and(|ids| ids.len() == 1 && ids[0].starts_with("shipping")));
    second.end().await;
}
