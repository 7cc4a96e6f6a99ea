//! Made-up published values for the tests of this crate.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use futures::FutureExt;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use unstuck_diagnosis::sample::Sample;
use unstuck_diagnosis::snapshot::ListedGroup;
use unstuck_diagnosis::{GroupId, Published};

use crate::assets::Bundle;
use crate::watched::{Watched, WatchedCluster};

/// A healthy cluster that lists these groups.
pub(crate) fn healthy(name: &str, groups: &[&str]) -> Published {
    let listed = ListedGroup {
        protocol_type: "consumer".to_owned(),
        state: Some("Stable".to_owned()),
        group_type: Some("classic".to_owned()),
    };
    let sample =
        groups.iter().fold(Sample::kraft(3, 50, 3), |sample, id| sample.lists(GroupId::from(*id), listed.clone()));
    named(name, &sample)
}

/// What is published about a sample, under this name.
pub(crate) fn named(name: &str, sample: &Sample) -> Published {
    let mut sample = sample.clone();
    sample.snapshot.cluster = name.to_owned();
    sample.published()
}

/// A cluster about which this was published, and the sender for more.
pub(crate) fn watched_cluster(published: Published) -> (watch::Sender<Arc<Published>>, WatchedCluster) {
    let (sender, receiver) = watch::channel(Arc::new(published));
    let watched = WatchedCluster {
        published: receiver,
        settled: Arc::new(AtomicBool::new(true)),
        ask_detail: Arc::new(|_, _| async { Err("nobody answers in tests".to_owned()) }.boxed()),
        ask_transaction: Arc::new(|_, _| async { Err("nobody answers in tests".to_owned()) }.boxed()),
        recording: None,
    };
    (sender, watched)
}

/// Clusters about which nothing more will be published.
pub(crate) fn clusters(published: impl IntoIterator<Item = Published>) -> BTreeMap<String, WatchedCluster> {
    let named = published.into_iter().map(|published| (published.report.cluster.clone(), watched_cluster(published).1));
    named.collect()
}

/// Everything that is answered over HTTP about these clusters.
pub(crate) fn router(clusters: BTreeMap<String, WatchedCluster>) -> Router {
    crate::router(Arc::new(Watched::new(clusters)), &Bundle::embedded(), CancellationToken::new())
}

/// The answer to a request.
pub(crate) async fn answer(router: Router, request: http::Request<Body>) -> Response {
    router.oneshot(request).await.expect("the router always answers")
}

/// A body as text.
pub(crate) async fn text(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}
