//! The buttons of a recording over HTTP. There only while one is shown.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::header;
use unstuck_diagnosis::visible;

use super::Player;
use super::player::{Standing, Wish};
use crate::api::no_parameters;
use crate::problem::Problem;
use crate::same_site::{Sent, local_path};

/// The path of the form, and of how it stands.
const PATH: &str = "/replay";
/// The largest body, in bytes: the address of a page is in it.
const BODY_LIMIT: usize = 64 * 1024;
/// What the form can be told to do.
const WORDS: [&str; 5] = ["previous", "next", "play", "pause", "go"];

/// The form of the pages, and how it stands as JSON.
pub(crate) fn router(player: Arc<Player>) -> Router {
    Router::new().route(PATH, get(standing).post(pressed)).layer(DefaultBodyLimit::max(BODY_LIMIT)).with_state(player)
}

async fn standing(
    State(player): State<Arc<Player>>,
    RawQuery(query): RawQuery,
) -> Result<([(header::HeaderName, &'static str); 1], Json<Standing>), Problem> {
    no_parameters(query.as_deref())?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(player.standing())))
}

async fn pressed(State(player): State<Arc<Player>>, sent: Sent) -> Result<Response, Problem> {
    let [word, moment, back] = sent.fields(["do", "moment", "back"], BODY_LIMIT)?;
    let back = local_path(back.as_deref().unwrap_or("/"))?;
    let word = word.unwrap_or_default();
    let wish = match word.as_str() {
        "previous" => Wish::Previous,
        "next" => Wish::Next,
        "play" => Wish::Play,
        "pause" => Wish::Pause,
        "go" => {
            let moment = moment.unwrap_or_default();
            Wish::Go(moment.parse().map_err(|_| {
                let given = visible(&moment);
                Problem::bad_wish(
                    format!("The field \"moment\" is \"{given}\", which is not the number of a moment."),
                    &[],
                )
            })?)
        }
        _ => {
            let detail = format!("The field \"do\" is \"{}\", which says nothing.", visible(&word));
            return Err(Problem::bad_wish(detail, &WORDS));
        }
    };
    player.tell(wish);
    Ok(Redirect::to(back).into_response())
}
