//! Live pages: one stream of small events says that something newer exists; the page then fetches its model again.
//!
//! Everything here starts equal on the server and in the browser ("static", tick 0), and only effects change it,
//! so that hydration finds what was rendered. Sequence numbers are compared with `!=`: after a restart of the
//! server they begin anew.

use std::collections::BTreeMap;
use std::time::Duration;

use codee::string::JsonSerdeCodec;
use leptos::prelude::*;
use leptos_use_event_source::{
    ReconnectLimit, UseEventSourceMessage, UseEventSourceOnEventReturn, UseEventSourceOptions,
    use_event_source_with_options,
};
use serde::{Deserialize, Serialize};
use unstuck_diagnosis::Seq;

use crate::model::{DRILL, Seqs};
use crate::text::{events_href, seconds};

/// From how many seconds without news on the view is called old.
const OLD_AFTER: i64 = 5;
/// How many ticks of the clock lie between two looks at the details of a group.
const DETAILS_EVERY: u32 = 5;

/// What a page needs of one event of `GET /events`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Event {
    seq: Seq,
    cluster: String,
    build: String,
    /// How much happened in the drill, if the cluster is one.
    #[serde(default)]
    drill: Option<u64>,
}

/// What the stream of events is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    /// No script runs (yet).
    Static,
    /// Connecting for the first time.
    Opening,
    /// Connected.
    Open,
    /// Lost; the browser tries again.
    Lost,
}

/// The live state of the app, given to all pages as context.
#[derive(Clone, Copy)]
pub(crate) struct Live {
    /// Changes when the page's model should be fetched again.
    tick: RwSignal<u32>,
    /// Changes when the details of a group should be fetched again.
    details_tick: RwSignal<u32>,
    /// What the page shows.
    rendered: StoredValue<Seqs>,
    /// What the events told last.
    latest: StoredValue<Seqs>,
    /// What was last fetched for: an event asks at most once, or a page newer than its event would fetch for ever.
    asked: StoredValue<Seqs>,
    in_flight: StoredValue<bool>,
    build: StoredValue<Option<String>>,
    /// Which run of the server the last event came from, and whether it is a drill.
    run: StoredValue<Option<(String, bool)>>,
    wire: RwSignal<Wire>,
    /// When the last news came, in seconds of the page's own clock.
    heard: RwSignal<i64>,
    now: RwSignal<i64>,
    visible: RwSignal<bool>,
    /// What to listen to: one cluster, or all.
    scope: RwSignal<Option<Option<String>>>,
}

/// The live state; given by the app.
pub(crate) fn use_live() -> Live {
    expect_context::<Live>()
}

/// Seconds since the page was opened, from the browser's monotonic clock.
fn page_clock() -> i64 {
    let millis = window().performance().map_or(0.0, |clock| clock.now());
    #[expect(clippy::cast_possible_truncation, reason = "a page is not open for 2^63 seconds")]
    let whole = (millis / 1_000.0) as i64;
    whole
}

impl Live {
    /// Gives the live state to the app, and starts its clock and its stream in the browser.
    pub(crate) fn provide() -> Self {
        let live = Self {
            tick: RwSignal::new(0),
            details_tick: RwSignal::new(0),
            rendered: StoredValue::new(Seqs::new()),
            latest: StoredValue::new(Seqs::new()),
            asked: StoredValue::new(Seqs::new()),
            in_flight: StoredValue::new(false),
            build: StoredValue::new(None),
            run: StoredValue::new(None),
            wire: RwSignal::new(Wire::Static),
            heard: RwSignal::new(0),
            now: RwSignal::new(0),
            visible: RwSignal::new(true),
            scope: RwSignal::new(None),
        };
        provide_context(live);
        live.listen();
        live.run_clock();
        live
    }

    /// The number that a page's resource depends on.
    pub(crate) fn tick(self) -> u32 {
        self.tick.get()
    }

    /// The number that the details of a group depend on.
    pub(crate) fn details_tick(self) -> u32 {
        self.details_tick.get()
    }

    /// Listens to the events of one cluster, or of all (`None`).
    pub(crate) fn follow(self, scope: Option<String>) {
        if self.scope.with_untracked(|now| now.as_ref() != Some(&scope)) {
            self.latest.set_value(Seqs::new());
            self.asked.set_value(Seqs::new());
            self.scope.set(Some(scope));
        }
    }

    /// A page was left: what it was waiting for no longer counts.
    pub(crate) fn left(self) {
        // The app itself may be gone first.
        let _ = self.in_flight.try_update_value(|in_flight| *in_flight = false);
    }

    /// A model arrived and is shown.
    pub(crate) fn landed(self, seqs: Seqs) {
        self.rendered.set_value(seqs);
        self.in_flight.set_value(false);
        self.consider();
    }

    /// A fetch failed; the next event tries again.
    pub(crate) fn failed(self) {
        self.in_flight.set_value(false);
    }

    /// Fetches again, because something was done that an event will tell of.
    #[cfg(feature = "hydrate")]
    pub(crate) fn look_now(self) {
        if !self.in_flight.get_value() {
            self.in_flight.set_value(true);
            self.tick.update(|tick| *tick = tick.wrapping_add(1));
        }
    }

    /// Fetches again if an event told of something that the page does not show.
    fn consider(self) {
        let news = self.latest.with_value(|latest| {
            self.rendered.with_value(|rendered| {
                self.asked.with_value(|asked| {
                    latest
                        .iter()
                        .any(|(cluster, seq)| rendered.get(cluster) != Some(seq) && asked.get(cluster) != Some(seq))
                })
            })
        });
        if news && !self.in_flight.get_value() {
            self.in_flight.set_value(true);
            self.asked.set_value(self.latest.get_value());
            self.tick.update(|tick| *tick = tick.wrapping_add(1));
        }
    }

    fn heard_of(self, event: Event) {
        self.heard.set(page_clock());
        self.wire.set(Wire::Open);
        match self.build.get_value() {
            None => self.build.set_value(Some(event.build)),
            // The server was replaced by another build: its pages need its own script.
            Some(build) if build != event.build => {
                let _ = window().location().reload();
                return;
            }
            Some(_) => {}
        }
        let run = (event.seq.boot.clone(), event.drill.is_some());
        match self.run.get_value() {
            // Another run may be another drill, or none: what the whole page says of it is told once, by the server.
            Some(before) if before.0 != run.0 && (before.1 || run.1) => {
                let _ = window().location().reload();
                return;
            }
            _ => self.run.set_value(Some(run)),
        }
        self.latest.update_value(|latest: &mut BTreeMap<_, _>| {
            if let Some(n) = event.drill {
                latest.insert(DRILL.to_owned(), Seq { boot: event.seq.boot.clone(), n });
            }
            latest.insert(event.cluster, event.seq);
        });
        self.consider();
    }

    fn listen(self) {
        let url = Signal::derive(move || {
            let scope = self.scope.get();
            // Browsers allow six connections per host: a tab that nobody sees gives its own back.
            match scope {
                Some(scope) if self.visible.get() => events_href(scope.as_deref()),
                _ => String::new(),
            }
        });
        let options = UseEventSourceOptions::<Event>::default()
            .reconnect_limit(ReconnectLimit::Infinite)
            .reconnect_interval(1_000)
            .on_event(move |event: &web_sys::Event| {
                match event.type_().as_str() {
                    "open" => self.wire.set(Wire::Open),
                    "error" => self.wire.set(Wire::Lost),
                    _ => {
                        if let Ok(message) = UseEventSourceMessage::<Event, JsonSerdeCodec>::try_from(event.clone()) {
                            self.heard_of(message.data);
                        }
                    }
                }
                UseEventSourceOnEventReturn::IgnoreProcessingMessage
            });
        let _ = use_event_source_with_options::<Event, JsonSerdeCodec>(url, options);
    }

    fn run_clock(self) {
        Effect::new(move |_| {
            self.heard.set(page_clock());
            self.wire.set(Wire::Opening);
            let is_visible = || document().visibility_state() == web_sys::VisibilityState::Visible;
            self.visible.set(is_visible());
            let tick = move || {
                self.now.set(page_clock());
                if self.visible.get_untracked() && self.now.get_untracked() % i64::from(DETAILS_EVERY) == 0 {
                    self.details_tick.update(|tick| *tick = tick.wrapping_add(1));
                }
            };
            let clock = set_interval_with_handle(tick, Duration::from_secs(1));
            let seen = window_event_listener_untyped("visibilitychange", move |_| {
                let visible = is_visible();
                if visible {
                    self.heard.set(page_clock());
                }
                self.visible.set(visible);
            });
            on_cleanup(move || {
                if let Ok(clock) = clock {
                    clock.clear();
                }
                seen.remove();
            });
        });
    }

    /// Seconds since the last news.
    fn age(self) -> i64 {
        (self.now.get() - self.heard.get()).max(0)
    }

    /// Whether what is shown can no longer be trusted to be now.
    fn is_old(self) -> bool {
        self.visible.get() && !matches!(self.wire.get(), Wire::Static) && self.age() >= OLD_AFTER
    }
}

/// The small mark in the head of the page: live, or how old.
#[component]
pub(crate) fn LiveMark() -> impl IntoView {
    let live = use_live();
    let state = move || match live.wire.get() {
        Wire::Static => "static",
        _ if live.is_old() => "old",
        Wire::Opening => "opening",
        Wire::Open => "live",
        Wire::Lost => "lost",
    };
    let words = move || match (state(), live.age()) {
        ("static", _) => "not live".to_owned(),
        ("opening", _) => "connecting".to_owned(),
        ("live", age) => format!("live · {} ago", seconds(age)),
        ("lost", age) => format!("reconnecting · {} old", seconds(age)),
        (_, age) => format!("{} old", seconds(age)),
    };
    view! {
        <p class="live js-only" data-state=state>
            <span class="live-dot" aria-hidden="true"></span>
            {words}
        </p>
    }
}

/// A button that fetches the whole page again; it leads to the login, if that is what has ended.
#[component]
pub(crate) fn LoadAgain() -> impl IntoView {
    let reload = move |_| {
        // A browser that refuses leaves the page as it is.
        let _ = window().location().reload();
    };
    view! {
        <button type="button" class="small-button" on:click=reload>
            "Load it again"
        </button>
    }
}

/// The loud line above everything when the view is old.
#[component]
pub(crate) fn OldBanner() -> impl IntoView {
    let live = use_live();
    // Changes only when there is something new to say, since it is read out; the age is for the eye.
    let words = Memo::new(move |_| match (live.is_old(), live.wire.get()) {
        (false, _) => "",
        // Which of the two it is, a browser does not tell its scripts.
        (true, Wire::Lost) => {
            "This view is old: the connection to Unstuck is lost, or your login has ended. Trying again."
        }
        (true, _) => "This view is old: Unstuck sends no news.",
    });
    let age = move || if live.is_old() { format!(" ({})", seconds(live.age())) } else { String::new() };
    let again = move || (!words.get().is_empty()).then(|| view! { <LoadAgain/> });
    view! {
        <p class="old-banner" role="alert" hidden=move || words.get().is_empty()>
            <span>{words}</span>
            <span aria-hidden="true">{age}</span>
            {again}
        </p>
    }
}
