//! `unstuck drill ctl`: steers a drill that runs, through its API.

use std::io::Write;
use std::time::Duration;

use reqwest::{Client, StatusCode, Url};
use serde_json::{Value, json};
use unstuck_diagnosis::visible;
use unstuck_drill::world::Status;

use super::command::{CtlArgs, Nodes, Wish};
use super::text;
use crate::cli::{EXIT_SOFTWARE, EXIT_UNAVAILABLE, Failure};
use crate::config::Environment;
use crate::lookup::{base_url, end_of_output, words};
use crate::problem::Problem;

/// The drill runs and refuses.
const EXIT_REFUSED: u8 = 1;
/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The path of the API.
const PATH: &str = "api/v1/drill";

pub(super) async fn run(arguments: &CtlArgs, environment: &Environment) -> Result<u8, Failure> {
    let url = base_url("--url", &arguments.url, "unstuck drill NAME")?;
    let url = url.join(PATH).map_err(|error| Failure::usage(format!("--url {:?}: {error}", arguments.url)))?;
    let wishes = wishes(&arguments.wish)?;
    let client = arguments.login.log_in(Client::builder().timeout(TIMEOUT), environment)?;
    // A proxy cannot reach this machine's loopback, whatever the environment says about it.
    let client = if on_this_machine(&url) { client.no_proxy() } else { client }.build();
    let client = client.map_err(|error| Failure { code: EXIT_SOFTWARE, message: words(&error) })?;
    let drill = Running { named: &arguments.url, url, client };
    let mut answer = None;
    let mut done = Vec::new();
    for wish in wishes {
        let said = drill.ask(Some(&wish)).await.map_err(|failure| after(&done, failure))?;
        done.push(wish.to_string());
        answer = Some(said);
    }
    let answer = match answer {
        Some(answer) => answer,
        None => drill.ask(None).await?,
    };
    let output = if arguments.json {
        answer + "\n"
    } else {
        let status: Status = serde_json::from_str(&answer).map_err(|_| drill.no_drill("another kind of answer"))?;
        text::told(&status)
    };
    end_of_output(std::io::stdout().lock().write_all(output.as_bytes()))?;
    Ok(0)
}

/// The requests that a wish is, in their order; none for the status alone.
fn wishes(wish: &Wish) -> Result<Vec<Value>, Failure> {
    let each = |word: &str, nodes: &Nodes| nodes.ids.iter().map(|id| json!({ "apply": { word: id } })).collect();
    Ok(match wish {
        Wish::Status => Vec::new(),
        Wish::Next => vec![json!({ "next": true })],
        Wish::Restart => vec![json!({ "restart": true })],
        Wish::Jump { by } => vec![json!({ "jump": by.to_string() })],
        Wish::Stop(nodes) => each("stop", nodes),
        Wish::Start(nodes) => each("start", nodes),
        Wish::Pause(nodes) => each("pause", nodes),
        Wish::Resume(nodes) => each("resume", nodes),
        Wish::CutOff(nodes) => each("cut-off", nodes),
        Wish::Reconnect(nodes) => each("reconnect", nodes),
        Wish::Apply { action } => {
            let read = serde_json::from_str(action).map_err(|error| error.to_string());
            let one = |action: Value| match action.as_object().map(serde_json::Map::len) {
                Some(1) => Ok(action),
                _ => Err("it is not one object with one key".to_owned()),
            };
            let action: Value = read.and_then(one).map_err(|error| {
                Failure::usage(format!(
                    "the action cannot be read: {error}\n  It is one action of a scenario file, written as JSON.\n  \
                     For example: unstuck drill ctl apply '{{\"stop\": 1}}'"
                ))
            })?;
            vec![json!({ "apply": action })]
        }
    })
}

/// A failure that came after something was done already.
fn after(done: &[String], failure: Failure) -> Failure {
    if done.is_empty() {
        return failure;
    }
    Failure { message: format!("{}\n  Done before that: {}", failure.message, done.join(", ")), ..failure }
}

fn on_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

struct Running<'a> {
    /// As typed, for messages.
    named: &'a str,
    url: Url,
    client: Client,
}

impl Running<'_> {
    /// Its status, after it did what it was told, if anything.
    async fn ask(&self, wish: Option<&Value>) -> Result<String, Failure> {
        let request = match wish {
            Some(wish) => self.client.post(self.url.clone()).json(wish),
            None => self.client.get(self.url.clone()),
        };
        let response = request.send().await.map_err(|error| self.no_drill(&words(&error)))?;
        let status = response.status();
        let body = response.text().await.map_err(|error| self.no_drill(&words(&error)))?;
        if status == StatusCode::OK {
            return Ok(body);
        }
        match serde_json::from_str::<Problem>(&body) {
            Ok(_) if status == StatusCode::NOT_FOUND => Err(Failure {
                code: EXIT_UNAVAILABLE,
                message: format!(
                    "{} serves no drill: it is an Unstuck that looks at real clusters\n  Nothing was done.\n  \
                     Begin a drill with `unstuck drill NAME`, and give the address that it prints with --url",
                    self.named
                ),
            }),
            Ok(problem) => {
                let code = if status == StatusCode::CONFLICT { EXIT_REFUSED } else { crate::cli::EXIT_USAGE };
                let advice = if status == StatusCode::CONFLICT {
                    "unstuck drill ctl status says how its cluster stands"
                } else {
                    "unstuck drill ctl --help has examples"
                };
                Err(Failure { code, message: format!("{}\n  Nothing was done.\n  {advice}", visible(&problem.detail)) })
            }
            Err(_) => Err(self.no_drill(&format!("status {}", status.as_u16()))),
        }
    }

    fn no_drill(&self, got: &str) -> Failure {
        Failure {
            code: EXIT_UNAVAILABLE,
            message: format!(
                "no drill answers at {}: {got}\n  Nothing was done.\n  \
                 Begin one with `unstuck drill NAME`, or give the address that it printed with --url",
                self.named
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_before_a_failure_is_told() {
        let failure = || Failure { code: EXIT_REFUSED, message: "there is no node 99".to_owned() };
        assert_eq!(after(&[], failure()), failure());
        let told = after(&["{\"apply\":{\"stop\":1}}".to_owned()], failure());
        assert_eq!(told.message, "there is no node 99\n  Done before that: {\"apply\":{\"stop\":1}}");
    }

    #[test]
    fn a_proxy_is_not_asked_for_this_machine() {
        let this = |url: &str| on_this_machine(&Url::parse(url).expect("a URL"));
        assert!(this("http://127.0.0.1:8080") && this("http://[::1]:1") && this("http://LOCALHOST:8080"));
        assert!(!this("http://drills.example:8080") && !this("http://10.0.0.1"));
    }

    #[test]
    fn each_broker_is_a_request_of_its_own() {
        let wish = Wish::CutOff(Nodes { ids: vec![1, 2] });
        let sent = wishes(&wish).expect("good usage");
        assert_eq!(sent, [json!({ "apply": { "cut-off": 1 } }), json!({ "apply": { "cut-off": 2 } })]);
        let jump = Wish::Jump { by: "1m 30s".parse().expect("a time") };
        assert_eq!(wishes(&jump).expect("good usage"), [json!({ "jump": "1m 30s" })]);
        for action in ["{stop: 1}", "[]", r#"{"stop": 1, "start": 2}"#] {
            let refused = wishes(&Wish::Apply { action: action.to_owned() }).expect_err("not one action");
            assert_eq!(refused.code, 64);
            assert!(refused.message.contains("unstuck drill ctl apply"), "{}", refused.message);
        }
    }
}
