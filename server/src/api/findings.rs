//! The handbook as JSON: what each finding means, independent of any cluster.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery};
use serde::Serialize;
use unstuck_diagnosis::handbook::{self, BY_HAND, ByHand, Entry};

use super::params;
use crate::problem::Problem;

/// What `/api/v1/findings` answers.
#[derive(Serialize)]
pub(super) struct Handbook {
    /// Every chapter, by slug.
    findings: Vec<Chapter>,
    /// Causes that cannot be seen from outside.
    by_hand: &'static [ByHand],
}

/// A chapter, and where people read it.
#[derive(Serialize)]
pub(super) struct Chapter {
    /// The path of the page.
    docs: String,
    #[serde(flatten)]
    entry: &'static Entry,
}

impl Chapter {
    fn of(entry: &'static Entry) -> Self {
        Self { docs: entry.href(), entry }
    }
}

/// All chapters.
pub(super) async fn findings(RawQuery(query): RawQuery) -> Result<Json<Handbook>, Problem> {
    params::none(query.as_deref())?;
    let findings = handbook::handbook().into_iter().map(Chapter::of).collect();
    Ok(Json(Handbook { findings, by_hand: BY_HAND }))
}

/// One chapter.
pub(super) async fn finding(
    slug: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Json<Chapter>, Problem> {
    params::none(query.as_deref())?;
    let slug = slug.map_or_else(|_| "\u{fffd}".to_owned(), |Path(slug)| slug);
    let entry = handbook::entry(&slug).ok_or_else(|| Problem::unknown_finding(&slug, &handbook::nearest(&slug)))?;
    Ok(Json(Chapter::of(entry)))
}
