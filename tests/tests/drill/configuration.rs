//! The configuration of the program as it runs: checked, and read again at SIGHUP.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::Status;
use unstuck_tests::drills::shipped_without_steps;
use unstuck_tests::server::{UnstuckServer, unstuck};
use unstuck_tests::wait::wait_for;

const SECRET: &str = "hunter2-Tr0ub4dor";

fn write(file: &Path, clusters: &[(&str, &[String], &str)]) -> Result<()> {
    let table = |(name, bootstrap, more): &(&str, &[String], &str)| {
        format!("[clusters.{name}]\nbootstrap_servers = \"{}\"\n{more}\n", bootstrap.join(","))
    };
    // As editors do: the file is never half written.
    let next = file.with_extension("next");
    std::fs::write(&next, clusters.iter().map(table).collect::<String>())?;
    Ok(std::fs::rename(next, file)?)
}

/// The drill has one copy of everything, so it is at risk at best.
fn well(status: Status) -> bool {
    matches!(status, Status::Working | Status::AtRisk)
}

async fn logged(server: &UnstuckServer, text: &str) {
    wait_for(format!("the log to say {text:?}"), async || match server.log() {
        log if log.contains(text) => Ok(()),
        log => Err(log),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_changes_clusters_and_loses_nothing() -> Result<()> {
    let drill = shipped_without_steps("broker-lost")?;
    let bootstrap = drill.bootstrap();
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("unstuck.toml");
    write(&file, &[("one", &bootstrap, "")])?;
    let server = Arc::new(UnstuckServer::start_with(&["--config", &file.display().to_string()]).await?);
    let report =
        server.wait_for_report("groups", |report| well(report.headline.status) && report.groups.total > 0).await;

    // Somebody looks a group up all the time.
    let (ended, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let asking = tokio::spawn({
        let (server, ended, answers) = (Arc::clone(&server), Arc::clone(&ended), Arc::clone(&answers));
        async move {
            while !ended.load(Ordering::Relaxed) {
                let path = "/api/v1/clusters/one/lookup?group=orders";
                let answer = server.json(path).await?;
                let status = &answer["results"][0]["verdict"]["status"];
                ensure!(status == "working" || status == "at_risk", "{answer}");
                let groups = &server.json("/api/v1/clusters/one").await?["groups"]["total"];
                ensure!(groups.as_u64().is_some_and(|n| n > 0), "groups were forgotten: {groups}");
                answers.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    });

    write(&file, &[("one", &bootstrap, "request_timeout_ms = 2000"), ("two", &bootstrap, "")])?;
    server.signal("HUP")?;
    logged(&server, "it is new in the configuration").await;
    logged(&server, "request_timeout_ms").await;
    wait_for("both clusters to be looked at", async || {
        let response = server.get("/readyz").await.map_err(|error| error.to_string())?;
        if response.status().is_success() { Ok(()) } else { Err(response.text().await.unwrap_or_default()) }
    })
    .await;
    ensure!(server.cluster_names().await? == ["one", "two"]);

    // What cannot be used changes nothing, and no secret of it is logged.
    let wrong = format!("[clusters.one.sasl]\nmechanism = \"{SECRET}\"\npassword = \"{SECRET}\"");
    write(&file, &[("one", &bootstrap, &wrong)])?;
    server.signal("HUP")?;
    logged(&server, "the earlier one goes on").await;
    logged(&server, "is not a mechanism that Unstuck can log in with").await;
    ensure!(server.cluster_names().await? == ["one", "two"]);

    write(&file, &[("one", &bootstrap, "request_timeout_ms = 2000")])?;
    server.signal("HUP")?;
    logged(&server, "it is no longer in the configuration").await;
    let page = server.get("/c/two").await?;
    ensure!(page.status().as_u16() == 404, "{}", page.status());
    let page = page.text().await?;
    ensure!(page.contains("is no longer looked at") && page.contains("taken out of the configuration"), "{page}");
    let again = server.report().await?;
    ensure!(again.groups.total >= report.groups.total, "{:?} after {:?}", again.groups, report.groups);

    let so_far = answers.load(Ordering::Relaxed);
    wait_for("some more answers", async || match answers.load(Ordering::Relaxed) {
        n if n > so_far + 3 || asking.is_finished() => Ok(()),
        n => Err(format!("{n} answers")),
    })
    .await;
    ended.store(true, Ordering::Relaxed);
    asking.await??;
    ensure!(!server.log().contains(SECRET), "{}", server.log());
    let one = server.lookup_one(&GroupId::from("orders")).await?;
    ensure!(well(one.verdict.status), "{one:?}");
    drill.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_configuration_is_checked_without_connecting() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let client = folder.path().join("client.properties");
    std::fs::write(
        &client,
        format!(
            "bootstrap.servers=kafka.invalid:9093\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\ngroup.id=orders\n\
             sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n username=\"unstuck\" \
             password=\"{SECRET}\";\n"
        ),
    )?;
    let client = client.to_str().context("a UTF-8 path")?;
    let good = unstuck(&["config", "check", "--command-config", client, "--store", "none"], "").await?;
    ensure!(good.code == Some(0), "{good:?}");
    for said in ["kafka: SASL_SSL, PLAIN", "kafka.invalid:9093", "line 1", "sasl.password", "***", "group.id"] {
        ensure!(good.stdout.contains(said), "{said}: {good:?}");
    }
    let json = unstuck(&["config", "check", "--json", "--command-config", client, "--store", "none"], "").await?;
    let document: serde_json::Value = serde_json::from_str(&json.stdout)?;
    ensure!(document["usable"] == true && document["clusters"]["kafka"]["mechanism"] == "PLAIN", "{document}");

    let secret = format!("sasl.password={SECRET}");
    let typed = ["config", "check", "-b", "a:9093", "-X", "security.protocol=SASL_SSL", "-X", "sasl.mechanism=PLAIN"];
    let typed =
        unstuck(&[&typed[..], &["-X", "sasl.username=a", "-X", &secret, "--store", "none"]].concat(), "").await?;
    ensure!(typed.code == Some(0) && typed.stdout.contains("other users of this machine can read it"), "{typed:?}");

    // A look-up says it too.
    let look = ["lookup", "-b", "127.0.0.1:1", "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=PLAIN"];
    let more = ["-X", "sasl.username=a", "-X", &secret, "--timeout", "0.1", "orders"];
    let looked = unstuck(&[&look[..], &more].concat(), "").await?;
    ensure!(looked.stderr.contains("warning: kafka: sasl.password is given on the command line"), "{looked:?}");

    let bad = unstuck(&["config", "check", "-b", "a:9093", "-X", &format!("sasl.pasword={SECRET}")], "").await?;
    ensure!(bad.code == Some(64) && bad.stderr.contains("Did you mean `sasl.password`?"), "{bad:?}");
    for run in [&good, &json, &typed, &looked, &bad] {
        ensure!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET), "a secret is told: {run:?}");
    }
    Ok(())
}
