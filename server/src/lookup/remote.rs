//! Asking a running `unstuck serve`.

use reqwest::{Client, ClientBuilder, Response, StatusCode, Url};
use serde_json::{Value, json};
use unstuck_diagnosis::lookup::Lookup;
use unstuck_diagnosis::plan::{Plan, Refusal, Wish};
use unstuck_diagnosis::transactional::TransactionalLookup;
use unstuck_diagnosis::{GroupId, visible};

use super::{Answer, Wanted};
use crate::api::{ClusterList, LOOKUP_CAP, PlanAnswer};
use crate::cli::Failure;
use crate::problem::Problem;
use crate::text;

/// It was not possible to look: the same code as the verdict `unknown`.
const EXIT_COULD_NOT_LOOK: u8 = 3;

struct Server<'a> {
    /// As typed, for messages.
    named: &'a str,
    base: Url,
    client: Client,
}

/// Asks `server` about the ids; `client` knows how long each request may take, and the login.
pub(super) async fn ask(
    server: &str,
    cluster: Option<&str>,
    wanted: &Wanted,
    client: ClientBuilder,
    colours: bool,
) -> Result<Answer, Failure> {
    let client = client.build().map_err(|error| could_not_look(server, &words(&error)))?;
    let server = Server { named: server, base: base_url("--server", server, "unstuck serve")?, client };
    let cluster = server.cluster(cluster).await?;
    let groups = match wanted {
        Wanted::Transactional(ids) => return server.transactional(&cluster, ids, colours).await,
        Wanted::Groups(groups) => groups,
    };
    let mut answers = Vec::new();
    for some in groups.chunks(LOOKUP_CAP) {
        answers.push(server.lookup(&cluster, some).await?);
    }
    server.join(answers, colours)
}

/// Asks `server` for a plan, or why it refuses one.
pub(crate) async fn plan(
    server: &str,
    cluster: Option<&str>,
    wish: Wish,
    client: ClientBuilder,
) -> Result<Result<Plan, Refusal>, Failure> {
    let client = client.build().map_err(|error| could_not_look(server, &words(&error)))?;
    let server = Server { named: server, base: base_url("--server", server, "unstuck serve")?, client };
    let cluster = server.cluster(cluster).await?;
    let broker = if let Wish::Evacuate(broker) = wish { format!("?broker={broker}") } else { String::new() };
    let url = server.url(&format!("api/v1/clusters/{cluster}/plans/{}{broker}", wish.slug()))?;
    let response = server.client.get(url).send().await;
    let response = response.map_err(|error| could_not_look(server.named, &words(&error)))?;
    let refused = response.status() == StatusCode::CONFLICT;
    if refused {
        let problem: Problem = response.json().await.map_err(|_| server.not_an_unstuck("another kind of answer"))?;
        return Ok(Err(Refusal { why: problem.detail.into(), advice: problem.advice.into() }));
    }
    let body = server.body(Ok(response)).await?;
    let answer: PlanAnswer =
        serde_json::from_str(&body).map_err(|_| server.not_an_unstuck("another kind of answer"))?;
    Ok(Ok(answer.plan))
}

/// The address that was typed for `option`, as one that paths are joined to; `what` answers there.
pub(crate) fn base_url(option: &str, server: &str, what: &str) -> Result<Url, Failure> {
    let wrong = |why: &str| {
        Failure::usage(format!(
            "{option} {server:?}: {why}\n  It is the address of a running `{what}`.\n  \
             For example: {option} http://127.0.0.1:8080"
        ))
    };
    let mut url = match Url::parse(server) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => url,
        // `host:8080` is read as a scheme; that it was meant as an address is plain enough.
        _ if !server.contains("://") => {
            Url::parse(&format!("http://{server}")).map_err(|error| wrong(&error.to_string()))?
        }
        Ok(_) => return Err(wrong("only http:// and https:// can be asked")),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

impl Server<'_> {
    /// Which cluster to ask about: the one named, or the only one.
    async fn cluster(&self, wanted: Option<&str>) -> Result<String, Failure> {
        let body = self.get("api/v1/clusters").await?;
        let list: ClusterList =
            serde_json::from_str(&body).map_err(|_| self.not_an_unstuck("another kind of answer"))?;
        let mut names: Vec<String> = list.clusters.into_iter().map(|cluster| cluster.cluster).collect();
        let known = names.iter().map(|name| visible(name)).collect::<Vec<_>>().join(", ");
        match wanted {
            Some(wanted) if names.iter().any(|name| name == wanted) => Ok(wanted.to_owned()),
            Some(wanted) => Err(Failure::usage(format!(
                "{} has no cluster named {wanted:?}\n  It looks at: {known}\n  Name one of these with --cluster",
                self.named
            ))),
            None if names.len() == 1 => Ok(names.remove(0)),
            None => Err(Failure::usage(format!(
                "{} looks at several clusters: {known}\n  A lookup is about one.\n  Name it with --cluster",
                self.named
            ))),
        }
    }

    async fn lookup(&self, cluster: &str, groups: &[GroupId]) -> Result<String, Failure> {
        let url = self.url(&format!("api/v1/clusters/{cluster}/lookup"))?;
        let sent = self.client.post(url).json(&json!({ "groups": groups })).send().await;
        self.body(sent).await
    }

    async fn transactional(&self, cluster: &str, ids: &[GroupId], colours: bool) -> Result<Answer, Failure> {
        let mut url = self.url(&format!("api/v1/clusters/{cluster}/transactional-ids"))?;
        url.query_pairs_mut().extend_pairs(ids.iter().map(|id| ("id", id.as_str())));
        let json = self.body(self.client.get(url).send().await).await?;
        let lookup: TransactionalLookup =
            serde_json::from_str(&json).map_err(|_| self.not_an_unstuck("another kind of answer"))?;
        Ok(Answer { text: text::transactional(&lookup, colours), worst: lookup.worst(), json })
    }

    async fn get(&self, path: &str) -> Result<String, Failure> {
        let sent = self.client.get(self.url(path)?).send().await;
        self.body(sent).await
    }

    fn url(&self, path: &str) -> Result<Url, Failure> {
        self.base.join(path).map_err(|error| could_not_look(self.named, &error.to_string()))
    }

    async fn body(&self, sent: reqwest::Result<Response>) -> Result<String, Failure> {
        let response = sent.map_err(|error| could_not_look(self.named, &words(&error)))?;
        let status = response.status();
        let body = response.text().await.map_err(|error| could_not_look(self.named, &words(&error)))?;
        if status == StatusCode::OK {
            return Ok(body);
        }
        match serde_json::from_str::<Problem>(&body) {
            Ok(problem) => Err(Failure {
                code: EXIT_COULD_NOT_LOOK,
                message: format!("{}: {}\n  {}", self.named, visible(&problem.detail), visible(&problem.advice)),
            }),
            Err(_) => Err(self.not_an_unstuck(&format!("status {}", status.as_u16()))),
        }
    }

    fn not_an_unstuck(&self, got: &str) -> Failure {
        Failure {
            code: EXIT_COULD_NOT_LOOK,
            message: format!(
                "{} does not answer as Unstuck does (got {got})\n  Something else may listen there, or stand in front \
                 of it.\n  Check the address; it is the one that opens Unstuck's pages",
                self.named
            ),
        }
    }

    /// One answer as it came; several as one.
    fn join(&self, mut answers: Vec<String>, colours: bool) -> Result<Answer, Failure> {
        let wrong = |_| self.not_an_unstuck("another kind of answer");
        let json = if answers.len() == 1 {
            answers.remove(0)
        } else {
            let mut parsed = answers.iter().map(|answer| serde_json::from_str::<Value>(answer).map_err(wrong));
            let mut first = parsed.next().unwrap_or(Ok(Value::Null))?;
            for next in parsed {
                if let (Some(Value::Array(all)), Value::Object(mut next)) = (first.get_mut("results"), next?)
                    && let Some(Value::Array(more)) = next.remove("results")
                {
                    all.extend(more);
                }
            }
            first.to_string()
        };
        let lookup: Lookup = serde_json::from_str(&json).map_err(wrong)?;
        Ok(Answer { text: text::lookup(&lookup, colours), worst: lookup.worst(), json })
    }
}

fn could_not_look(server: &str, why: &str) -> Failure {
    Failure {
        code: EXIT_COULD_NOT_LOOK,
        message: format!(
            "{server} cannot be asked: {why}\n  So nothing is known about the groups.\n  \
             Check the address, or ask the brokers directly with --bootstrap-servers"
        ),
    }
}

/// The innermost reason of an error: the outer ones only say that a request failed.
pub(crate) fn words(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    visible(&innermost.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_people_type_them() {
        let cases = [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("localhost:8080/", "http://localhost:8080/"),
            ("https://unstuck.example/tools?x#y", "https://unstuck.example/tools/"),
        ];
        for (typed, url) in cases {
            assert_eq!(base_url("--server", typed, "unstuck serve").expect(typed).as_str(), url);
        }
        for typed in ["ftp://example", "http://", ""] {
            assert_eq!(base_url("--server", typed, "unstuck serve").expect_err(typed).code, 64, "{typed}");
        }
    }
}
