//! What is pressed in the panel of a drill.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;

/// What can be done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pressed {
    Stop,
    Start,
    Pause,
    Resume,
    CutOff,
    Reconnect,
}

impl Pressed {
    /// As the server reads it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Start => "start",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::CutOff => "cut-off",
            Self::Reconnect => "reconnect",
        }
    }

    /// As people read it, before the name of a node.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Stop => "Stop",
            Self::Start => "Start",
            Self::Pause => "Pause",
            Self::Resume => "Resume",
            Self::CutOff => "Cut off",
            Self::Reconnect => "Reconnect",
        }
    }
}

/// Why the last press had no effect; outlives the panel, which is made anew with each publication.
#[derive(Clone, Copy)]
pub(super) struct Refused(RwSignal<String>);

impl Refused {
    pub(super) fn new() -> Self {
        Self(RwSignal::new(String::new()))
    }

    pub(super) fn text(self) -> String {
        self.0.get()
    }
}

/// Sends what was pressed without leaving the page; for a form about this node, or about the drill as a whole.
#[cfg(feature = "hydrate")]
pub(super) fn on_press(node: Option<i32>) -> impl Fn(SubmitEvent) + 'static {
    let (live, refused) = (crate::live::use_live(), use_context::<Refused>());
    move |event: SubmitEvent| {
        use web_sys::wasm_bindgen::JsCast;
        let button = event.submitter().and_then(|button| button.dyn_into::<web_sys::HtmlButtonElement>().ok());
        let Some(wish) = button.map(|button| button.value()) else {
            // No button is named, so the browser may do what it would without a script.
            return;
        };
        event.prevent_default();
        let body = match node {
            Some(node) => format!(r#"{{"apply":{{"{wish}":{node}}}}}"#),
            None => format!(r#"{{"{wish}":true}}"#),
        };
        leptos::task::spawn_local(async move {
            let answer = send(&body).await;
            if let Some(Refused(text)) = refused {
                let _ = text.try_set(answer.err().unwrap_or_default());
            }
            live.look_now();
        });
    }
}

/// The server only renders the form.
#[cfg(not(feature = "hydrate"))]
pub(super) fn on_press(_node: Option<i32>) -> impl Fn(SubmitEvent) + 'static {
    |_| {}
}

/// The error is a sentence for people.
#[cfg(feature = "hydrate")]
async fn send(body: &str) -> Result<(), String> {
    use wasm_bindgen_futures::JsFuture;
    use web_sys::wasm_bindgen::{JsCast, JsValue};
    let no_answer = |_: JsValue| "Unstuck did not answer, so nothing was done. Try again.".to_owned();
    let headers = web_sys::Headers::new().map_err(no_answer)?;
    headers.set("Content-Type", "application/json").map_err(no_answer)?;
    let request = web_sys::RequestInit::new();
    request.set_method("POST");
    request.set_headers(&headers);
    request.set_body(&JsValue::from_str(body));
    let answer = JsFuture::from(window().fetch_with_str_and_init("/api/v1/drill", &request)).await;
    let answer: web_sys::Response = answer.map_err(no_answer)?.dyn_into().map_err(no_answer)?;
    if answer.ok() {
        return Ok(());
    }
    let detail = async {
        let problem = JsFuture::from(answer.json().ok()?).await.ok()?;
        js_sys::Reflect::get(&problem, &JsValue::from_str("detail")).ok()?.as_string()
    };
    Err(detail.await.unwrap_or_else(|| format!("Unstuck refused it with status {}.", answer.status())))
}
