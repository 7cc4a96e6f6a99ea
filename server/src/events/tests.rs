use axum::body::Body;
use futures::StreamExt;
use http::Request;

use super::*;
use crate::testing::{answer, clusters, healthy, router, text, watched_cluster};

/// Longest wait for something that has to come.
const SOON: Duration = Duration::from_secs(20);

fn following(names: &[&str]) -> (Vec<watch::Sender<Arc<Published>>>, Following) {
    let (senders, receivers) = names
        .iter()
        .map(|name| {
            let (sender, watched) = watched_cluster(healthy(name, &[]));
            (sender, Follows { name: (*name).to_owned(), published: watched.published, told: None })
        })
        .unzip();
    (
        senders,
        Following {
            clusters: receivers,
            joining: None,
            waiting: VecDeque::new(),
            drill: None,
            drill_told: None,
            not_before: Instant::now(),
        },
    )
}

async fn next(following: &mut Following) -> Option<Arc<Published>> {
    tokio::time::timeout(SOON, following.next()).await.expect("it comes in time")
}

fn publish(sender: &watch::Sender<Arc<Published>>, n: u64) {
    let mut published = Published::clone(&sender.borrow());
    published.seq.n = n;
    sender.send_replace(Arc::new(published));
}

#[tokio::test]
async fn tells_the_newest_at_once_and_then_what_follows() {
    let (senders, mut following) = following(&["a", "b"]);
    let first = [next(&mut following).await, next(&mut following).await];
    assert_eq!(first.map(|one| one.expect("a value").report.cluster.clone()), ["a", "b"]);
    publish(&senders[1], 2);
    let second = next(&mut following).await.expect("a value");
    assert_eq!((second.report.cluster.as_str(), second.seq.n), ("b", 2));
}

#[tokio::test]
async fn tells_of_no_cluster_more_than_twice_a_second() {
    let (senders, mut following) = following(&["a"]);
    next(&mut following).await;
    let begun = Instant::now();
    let mut told = Vec::new();
    for round in 0..4_u64 {
        (1..=100).for_each(|n| publish(&senders[0], round * 100 + n + 1));
        told.push(next(&mut following).await.expect("a value").seq.n);
    }
    assert_eq!(told, [101, 201, 301, 401], "the newest each time");
    assert!(begun.elapsed() >= THROTTLE * 4, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn tells_of_a_drill_when_nothing_else_happens() {
    let (_senders, mut following) = following(&["a"]);
    let drill = watch::Sender::new(3);
    following.drill = Some(drill.subscribe());
    next(&mut following).await;
    assert_eq!(following.drill_told, Some(3));
    drill.send_replace(4);
    let again = next(&mut following).await.expect("a value");
    assert_eq!((again.seq.n, following.drill_told), (healthy("a", &[]).seq.n, Some(4)));
    drop(drill);
    let nothing = tokio::time::timeout(THROTTLE * 3, following.next()).await;
    assert!(nothing.is_err(), "a drill that ended is no news");
}

#[tokio::test]
async fn a_cluster_that_ended_does_not_end_the_others() {
    let (mut senders, mut following) = following(&["a", "b"]);
    next(&mut following).await;
    next(&mut following).await;
    drop(senders.remove(0));
    publish(&senders[0], 2);
    assert_eq!(next(&mut following).await.expect("a value").report.cluster, "b");
    drop(senders);
    assert_eq!(next(&mut following).await, None);
}

#[tokio::test]
async fn an_event_is_small_and_says_what_pages_need() {
    let router = router(clusters([healthy("kafka", &["orders"]), healthy("other", &[])]));
    let request = Request::get("/events?cluster=kafka").body(Body::empty()).expect("a request");
    let response = answer(router, request).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert!(!response.headers().contains_key("content-encoding"));
    let mut body = response.into_body().into_data_stream();
    let chunk = tokio::time::timeout(SOON, body.next()).await.expect("in time").expect("a chunk").expect("no error");
    let event = String::from_utf8(chunk.to_vec()).expect("UTF-8");
    let data = event.lines().find_map(|line| line.strip_prefix("data: ")).expect("data");
    let data: Summary = serde_json::from_str(data).expect("a summary");
    assert_eq!((data.cluster.as_str(), data.status), ("kafka", Status::Working), "{event}");
    assert!(event.contains("id: test-1") && event.len() < 1_000, "{event}");
}

#[tokio::test]
async fn clusters_that_come_later_are_told_of_too() {
    let (_senders, mut following) = following(&["a"]);
    let watched = Arc::new(Watched::new(clusters([])));
    following.joining = Some(Joining { changes: watched.generation(), watched: Arc::clone(&watched) });
    assert_eq!(next(&mut following).await.expect("a value").report.cluster, "a");
    let (sender, joined) = watched_cluster(healthy("b", &[]));
    watched.begin("b".to_owned(), joined);
    assert_eq!(next(&mut following).await.expect("a value").report.cluster, "b");
    publish(&sender, 2);
    assert_eq!(next(&mut following).await.expect("a value").seq.n, 2);
}

#[tokio::test]
async fn streams_end_with_the_server() {
    let watched = Arc::new(Watched::new(clusters([healthy("kafka", &[])])));
    let shutdown = CancellationToken::new();
    let router = crate::router(watched, &crate::assets::Bundle::embedded(), shutdown.clone());
    let response = answer(router, Request::get("/events").body(Body::empty()).expect("a request")).await;
    shutdown.cancel();
    tokio::time::timeout(SOON, text(response)).await.expect("the stream ends");
}

#[tokio::test]
async fn an_unknown_cluster_or_parameter_is_a_problem() {
    for (path, status) in
        [("/events?cluster=nowhere", 404), ("/events?clusters=kafka", 400), ("/events?cluster=%ff", 400)]
    {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = answer(router(clusters([healthy("kafka", &[])])), request).await;
        assert_eq!(response.status().as_u16(), status, "{path}");
    }
}
