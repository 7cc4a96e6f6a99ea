//! `GET /events`: tells open pages that something new was published. Small on purpose: pages fetch what they show.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt};
use http::{HeaderValue, header};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::{Published, Seq};

use crate::access::Who;
use crate::api::pairs;
use crate::problem::Problem;
use crate::watched::Watched;

/// Shortest time between two events about one cluster to one client.
const THROTTLE: Duration = Duration::from_millis(500);
/// How often a comment keeps proxies from closing a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How many streams there are at once: half of all connections.
const STREAMS: usize = 512;
/// How long a stream lasts where somebody has logged in. Browsers come again by themselves, and are asked again who they
/// are.
const LOGGED_IN: Duration = Duration::from_secs(600);

/// The data of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Which publication this is; compare with `!=` only.
    pub seq: Seq,
    /// The cluster's name.
    pub cluster: String,
    /// The worst status in the cluster.
    pub status: Status,
    /// The headline's sentence.
    pub headline: String,
    /// The front end's build; a page of another build reloads itself.
    pub build: String,
    /// Another number than before if something happened in the drill; only if the cluster is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drill: Option<u64>,
}

/// What the stream needs.
#[derive(Clone)]
pub(crate) struct Live {
    /// The clusters.
    pub(crate) watched: Arc<Watched>,
    /// The front end's build.
    pub(crate) build: Arc<str>,
    /// Ends every stream.
    pub(crate) shutdown: CancellationToken,
    /// A place for each stream: pages and API need connections too.
    places: Arc<Semaphore>,
}

impl Live {
    /// Without any stream yet.
    pub(crate) fn new(watched: Arc<Watched>, build: Arc<str>, shutdown: CancellationToken) -> Self {
        Self { watched, build, shutdown, places: Arc::new(Semaphore::new(STREAMS)) }
    }
}

/// The stream: at once the newest value of each cluster (or of `?cluster=` alone), then each that follows.
pub(crate) async fn events(
    State(live): State<Live>,
    who: Option<axum::Extension<Who>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let place = Arc::clone(&live.places).try_acquire_owned().map_err(|_| Problem::too_many_streams(STREAMS))?;
    // Before the clusters are listed, so that none is missed that comes meanwhile.
    let changes = live.watched.generation();
    let mut clusters = live.watched.receivers();
    let mut only = false;
    for (name, value) in pairs(query.unwrap_or_default().as_bytes())? {
        match name.as_str() {
            "cluster" if live.watched.newest(&value).is_some() => {
                only = true;
                clusters.retain(|cluster, _| *cluster == value);
            }
            "cluster" => return Err(live.watched.unknown(&value)),
            _ => return Err(Problem::unknown_parameter(&name, &["cluster"])),
        }
    }
    let drill = live.watched.drill().map(|drill| drill.changes());
    let joining = (!only).then(|| Joining { changes, watched: live.watched });
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).text("still here");
    let named = who.is_some_and(|axum::Extension(who)| who.name.is_some());
    let end = async move {
        if !named {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(LOGGED_IN).await;
    };
    // The place is free again when the stream is dropped.
    let events = stream(clusters, joining, drill, live.build, live.shutdown).take_until(end).inspect(move |_| {
        let _ = &place;
    });
    let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
    // nginx would hold events back in its buffer.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// One cluster that a client follows, by its name.
struct Follows {
    name: String,
    published: watch::Receiver<Arc<Published>>,
    told: Option<Seq>,
}

/// Where clusters come from that are looked at from now on.
struct Joining {
    watched: Arc<Watched>,
    changes: watch::Receiver<u64>,
}

/// What one client follows: a receiver for each cluster, and the publication that was told of last.
struct Following {
    clusters: Vec<Follows>,
    /// For whoever follows all clusters, those to come too.
    joining: Option<Joining>,
    waiting: VecDeque<Arc<Published>>,
    /// What happens in the drill, if there is one, and what was told of it last.
    drill: Option<watch::Receiver<u64>>,
    drill_told: Option<u64>,
    not_before: Instant,
}

fn stream(
    clusters: BTreeMap<String, watch::Receiver<Arc<Published>>>,
    joining: Option<Joining>,
    drill: Option<watch::Receiver<u64>>,
    build: Arc<str>,
    shutdown: CancellationToken,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let follows = |(name, published)| Follows { name, published, told: None };
    let clusters = clusters.into_iter().map(follows).collect();
    let (waiting, not_before) = (VecDeque::new(), Instant::now());
    let start = Following { clusters, joining, waiting, drill, drill_told: None, not_before };
    futures::stream::unfold(start, move |mut following| {
        let (build, shutdown) = (Arc::clone(&build), shutdown.clone());
        async move {
            let published = tokio::select! {
                () = shutdown.cancelled() => return None,
                published = following.next() => published?,
            };
            Some((Ok(event(&published, &build, following.drill_told)), following))
        }
    })
}

impl Following {
    /// The next value to tell of: the newest one of a cluster, and of no cluster twice within [`THROTTLE`].
    /// `None` when nothing will be published any more.
    async fn next(&mut self) -> Option<Arc<Published>> {
        loop {
            if let Some(published) = self.waiting.pop_front() {
                return Some(published);
            }
            tokio::time::sleep_until(self.not_before).await;
            let drill = self.drill.as_mut().map(|changes| *changes.borrow_and_update());
            let drill_moved = std::mem::replace(&mut self.drill_told, drill) != drill;
            self.join();
            for Follows { published, told, .. } in &mut self.clusters {
                let newest = Arc::clone(&published.borrow_and_update());
                if drill_moved || told.as_ref() != Some(&newest.seq) {
                    *told = Some(newest.seq.clone());
                    self.waiting.push_back(newest);
                }
            }
            if self.waiting.is_empty() {
                let changes: Vec<_> =
                    self.clusters.iter_mut().map(|follows| Box::pin(follows.published.changed())).collect();
                if changes.is_empty() {
                    return None;
                }
                let joined = async {
                    let Some(joining) = &mut self.joining else { return std::future::pending().await };
                    if joining.changes.changed().await.is_err() {
                        std::future::pending().await
                    }
                    joining.changes.mark_changed();
                };
                let drill = async {
                    let Some(drill) = &mut self.drill else { return std::future::pending().await };
                    if drill.changed().await.is_err() {
                        // It ended: nothing more happens in it.
                        std::future::pending().await
                    }
                };
                let ended = tokio::select! {
                    (change, which, _) = futures::future::select_all(changes) => change.is_err().then_some(which),
                    () = drill => None,
                    () = joined => None,
                };
                if let Some(ended) = ended {
                    // Nothing more will come of this cluster; the others go on.
                    self.clusters.remove(ended);
                }
            } else {
                self.not_before = Instant::now() + THROTTLE;
            }
        }
    }
}

impl Following {
    /// Takes in the clusters that are looked at since.
    fn join(&mut self) {
        let Some(joining) = self.joining.as_mut().filter(|joining| joining.changes.has_changed().unwrap_or(false))
        else {
            return;
        };
        joining.changes.mark_unchanged();
        for (name, published) in joining.watched.receivers() {
            if !self.clusters.iter().any(|follows| follows.name == name && follows.published.same_channel(&published)) {
                self.clusters.push(Follows { name, published, told: None });
            }
        }
    }
}

fn event(published: &Published, build: &str, drill: Option<u64>) -> Event {
    let report = &published.report;
    let summary = Summary {
        seq: published.seq.clone(),
        cluster: report.cluster.clone(),
        status: report.headline.status,
        headline: report.headline.sentence.clone(),
        build: build.to_owned(),
        drill,
    };
    let id = format!("{}-{}", published.seq.boot, published.seq.n);
    let event = Event::default().id(id);
    event.json_data(summary).unwrap_or_else(|_| Event::default().comment("a summary could not be written"))
}

#[cfg(test)]
mod tests;
