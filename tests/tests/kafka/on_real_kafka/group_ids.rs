//! Group ids hold any characters: each is found, shown safely, and breaks nothing.

use anyhow::{Context, Result, ensure};
use reqwest::{Method, StatusCode};
use unstuck_diagnosis::lookup::Lookup;
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::{GroupId, MAX_GROUP_ID_BYTES, visible};
use unstuck_tests::groups::REQUEST_TIMEOUT;
use unstuck_tests::raw::Connection;
use unstuck_tests::server::{UnstuckServer, brief_lookup, unstuck};
use unstuck_tests::wait::wait_for;

use super::shared::{kraft_rf3, percent_encoded, works};

fn odd_ids() -> Vec<GroupId> {
    let mut ids: Vec<GroupId> = [
        "polygenelubricants",
        "\u{1F600}",
        "\u{1F468}\u{200d}\u{1F469}\u{200d}\u{1F467} team",
        "",
        "orders ",
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{202e}gnp.exe",
        "<script>alert(1)</script>",
        "</title></textarea><script>alert(2)</script><!--",
        "\"quoted\" & 'more' \\ %41 + ?group=x#y",
        "line\nbreak\ttab\u{1b}[31mred",
        "../../etc/passwd",
    ]
    .map(GroupId::from)
    .to_vec();
    ids.push(GroupId("l\u{f6}ng-".repeat(MAX_GROUP_ID_BYTES / 6) + "x"));
    ids.push(GroupId("x".repeat(MAX_GROUP_ID_BYTES)));
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn any_characters_are_looked_up_and_shown_safely() -> Result<()> {
    let cluster = kraft_rf3().await?;
    let ids = odd_ids();
    cluster.commit_for(&ids, "orders").await?;
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    let lookup = wait_for("every odd id to be listed", async || {
        let lookup = server.lookup(&ids).await.map_err(|error| format!("{error:#}\n{}", server.log()))?;
        let missing = lookup.results.iter().find(|result| !result.known.listed || !works(result.verdict.status));
        match missing {
            None => Ok(lookup),
            Some(missing) => Err(brief_lookup(std::slice::from_ref(missing))),
        }
    })
    .await;

    let mut connection = Connection::open(&cluster.address(1), REQUEST_TIMEOUT)?;
    for (id, result) in ids.iter().zip(&lookup.results) {
        ensure!(result.group == *id, "{} came back as {}", visible(id.as_str()), result.group);
        let placement = result.placement.as_ref().context("a placement")?;
        ensure!(Some(placement.partition) == partition_for(id, 50) && placement.proven, "{placement:?}");
        let named = connection.find_coordinator(id.as_str())?;
        ensure!(result.coordinator.as_ref().and_then(|one| one.leader) == named.ok(), "{result:#?}");
    }

    for id in &ids {
        pages_show(&server, id).await.with_context(|| format!("the pages of {}", visible(id.as_str())))?;
    }
    let dashboard = server.html("/c/kafka").await?;
    ensure!(!dashboard.contains("<script>alert"), "the dashboard runs a group id");

    in_the_terminal(&cluster.bootstrap(), &server, &ids).await?;
    for line in server.log().lines() {
        let parsed: serde_json::Value = serde_json::from_str(line).with_context(|| format!("a log line: {line}"))?;
        ensure!(parsed.is_object(), "{line}");
    }
    ensure!(server.is_running(), "the server ended:\n{}", server.log());
    Ok(())
}

async fn pages_show(server: &UnstuckServer, id: &GroupId) -> Result<()> {
    // As the box on the page sends it, at any length.
    let form = [("group", id.as_str())];
    let response = server.request(Method::POST, "/c/kafka/find").form(&form).send().await?;
    // The client follows the redirect, as a browser does.
    ensure!(response.status() == StatusCode::OK, "the form: {}", response.status());
    let link = response.url().to_string();
    ensure!(link.len() < 8_000, "a link of {} characters", link.len());
    check_page(id, &response.text().await?)?;
    if !id.needs_digest() {
        check_page(id, &server.html(&format!("/c/kafka/g?group={}", percent_encoded(id))).await?)?;
        let json = server.json(&format!("/api/v1/clusters/kafka/lookup?group={}", percent_encoded(id))).await?;
        ensure!(json["results"][0]["group"] == id.as_str(), "{}", json["results"][0]["group"]);
    }
    Ok(())
}

fn check_page(id: &GroupId, page: &str) -> Result<()> {
    ensure!(!page.contains("<script>alert"), "the page runs the id");
    let shown = visible(id.as_str());
    let start: String = shown.chars().take_while(|c| !"<>&\"'".contains(*c)).collect();
    ensure!(page.contains(&start), "the page does not show {start:?}");
    ensure!(!page.contains('\u{1b}') && !page.contains('\u{202e}'), "the page holds what cannot be seen");
    Ok(())
}

async fn in_the_terminal(bootstrap: &str, server: &UnstuckServer, ids: &[GroupId]) -> Result<()> {
    let by_argument: Vec<&str> = ids.iter().map(GroupId::as_str).collect();
    for mut args in [vec!["lookup", "--server", &server.url()], vec!["lookup", "--bootstrap-servers", bootstrap]] {
        let json_args: Vec<&str> =
            args.iter().copied().chain(["--json", "--"]).chain(by_argument.iter().copied()).collect();
        args.push("--");
        args.extend(&by_argument);
        let run = unstuck(&args, "").await?;
        ensure!(run.code.is_some_and(|code| code < 2), "{:?} {}", run.code, run.stderr);
        let control = run.stdout.chars().find(|c| c.is_control() && *c != '\n');
        ensure!(control.is_none() && !run.stdout.contains('\u{202e}'), "the terminal gets {control:?}");
        let run = unstuck(&json_args, "").await?;
        let lookup: Lookup = serde_json::from_str(&run.stdout).with_context(|| run.stderr.clone())?;
        ensure!(lookup.results.iter().map(|result| &result.group).eq(ids), "the ids in the order asked");
    }
    Ok(())
}
