//! Errors of the API as problem details (RFC 9457). "Kafka is down" is none: that is a report, with status 200.

mod access;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use unstuck_diagnosis::handbook::Entry;
use unstuck_diagnosis::plan::Refusal;
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::visible;

/// A problem with a request. Serialises to `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// `urn:unstuck:problem:` and a stable word; what programs compare.
    #[serde(rename = "type")]
    pub kind: Box<str>,
    /// The kind of problem in a few words, always the same for one `type`.
    pub title: Box<str>,
    /// The HTTP status, repeated.
    pub status: u16,
    /// What is wrong with this request.
    pub detail: Box<str>,
    /// What to do about it.
    pub advice: Box<str>,
    /// What would have been accepted in the place of what was sent, where that is a short list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// After how many seconds to try again, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}

impl Problem {
    fn new(status: StatusCode, word: &str, title: &str, detail: String, advice: impl Into<Box<str>>) -> Self {
        Self {
            kind: format!("urn:unstuck:problem:{word}").into(),
            title: title.into(),
            status: status.as_u16(),
            detail: detail.into(),
            advice: advice.into(),
            allowed: Vec::new(),
            retry_after_s: None,
        }
    }

    fn allowing<T: ToString>(mut self, allowed: impl IntoIterator<Item = T>) -> Self {
        self.allowed = allowed.into_iter().map(|one| one.to_string()).collect();
        self
    }

    /// No cluster of that name; `ended` says why not any more, if there was one.
    #[must_use]
    pub fn unknown_cluster(asked: &str, known: &[String], ended: Option<&str>) -> Self {
        let detail = format!("There is no cluster named \"{}\".", visible(asked));
        let detail = ended.map_or_else(|| detail.clone(), |ended| format!("{detail} {ended}"));
        let advice = format!("Known clusters: {}.", known.join(", "));
        Self::new(StatusCode::NOT_FOUND, "unknown-cluster", "Unknown cluster", detail, advice).allowing(known)
    }

    /// The handbook has no chapter of that name.
    #[must_use]
    pub fn unknown_finding(asked: &str, near: &[&Entry]) -> Self {
        let detail = format!("No finding is called \"{}\".", visible(asked));
        let near: Vec<&str> = near.iter().map(|entry| entry.slug).collect();
        let advice = format!("Called much like it: {}. All are at /api/v1/findings.", near.join(", "));
        Self::new(StatusCode::NOT_FOUND, "unknown-finding", "Unknown finding", detail, advice).allowing(&near)
    }

    /// No plan of that name.
    #[must_use]
    pub fn unknown_plan(asked: &str, known: &[&str]) -> Self {
        let detail = format!("There is no plan named \"{}\".", visible(asked));
        let advice = format!("Known plans: {}.", known.join(", "));
        Self::new(StatusCode::NOT_FOUND, "unknown-plan", "Unknown plan", detail, advice).allowing(known)
    }

    /// A plan has no such file.
    #[must_use]
    pub fn unknown_file(asked: &str, known: &[&str]) -> Self {
        let detail = format!("The plan has no file named \"{}\".", visible(asked));
        let advice = format!("Its files: {}.", known.join(", "));
        Self::new(StatusCode::NOT_FOUND, "unknown-file", "Unknown file", detail, advice).allowing(known)
    }

    /// A plan about one broker that does not say which.
    #[must_use]
    pub fn no_broker() -> Self {
        let detail = "The plan is about one broker, and none was named.".to_owned();
        Self::new(StatusCode::BAD_REQUEST, "no-broker", "No broker", detail, "Name it as ?broker=ID.")
    }

    /// A broker's id that is none.
    #[must_use]
    pub fn bad_broker(asked: &str) -> Self {
        let detail = format!("\"{}\" is not the id of a broker: a whole number from 0.", visible(asked));
        Self::new(StatusCode::BAD_REQUEST, "bad-broker", "Bad broker", detail, "Name it as ?broker=ID.")
    }

    /// There is nothing to plan, or a plan would be wrong now.
    #[must_use]
    pub fn plan_refused(refusal: &Refusal) -> Self {
        let (why, advice) = (refusal.why.clone(), refusal.advice.clone());
        Self::new(StatusCode::CONFLICT, "plan-refused", "No such plan now", why, advice)
    }

    /// No incident of that id.
    #[must_use]
    pub fn unknown_incident() -> Self {
        let detail = "There is no incident of this id.".to_owned();
        let advice = "It may have been dropped after the time for which incidents are kept, belong to another Unstuck, or \
                      be mistyped. /api/v1/incidents lists those there are.";
        Self::new(StatusCode::NOT_FOUND, "unknown-incident", "Unknown incident", detail, advice)
    }

    /// A moment that is not kept.
    #[must_use]
    pub fn unknown_moment(asked: &str, known: &[&str]) -> Self {
        let detail = format!("Of this incident no moment \"{}\" is kept.", visible(asked));
        let advice = format!("Kept are: {}.", known.join(", "));
        Self::new(StatusCode::NOT_FOUND, "unknown-moment", "Unknown moment", detail, advice).allowing(known)
    }

    /// This server keeps nothing.
    #[must_use]
    pub fn nothing_kept() -> Self {
        let detail = "This Unstuck was started with --store none: it keeps neither history nor incidents.".to_owned();
        let advice = "Start it with --store FILE.";
        Self::new(StatusCode::NOT_FOUND, "nothing-kept", "Nothing is kept", detail, advice)
    }

    /// What is kept cannot be read or written right now.
    #[must_use]
    pub fn store_fails(why: &str) -> Self {
        let advice = "Verdicts do not depend on it. Try again; the log says more.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store-fails", "The store fails", why.to_owned(), advice)
    }

    /// A note without text.
    #[must_use]
    pub fn empty_note() -> Self {
        let detail = "The note is empty.".to_owned();
        Self::new(
            StatusCode::BAD_REQUEST,
            "empty-note",
            "Empty note",
            detail,
            "Go back, write something, and send it again.",
        )
    }

    /// A note above the limit.
    #[must_use]
    pub fn note_too_long(bytes: usize, most: usize) -> Self {
        let detail = format!("The note has {bytes} bytes; at most {most} are kept.");
        let advice = "Go back, and split it into several notes.";
        Self::new(StatusCode::BAD_REQUEST, "note-too-long", "Note too long", detail, advice)
    }

    /// Somebody takes an incident over without a name.
    #[must_use]
    pub fn no_name() -> Self {
        let detail = "No name was given, so nobody would know who looks after the incident.".to_owned();
        Self::new(StatusCode::BAD_REQUEST, "no-name", "No name", detail, "Go back, and type your name.")
    }

    /// Something that is either true or false, and is neither.
    #[must_use]
    pub fn bad_flag(name: &str, asked: &str) -> Self {
        let detail = format!("The parameter \"{name}\" is \"{}\".", visible(asked));
        Self::new(StatusCode::BAD_REQUEST, "bad-flag", "Neither true nor false", detail, "Give true or false.")
            .allowing(["true", "false"])
    }

    /// A time that is none.
    #[must_use]
    pub fn bad_time(name: &str, asked: &str) -> Self {
        let detail = format!("The parameter \"{name}\" is \"{}\", which is no time.", visible(asked));
        let advice = "Give milliseconds since 1970, or a time such as 2026-11-29T15:40:00Z.";
        Self::new(StatusCode::BAD_REQUEST, "bad-time", "Bad time", detail, advice)
    }

    /// A subject of history that is none.
    #[must_use]
    pub fn bad_subject(detail: String) -> Self {
        let advice = "Name one: ?partition=NUMBER, ?broker=ID or ?group=ID; without any it is the cluster as a whole.";
        Self::new(StatusCode::BAD_REQUEST, "bad-subject", "Bad subject", detail, advice)
    }

    /// Nothing is served under that path.
    #[must_use]
    pub fn unknown_path(path: &str) -> Self {
        let detail = format!("Nothing is served under \"{}\".", visible(path));
        let advice = "Start at /api/v1/clusters; docs/api.md lists every path.";
        Self::new(StatusCode::NOT_FOUND, "unknown-path", "Unknown path", detail, advice)
    }

    /// The path is served, but not for this method.
    #[must_use]
    pub fn wrong_method(method: &http::Method) -> Self {
        let detail = format!("{} is not answered here.", visible(method.as_str()));
        let advice = "The header Allow names the methods that are.";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", "Wrong method", detail, advice)
    }

    /// A lookup without any group.
    #[must_use]
    pub fn no_group() -> Self {
        let detail = "No group id was given.".to_owned();
        let advice = "Name one as ?group=ID, several as ?group=A&group=B, or send them with POST. \
                      An empty id is asked for as ?group= (with nothing behind the equals sign).";
        Self::new(StatusCode::BAD_REQUEST, "no-group", "No group", detail, advice)
    }

    /// A lookup of transactional ids without any.
    #[must_use]
    pub fn no_transactional_id() -> Self {
        let detail = "No transactional id was given, or an empty one.".to_owned();
        let advice = "Name one as ?id=ID, several as ?id=A&id=B. Producers without transactions have none.";
        Self::new(StatusCode::BAD_REQUEST, "no-transactional-id", "No transactional id", detail, advice)
    }

    /// More ids than one request may hold.
    #[must_use]
    pub fn too_many_groups(asked: usize, most: usize) -> Self {
        let detail = format!("{asked} group ids were given; one request answers at most {most}.");
        let advice = "Send them in several requests.";
        Self::new(StatusCode::BAD_REQUEST, "too-many-groups", "Too many groups", detail, advice)
    }

    /// An id that no consumer can have.
    #[must_use]
    pub fn group_id_too_long(bytes: usize, most: usize) -> Self {
        let detail =
            format!("A group id of {bytes} bytes was given; Kafka's protocol holds at most {most} bytes of UTF-8.");
        let advice = "No consumer can have this id. Check what was copied.";
        Self::new(StatusCode::BAD_REQUEST, "group-id-too-long", "Group id too long", detail, advice)
    }

    /// A query or form that cannot be decoded.
    #[must_use]
    pub fn bad_encoding(detail: String) -> Self {
        let advice = "Percent-encode the UTF-8 bytes of each value: curl does it with --data-urlencode, \
                      JavaScript with encodeURIComponent. A literal % is written %25, a plus sign %2B.";
        Self::new(StatusCode::BAD_REQUEST, "bad-encoding", "Broken encoding", detail, advice)
    }

    /// A parameter that this path does not know.
    #[must_use]
    pub fn unknown_parameter(name: &str, known: &[&str]) -> Self {
        let detail = format!("This path has no parameter \"{}\".", visible(name));
        let advice = format!("Known parameters: {}.", known.join(", "));
        Self::new(StatusCode::BAD_REQUEST, "unknown-parameter", "Unknown parameter", detail, advice).allowing(known)
    }

    /// A parameter that may stand only once.
    #[must_use]
    pub fn repeated_parameter(name: &str) -> Self {
        let detail = format!("The parameter \"{name}\" is given more than once.");
        Self::new(StatusCode::BAD_REQUEST, "repeated-parameter", "Repeated parameter", detail, "Give it once.")
    }

    /// A state that no group can be in.
    #[must_use]
    pub fn unknown_state(asked: &str) -> Self {
        let known = Status::WORST_FIRST.map(Status::slug);
        let detail = format!("There is no state \"{}\".", visible(asked));
        let advice = format!("Known states: {}. Leave the parameter out for groups of every state.", known.join(", "));
        Self::new(StatusCode::BAD_REQUEST, "unknown-state", "Unknown state", detail, advice).allowing(known)
    }

    /// A page size that is not a number in range.
    #[must_use]
    pub fn bad_limit(asked: &str, most: usize) -> Self {
        let detail = format!("The limit \"{}\" is not a whole number from 1 to {most}.", visible(asked));
        Self::new(StatusCode::BAD_REQUEST, "bad-limit", "Bad limit", detail, "Give such a number, or leave it out.")
    }

    /// A JSON body that is none, or is of another shape.
    #[must_use]
    pub fn bad_json(detail: String) -> Self {
        let advice = r#"Send {"groups": ["first id", "second id"]}."#;
        Self::new(StatusCode::BAD_REQUEST, "bad-json", "Bad JSON", detail, advice)
    }

    /// A body that is neither a form nor JSON.
    #[must_use]
    pub fn unsupported_body(content_type: &str) -> Self {
        let known = ["application/json", "application/x-www-form-urlencoded"];
        let detail = format!("A body of type \"{}\" cannot be read here.", visible(content_type));
        let advice = format!("Send {} with the header Content-Type saying so.", known.join(" or "));
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-body", "Unsupported body", detail, advice)
            .allowing(known)
    }

    /// A body above the limit.
    #[must_use]
    pub fn body_too_large(most: usize) -> Self {
        let detail = format!("The body is larger than {most} bytes.");
        let advice = "Send the ids in several requests.";
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", "Body too large", detail, advice)
    }

    /// A body that ended early.
    #[must_use]
    pub fn broken_body() -> Self {
        let detail = "The body could not be read to its end.".to_owned();
        Self::new(StatusCode::BAD_REQUEST, "broken-body", "Broken body", detail, "Send the request again.")
    }

    /// The client took too long to send its request.
    #[must_use]
    pub fn too_slow() -> Self {
        let detail = "The request was not complete in time.".to_owned();
        Self::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "Request too slow", detail, "Send the request again.")
    }

    /// A body that must be JSON, and says that it is something else.
    #[must_use]
    pub fn not_json(content_type: &str) -> Self {
        let known = ["application/json"];
        let detail = format!("A body of type \"{}\" cannot be read here.", visible(content_type));
        let advice = "Send application/json with the header Content-Type saying so.";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-body", "Unsupported body", detail, advice)
            .allowing(known)
    }

    /// A drill was told something that it does not understand.
    #[must_use]
    pub fn bad_wish(detail: String, known: &[&str]) -> Self {
        let advice = r#"Send one of {"next": true}, {"restart": true}, {"jump": "10m"} and {"apply": {"stop": 1}}, or press a button in the page."#;
        Self::new(StatusCode::BAD_REQUEST, "bad-wish", "Bad wish", detail, advice).allowing(known)
    }

    /// A drill cannot do what it was told.
    #[must_use]
    pub fn drill_refused(why: &str) -> Self {
        let detail = format!("The drill cannot do this: {}.", visible(why));
        let advice = "GET /api/v1/drill says how its cluster stands.";
        Self::new(StatusCode::CONFLICT, "drill-refused", "Refused by the drill", detail, advice)
    }

    /// All steps of a drill have happened.
    #[must_use]
    pub fn no_next_step() -> Self {
        let detail = "Every step of this drill has happened already.".to_owned();
        let advice = "Go on by hand, or start again from the beginning.";
        Self::new(StatusCode::CONFLICT, "no-next-step", "No next step", detail, advice)
    }

    /// A form that wants to lead to another server.
    #[must_use]
    pub fn bad_back(back: &str) -> Self {
        let detail = format!("The field \"back\" is \"{}\", which is no path of this server.", visible(back));
        let advice = "Give a path that begins with one slash, or leave it out.";
        Self::new(StatusCode::BAD_REQUEST, "bad-back", "Bad way back", detail, advice)
    }

    /// A page of another site tries to change something.
    #[must_use]
    pub fn cross_site() -> Self {
        let detail = "This request comes from a page of another site.".to_owned();
        let advice = "Use the pages of this server, or a program that is no browser.";
        Self::new(StatusCode::FORBIDDEN, "cross-site", "Request from another site", detail, advice)
    }

    /// The first look at some clusters is not complete; which ones is not everybody's business.
    #[must_use]
    pub fn not_ready(waiting: &[String]) -> Self {
        let named = if waiting.is_empty() { "some clusters".to_owned() } else { waiting.join(", ") };
        let detail = format!("The first look is not complete for: {named}.");
        let advice = "Ask again in a second. Reports are served already, and say what is not known yet.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", "Not ready", detail, advice)
    }

    /// More streams of events than there may be.
    #[must_use]
    pub fn too_many_streams(most: usize) -> Self {
        let detail = format!("{most} streams of events are open already.");
        let advice = "Pages and API answer as ever. Close pages that nobody looks at.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-streams", "Too many streams", detail, advice)
    }

    /// A defect in Unstuck.
    #[must_use]
    pub fn defect() -> Self {
        let detail = "A defect in Unstuck kept it from answering.".to_owned();
        let advice = "The log says more. The other paths still answer.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "defect", "Defect", detail, advice)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = match status {
            StatusCode::SERVICE_UNAVAILABLE => Some(1),
            _ => self.retry_after_s,
        };
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"unstuck\""));
        }
        response
    }
}
