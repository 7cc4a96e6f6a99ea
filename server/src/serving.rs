//! From a configuration to a running server, and its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;
use unstuck_drill::serve::Drill;
use unstuck_kafka::ClusterConfig;
use unstuck_store::StoreError;

use crate::access::{Door, Who, door, login};
use crate::assets::Bundle;
use crate::config::{Config, StoreConfig};
use crate::connections::tls::Tls;
use crate::connections::{self, Limits};
use crate::events::{self, Live};
use crate::incidents::archive::Archive;
use crate::problem::Problem;
use crate::record::Keeper;
use crate::reload::{Again, Lookings};
use crate::replay::Player;
use crate::same_site::OnLoopback;
use crate::watched::{Watched, WatchedCluster};
use crate::{api, guard, incidents, pages, poller};

/// Why serving ended otherwise than asked for.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The listener failed.
    #[error("the server failed: {0}")]
    Io(#[from] std::io::Error),
    /// The store cannot be used by this version.
    #[error("{0}")]
    Store(#[from] StoreError),
}

/// How long answers under way may take after the end was asked for, and then how long tasks may take to end.
const LAST_ANSWERS: Duration = Duration::from_millis(400);
const LAST_TASKS: Duration = Duration::from_millis(400);

/// Looks at the configured clusters and answers on `listener` until `shutdown` is cancelled; then ends event streams,
/// lets short answers finish, and returns within a second. `config.listen` is not looked at.
///
/// # Errors
/// The listener failed, or a newer Unstuck wrote the store.
pub async fn serve(
    config: Config,
    door: Door,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    serve_changing(config, door, listener, shutdown, None).await
}

/// The same; the configuration is read again whenever that is asked for.
///
/// # Errors
/// As [`serve`].
pub(crate) async fn serve_changing(
    config: Config,
    door: Door,
    listener: TcpListener,
    shutdown: CancellationToken,
    again: Option<Again>,
) -> Result<(), ServeError> {
    let running = Running::new(&shutdown);
    let keeper = running.keeper(config.store.clone()).await?;
    let watched = Arc::new(Watched::new(BTreeMap::new()).with_keeper(keeper.clone()));
    let lookings = Lookings::begin(config, &watched, running.tasks.clone(), running.stop.clone(), keeper);
    if let Some(again) = again {
        let stop = running.stop.clone();
        running.tasks.spawn(lookings.follow(again, stop));
    }
    running.app(watched, door, listener).await
}

/// Looks at a drill under this name and answers on `listener`, as [`serve`] does.
///
/// # Errors
/// The listener failed.
pub async fn serve_drill(
    name: &str,
    drill: Arc<Drill>,
    door: Door,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let running = Running::new(&shutdown);
    // What happens in a drill is remembered as long as it runs, so that its incidents have links.
    let folder = tempfile::Builder::new().prefix("unstuck-drill-").tempdir()?;
    let keeper = running.keeper(Some(StoreConfig::file(folder.path().join("unstuck.db")))).await?;
    let clusters = running.watch(vec![ClusterConfig::new(name, drill.bootstrap())], keeper.as_ref());
    running.app(Watched::new(clusters).with_drill(drill).with_keeper(keeper), door, listener).await
}

/// Shows a recording on `listener`, as [`serve`] does a cluster; incidents that were recorded have their pages.
///
/// # Errors
/// The listener failed.
pub(crate) async fn serve_replay(
    player: Arc<Player>,
    incidents: Vec<Archive>,
    door: Door,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let running = Running::new(&shutdown);
    let folder = tempfile::Builder::new().prefix("unstuck-replay-").tempdir()?;
    let mut keeper = None;
    if !incidents.is_empty() {
        keeper = running.keeper(Some(StoreConfig::file(folder.path().join("unstuck.db")))).await?;
        if let Some(store) = keeper.as_ref().and_then(|keeper| keeper.store().ok()) {
            for incident in &incidents {
                // The same file may be named twice.
                if let Err(error) = incidents::archive::import(&*store, incident).await {
                    tracing::warn!(incident = incident.incident.id.0, "it has no page: {error}");
                }
            }
        }
    }
    let (stop, playing) = (running.stop.clone(), Arc::clone(&player));
    running.tasks.spawn(async move { playing.run(&stop).await });
    let watched = Watched::new(player.clusters()).with_keeper(keeper).with_replay(player);
    running.app(watched, door, listener).await
}

/// Answers on `listener` for a drill that nobody looks at: its part of the API alone.
///
/// # Errors
/// The listener failed.
pub async fn serve_drill_control(
    drill: Arc<Drill>,
    door: Door,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let tls = door.tls();
    let app = Router::new()
        .route("/healthz", get(healthz))
        .nest("/api", api::drill_router(drill))
        .fallback(api::unknown_path)
        .layer(axum::middleware::from_fn_with_state(Arc::new(door), door::admit))
        .layer(axum::middleware::from_fn(guard::guard));
    Ok(Running::new(&shutdown).answer(app, tls, listener).await?)
}

/// What runs beside the answers, and its end.
struct Running {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Running {
    fn new(shutdown: &CancellationToken) -> Self {
        Self { tasks: TaskTracker::new(), stop: shutdown.child_token() }
    }

    async fn keeper(&self, config: Option<StoreConfig>) -> Result<Option<Arc<Keeper>>, ServeError> {
        let Some(config) = config else { return Ok(None) };
        Ok(Some(Keeper::open(config, &self.tasks, &self.stop).await?))
    }

    fn watch(&self, clusters: Vec<ClusterConfig>, keeper: Option<&Arc<Keeper>>) -> BTreeMap<String, WatchedCluster> {
        let boot = poller::boot_id();
        let watch = |cluster: ClusterConfig| {
            (cluster.name.clone(), poller::watch_cluster(cluster, &boot, &self.tasks, &self.stop, keeper))
        };
        clusters.into_iter().map(watch).collect()
    }

    async fn app(self, watched: impl Into<Arc<Watched>>, door: Door, listener: TcpListener) -> Result<(), ServeError> {
        let bundle = Bundle::embedded();
        if !bundle.present {
            tracing::warn!("built without the front-end bundle: pages are complete, but do not update by themselves");
        }
        let tls = door.tls();
        let app = router_behind(Arc::new(door), watched.into(), &bundle, self.stop.clone());
        Ok(self.answer(app, tls, listener).await?)
    }

    async fn answer(self, app: Router, tls: Option<Arc<Tls>>, listener: TcpListener) -> std::io::Result<()> {
        let Self { tasks, stop } = self;
        let on_loopback = listener.local_addr()?.ip().to_canonical().is_loopback();
        let app = if on_loopback { app.layer(axum::Extension(OnLoopback)) } else { app };
        let connections = TaskTracker::new();
        connections::serve(listener, app, tls, Limits::default(), &connections, &stop).await;
        connections.close();
        if tokio::time::timeout(LAST_ANSWERS, connections.wait()).await.is_err() {
            tracing::debug!("connections were still open at the end");
        }
        stop.cancel();
        tasks.close();
        if tokio::time::timeout(LAST_TASKS, tasks.wait()).await.is_err() {
            tracing::debug!("tasks were still running at the end");
        }
        Ok(())
    }
}

/// Everything that is answered over HTTP, to whoever asks.
pub fn router(watched: Arc<Watched>, bundle: &Bundle, shutdown: CancellationToken) -> Router {
    router_behind(Arc::new(Door::open()), watched, bundle, shutdown)
}

/// Everything that is answered over HTTP, behind this door.
pub(crate) fn router_behind(
    door: Arc<Door>,
    watched: Arc<Watched>,
    bundle: &Bundle,
    shutdown: CancellationToken,
) -> Router {
    let live = Live::new(Arc::clone(&watched), Arc::clone(&bundle.build), shutdown);
    let compression = CompressionLayer::new().quality(CompressionLevel::Fastest);
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz).with_state(Arc::clone(&watched)))
        .route("/events", get(events::events).with_state(live))
        // Nesting leaves this one path out.
        .route("/api/", axum::routing::any(api::unknown_path))
        .nest("/api", api::router(Arc::clone(&watched)))
        .merge(incidents::routes::router(Arc::clone(&watched)))
        .merge(login::router(Arc::clone(&door)))
        .merge(pages::router(watched, bundle))
        .layer(axum::middleware::from_fn_with_state(door, door::admit))
        .layer(compression)
        // Routes have lower limits of their own where they read what people send; pages' own questions have this one.
        .layer(RequestBodyLimitLayer::new(api::BODY_LIMIT))
        .layer(axum::middleware::from_fn(guard::guard))
}

/// The process lives. Says nothing about Kafka.
async fn healthz() -> &'static str {
    "alive\n"
}

/// Every cluster has had one complete look, so answers are no longer mere "not known yet".
async fn readyz(State(watched): State<Arc<Watched>>, who: Option<axum::Extension<Who>>) -> Response {
    match watched.not_settled().as_slice() {
        [] => "ready\n".into_response(),
        // Probes come without a login; the names of clusters are for those who have one.
        waiting => Problem::not_ready(if who.is_some() { waiting } else { &[] }).into_response(),
    }
}
