//! What pages send about incidents, and the files that they offer. Nothing here touches a cluster.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use http::HeaderValue;
use http::header;
use jiff::Timestamp;
use unstuck_diagnosis::history::{Acknowledged, IncidentId};
use unstuck_store::{Kind, Store, StoreError};

use super::archive::ArchiveError;
use super::{NAME_CAP, NOTE_CAP, archive, by_hand};
use crate::api::{attachment, pairs};
use crate::assets;
use crate::problem::Problem;
use crate::same_site::Sent;
use crate::watched::Watched;

/// The largest body: a note of the largest size, percent-encoded.
const BODY_LIMIT: usize = 4 * NOTE_CAP;

/// Forms and files of incidents, outside of the API.
pub(crate) fn router(watched: Arc<Watched>) -> Router {
    Router::new()
        .route("/c/{cluster}/incidents", post(make))
        .route("/i/{id}/notes", post(note))
        .route("/i/{id}/acknowledge", post(acknowledge))
        .route("/i/{id}/release", post(release))
        .route("/i/{id}/export.md", get(markdown))
        .route("/i/{id}/export.json", get(json))
        .route("/i/{id}/export.html", get(html))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(watched)
}

impl Problem {
    /// What the store says, as an answer.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        match error.kind() {
            Kind::NotFound => Self::unknown_incident(),
            _ => Self::store_fails(&error.to_string()),
        }
    }
}

/// The store of this server.
pub(crate) fn store(watched: &Watched) -> Result<Arc<dyn Store>, Problem> {
    let keeper = watched.keeper().ok_or_else(Problem::nothing_kept)?;
    keeper.store().map_err(|why| Problem::store_fails(&why))
}

/// The id in a path; one that is not UTF-8 is the id of nothing.
pub(crate) fn id_of(path: Result<Path<String>, PathRejection>) -> Result<IncidentId, Problem> {
    path.map(|Path(id)| IncidentId(id)).map_err(|_| Problem::unknown_incident())
}

/// The fields of a form, of which each may stand once.
struct Form {
    by: String,
    text: String,
}

impl Form {
    fn read(sent: Sent) -> Result<Self, Problem> {
        let user = sent.who.name.clone();
        let [by, text] = sent.fields(["by", "text"], BODY_LIMIT)?;
        // Whoever is logged in need not type it, and cannot be somebody else.
        let by = user.or(by).unwrap_or_default();
        let by: String = by.trim().chars().filter(|c| !c.is_control()).take(NAME_CAP).collect();
        let text = text.unwrap_or_default().replace("\r\n", "\n");
        if text.len() > NOTE_CAP {
            return Err(Problem::note_too_long(text.len(), NOTE_CAP));
        }
        Ok(Self { by, text: text.trim().to_owned() })
    }
}

async fn make(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<String>, PathRejection>,
    sent: Sent,
) -> Result<Response, Problem> {
    let form = Form::read(sent)?;
    let name = path.map_or_else(|_| "\u{fffd}".to_owned(), |Path(name)| name);
    let published = watched.newest(&name).ok_or_else(|| watched.unknown(&name))?;
    let store = store(&watched)?;
    let key = watched.kept_as(&name).unwrap_or(name);
    let by = Some(form.by).filter(|by| !by.is_empty());
    let id = by_hand(&*store, &key, &published, by).await.map_err(|error| Problem::of_store(&error))?;
    Ok(Redirect::to(&format!("/i/{}", id.0)).into_response())
}

async fn note(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<String>, PathRejection>,
    sent: Sent,
) -> Result<Response, Problem> {
    let id = id_of(path)?;
    let form = Form::read(sent)?;
    if form.text.is_empty() {
        return Err(Problem::empty_note());
    }
    let added = store(&watched)?.add_note(&id, &form.by, &form.text, Timestamp::now()).await;
    added.map_err(|error| Problem::of_store(&error))?;
    Ok(Redirect::to(&format!("/i/{}#notes", id.0)).into_response())
}

async fn acknowledge(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<String>, PathRejection>,
    sent: Sent,
) -> Result<Response, Problem> {
    let id = id_of(path)?;
    let form = Form::read(sent)?;
    if form.by.is_empty() {
        return Err(Problem::no_name());
    }
    let acknowledged = Acknowledged { by: form.by, at: Timestamp::now() };
    let done = store(&watched)?.acknowledge(&id, Some(&acknowledged)).await;
    done.map_err(|error| Problem::of_store(&error))?;
    Ok(Redirect::to(&format!("/i/{}", id.0)).into_response())
}

async fn release(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<String>, PathRejection>,
    _sent: Sent,
) -> Result<Response, Problem> {
    let id = id_of(path)?;
    store(&watched)?.acknowledge(&id, None).await.map_err(|error| Problem::of_store(&error))?;
    Ok(Redirect::to(&format!("/i/{}", id.0)).into_response())
}

/// Whether names shall be made up.
fn pseudonyms(query: Option<&str>) -> Result<bool, Problem> {
    let mut asked = false;
    for (name, value) in pairs(query.unwrap_or_default().as_bytes())? {
        asked = match (name.as_str(), value.as_str()) {
            ("pseudonyms", "true") => true,
            ("pseudonyms", "false") => false,
            ("pseudonyms", _) => return Err(Problem::bad_flag("pseudonyms", &value)),
            _ => return Err(Problem::unknown_parameter(&name, &["pseudonyms"])),
        };
    }
    Ok(asked)
}

async fn exported(watched: &Watched, id: &IncidentId, query: Option<&str>) -> Result<archive::Archive, Problem> {
    let store = store(watched)?;
    match archive::export(&*store, id, pseudonyms(query)?).await {
        Ok(Some(archive)) => Ok(archive),
        Ok(None) => Err(Problem::unknown_incident()),
        Err(ArchiveError::Store(error)) => Err(Problem::of_store(&error)),
        Err(error) => Err(Problem::store_fails(&error.to_string())),
    }
}

/// A file to be saved. The incident goes on, so nobody may keep it.
fn file(name: &str, content_type: &'static str, content: impl IntoResponse) -> Response {
    let mut response = attachment(name, content_type, content);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What a file is called: when the incident began.
fn named(archive: &archive::Archive, ending: &str) -> String {
    format!("incident-{}.{ending}", archive.incident.opened.at.strftime("%Y-%m-%d-%H%M"))
}

async fn json(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let archive = exported(&watched, &id_of(path)?, query.as_deref()).await?;
    Ok(file(&named(&archive, "json"), "application/json", axum::Json(archive)))
}

async fn markdown(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let archive = exported(&watched, &id_of(path)?, query.as_deref()).await?;
    let text = unstuck_app::incident_markdown(&archive.view());
    Ok(file(&named(&archive, "md"), "text/markdown; charset=utf-8", text))
}

async fn html(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let archive = exported(&watched, &id_of(path)?, query.as_deref()).await?;
    let text = unstuck_app::incident_html(&archive.view(), &assets::stylesheet());
    Ok(file(&named(&archive, "html"), "text/html; charset=utf-8", text))
}
