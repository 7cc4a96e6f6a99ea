//! The switches of a drill over HTTP: a form for the pages, and a part of the API. There only while a drill is served.
//!
//! A drill listens where a browser of the same machine reaches it, and so does every web page that is open in that
//! browser: what another site sends is refused.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::header;
use serde::Deserialize;
use unstuck_drill::scenario::action::Action;
use unstuck_drill::scenario::value::Time;
use unstuck_drill::serve::Drill;
use unstuck_drill::world::Status;

use crate::api::no_parameters;
use crate::problem::Problem;
use crate::same_site::{Sent, header_text, local_path};

/// The path of the form.
const FORM: &str = "/drill";
/// The path below `/api`.
const API: &str = "/v1/drill";
/// The largest body, in bytes: an action with hundreds of partitions fits.
const BODY_LIMIT: usize = 64 * 1024;
/// What the form can be told to do.
const WORDS: [&str; 8] = ["next", "restart", "stop", "start", "pause", "resume", "cut-off", "reconnect"];

/// The form of the pages.
pub(crate) fn form_router(drill: Arc<Drill>) -> Router {
    Router::new().route(FORM, post(pressed)).layer(DefaultBodyLimit::max(BODY_LIMIT)).with_state(drill)
}

/// What is served below `/api`.
pub(crate) fn api_router(drill: Arc<Drill>) -> Router {
    Router::new().route(API, get(status).post(told)).layer(DefaultBodyLimit::max(BODY_LIMIT)).with_state(drill)
}

/// What a drill is told to do.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Wish {
    /// `{"next": true}`
    Next(Yes),
    /// `{"restart": true}`
    Restart(Yes),
    /// `{"jump": "10m"}`
    Jump(Time),
    /// `{"apply": {"stop": 1}}`: an action as in a scenario file.
    Apply(Box<Action>),
}

/// `true`. A wish that is not meant is refused rather than obeyed.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "bool")]
struct Yes;

impl TryFrom<bool> for Yes {
    type Error = &'static str;

    fn try_from(yes: bool) -> Result<Self, Self::Error> {
        if yes { Ok(Self) } else { Err("only true is possible here") }
    }
}

async fn obey(drill: &Drill, wish: Wish) -> Result<(), Problem> {
    match wish {
        Wish::Next(Yes) => {
            if !drill.next() {
                return Err(Problem::no_next_step());
            }
        }
        Wish::Restart(Yes) => drill.restart(),
        Wish::Jump(Time(by)) => {
            let refused = |why: String| Problem::bad_wish(format!("It cannot jump: {why}."), &[]);
            drill.jump(by).await.map_err(refused)?;
        }
        Wish::Apply(action) => drill.act(&action).map_err(|why| Problem::drill_refused(&why))?,
    }
    Ok(())
}

async fn status(State(drill): State<Arc<Drill>>, RawQuery(query): RawQuery) -> Result<Json<Status>, Problem> {
    no_parameters(query.as_deref())?;
    Ok(Json(drill.status()))
}

async fn told(State(drill): State<Arc<Drill>>, RawQuery(query): RawQuery, sent: Sent) -> Result<Json<Status>, Problem> {
    no_parameters(query.as_deref())?;
    let content_type = header_text(&sent.headers, header::CONTENT_TYPE.as_str()).unwrap_or("none");
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(Problem::not_json(content_type));
    }
    let wish = serde_json::from_slice(&sent.body(BODY_LIMIT)?)
        .map_err(|error| Problem::bad_wish(format!("The body cannot be read: {error}."), &[]))?;
    obey(&drill, wish).await?;
    Ok(Json(drill.status()))
}

async fn pressed(State(drill): State<Arc<Drill>>, sent: Sent) -> Result<Response, Problem> {
    let [word, node, back] = sent.fields(["do", "node", "back"], BODY_LIMIT)?;
    let back = local_path(back.as_deref().unwrap_or("/"))?;
    let wish = wish(word.as_deref().unwrap_or_default(), node.as_deref())?;
    obey(&drill, wish).await?;
    Ok(Redirect::to(back).into_response())
}

fn wish(word: &str, node: Option<&str>) -> Result<Wish, Problem> {
    let action = match word {
        "next" => return Ok(Wish::Next(Yes)),
        "restart" => return Ok(Wish::Restart(Yes)),
        "stop" => Action::Stop,
        "start" => Action::Start,
        "pause" => Action::Pause,
        "resume" => Action::Resume,
        "cut-off" => Action::CutOff,
        "reconnect" => Action::Reconnect,
        _ => {
            let detail = format!("The field \"do\" is \"{}\", which says nothing.", unstuck_diagnosis::visible(word));
            return Err(Problem::bad_wish(detail, &WORDS));
        }
    };
    let node = node.unwrap_or_default();
    let id = node.parse().map_err(|_| {
        let given = unstuck_diagnosis::visible(node);
        Problem::bad_wish(format!("The field \"node\" is \"{given}\", which is not the id of a broker."), &[])
    })?;
    Ok(Wish::Apply(Box::new(action(id))))
}
