//! From a configuration to a running server, and its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

use crate::assets::Bundle;
use crate::config::Config;
use crate::events::{self, Live};
use crate::problem::Problem;
use crate::watched::Watched;
use crate::{api, guard, pages, poller};

/// How long answers under way may take after the end was asked for, and then how long tasks may take to end.
const LAST_ANSWERS: Duration = Duration::from_millis(400);
const LAST_TASKS: Duration = Duration::from_millis(400);

/// Looks at the configured clusters and answers on `listener` until `shutdown` is cancelled; then ends event streams,
/// lets short answers finish, and returns within a second. `config.listen` is not looked at.
///
/// # Errors
/// The listener failed.
pub async fn serve(config: Config, listener: TcpListener, shutdown: CancellationToken) -> std::io::Result<()> {
    let boot = poller::boot_id();
    let tasks = TaskTracker::new();
    let stop = shutdown.child_token();
    let clusters: BTreeMap<_, _> = config
        .clusters
        .into_iter()
        .map(|cluster| (cluster.name.clone(), poller::watch_cluster(cluster, &boot, &tasks, &stop)))
        .collect();
    let bundle = Bundle::embedded();
    if !bundle.present {
        tracing::warn!("built without the front-end bundle: pages are complete, but do not update by themselves");
    }
    let app = router(Arc::new(Watched::new(clusters)), &bundle, stop.clone());
    let listener = listener.tap_io(|connection| {
        // Small answers must not wait for the acknowledgement of earlier ones.
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
    });
    let server = axum::serve(listener, app).with_graceful_shutdown(stop.clone().cancelled_owned());
    let mut server = std::pin::pin!(async move { server.await });
    let result = tokio::select! {
        result = &mut server => result,
        () = stop.cancelled() => {
            let rest = tokio::time::timeout(LAST_ANSWERS, &mut server).await;
            rest.unwrap_or_else(|_| {
                tracing::debug!("connections were still open at the end");
                Ok(())
            })
        }
    };
    stop.cancel();
    tasks.close();
    if tokio::time::timeout(LAST_TASKS, tasks.wait()).await.is_err() {
        tracing::debug!("tasks were still running at the end");
    }
    result
}

/// Everything that is answered over HTTP.
pub fn router(watched: Arc<Watched>, bundle: &Bundle, shutdown: CancellationToken) -> Router {
    let live = Live { watched: Arc::clone(&watched), build: Arc::clone(&bundle.build), shutdown };
    let compression = CompressionLayer::new().quality(CompressionLevel::Fastest);
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz).with_state(Arc::clone(&watched)))
        .route("/events", get(events::events).with_state(live))
        // Nesting leaves this one path out.
        .route("/api/", axum::routing::any(api::unknown_path))
        .nest("/api", api::router(Arc::clone(&watched)))
        .merge(pages::router(watched, bundle))
        .layer(compression)
        .layer(axum::middleware::from_fn(guard::guard))
}

/// The process lives. Says nothing about Kafka.
async fn healthz() -> &'static str {
    "alive\n"
}

/// Every cluster has had one complete look, so answers are no longer mere "not known yet".
async fn readyz(State(watched): State<Arc<Watched>>) -> Response {
    match watched.not_settled().as_slice() {
        [] => "ready\n".into_response(),
        waiting => Problem::not_ready(waiting).into_response(),
    }
}
