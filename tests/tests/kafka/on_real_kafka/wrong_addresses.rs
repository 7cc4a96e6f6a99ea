//! Addresses that lead nowhere, or elsewhere: each gets a sentence that says what to do, and none is called stuck.

use std::io::{Read, Write};
use std::net::TcpListener;

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::report::{Report, Status};
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::ports::free_port;
use unstuck_tests::server::{UnstuckServer, brief, unstuck};
use unstuck_tests::wait::wait_for;

#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_address_gets_a_sentence_and_none_is_stuck() -> Result<()> {
    let single = Options { brokers: 1, offsets_replication_factor: 1, offsets_partitions: 5, ..Options::default() };
    let cluster = Cluster::kraft(Options { brokers: 2, odd_listeners: true, ..single.clone() }).await?;
    cluster.make_offsets_topic().await?;
    let other = Cluster::kraft(single).await?;
    other.make_offsets_topic().await?;

    let ports = cluster.ports(1);
    let closed = format!("127.0.0.1:{}", free_port()?);
    let http = serve_http()?;
    let cases = [
        ("a closed port", closed.clone(), "refused"),
        ("a port that speaks HTTP", http, "HTTP"),
        ("a TLS port", format!("127.0.0.1:{}", ports.tls), "TLS"),
        ("a SASL listener without credentials", format!("127.0.0.1:{}", ports.sasl), "SASL"),
        ("a host that does not exist", "no-such-host.invalid:9092".to_owned(), "resolve"),
    ];
    for (what, address, word) in &cases {
        let report =
            looked_at(address, &|report| said(report).contains(word)).await.with_context(|| (*what).to_owned())?;
        ensure!(report.bootstrap.iter().any(|way| !way.ok), "{what}: {:#?}", report.bootstrap);
        let run = unstuck(&["lookup", "--bootstrap-servers", address, "--timeout", "8", "my-group"], "").await?;
        ensure!(run.code == Some(3), "{what}: {run:?}");
        ensure!((run.stdout.clone() + &run.stderr).contains(word), "{what}: {run:?}");
    }
    for nonsense in ["127.0.0.1", "127.0.0.1:99999", "http://127.0.0.1:9092", ""] {
        let run = unstuck(&["lookup", "--bootstrap-servers", nonsense, "my-group"], "").await?;
        ensure!(run.code == Some(64) && run.stderr.lines().count() >= 2, "{nonsense:?}: {run:?}");
    }

    an_advertised_address_that_leads_nowhere(&cluster).await?;
    another_cluster_in_the_list(&cluster, &other, &closed).await
}

/// The listener answers, but advertises a closed port.
async fn an_advertised_address_that_leads_nowhere(cluster: &Cluster) -> Result<()> {
    let ports = cluster.ports(1);
    let address = format!("127.0.0.1:{}", ports.nowhere);
    let advertised = format!("127.0.0.1:{}", ports.closed);
    let report = looked_at(&address, &|report| {
        let words = said(report);
        words.contains(&advertised) && words.contains("--broker-address")
    })
    .await
    .context("an advertised address that cannot be reached")?;
    ensure!(report.partitions.iter().all(|partition| partition.status == Status::Unknown), "{}", brief(&report));
    let run = unstuck(&["lookup", "--bootstrap-servers", &address, "my-group"], "").await?;
    ensure!(run.code == Some(3) && run.stdout.contains(&advertised), "{run:?}");

    // What the sentence advises helps.
    let overrides: Vec<String> =
        cluster.broker_ids().iter().map(|id| format!("{id}=127.0.0.1:{}", cluster.ports(*id).nowhere)).collect();
    let mut args = vec!["--bootstrap-servers", address.as_str()];
    for one in &overrides {
        args.extend(["--broker-address", one.as_str()]);
    }
    let server = UnstuckServer::start_with(&args).await?;
    server
        .wait_for_report("overridden addresses to be used", |report| {
            !report.partitions.is_empty() && report.partitions.iter().all(|one| one.status <= Status::AtRisk)
        })
        .await;
    Ok(())
}

async fn another_cluster_in_the_list(cluster: &Cluster, other: &Cluster, closed: &str) -> Result<()> {
    let mixed = format!("{},{},{closed}", cluster.bootstrap(), other.bootstrap());
    let server = UnstuckServer::start(&mixed).await?;
    let report = server
        .wait_for_report("the other cluster to be noticed", |report| said(report).contains("another cluster"))
        .await;
    ensure!(report.headline.status != Status::Stuck, "{}", brief(&report));
    wait_for("the coordinators of one cluster, the one that answered first, to work all the same", async || {
        let report = server.report().await.map_err(|error| format!("{error:#}"))?;
        let of_one =
            report.brokers.len() == cluster.broker_ids().len() || report.brokers.len() == other.broker_ids().len();
        let fine = !report.partitions.is_empty() && report.partitions.iter().all(|one| one.status <= Status::AtRisk);
        if fine && of_one { Ok(()) } else { Err(brief(&report)) }
    })
    .await;
    Ok(())
}

/// The report of a server that looks at this address, once it fulfils the condition. It was never stuck until then.
async fn looked_at(address: &str, condition: &dyn Fn(&Report) -> bool) -> Result<Report> {
    let server = UnstuckServer::start(address).await?;
    let report = wait_for(format!("what is wrong with {address} to be said"), async || {
        let report = server.report().await.map_err(|error| format!("{error:#}\n{}", server.log()))?;
        assert_ne!(report.headline.status, Status::Stuck, "{}", brief(&report));
        if condition(&report) { Ok(report) } else { Err(brief(&report) + &said(&report)) }
    })
    .await;
    let result = server.lookup_one(&"my-group".into()).await?;
    ensure!(result.verdict.status == Status::Unknown, "{:#?}", result.verdict);
    let page = server.html("/c/kafka").await?;
    ensure!(page.contains(address.split(':').next_back().unwrap_or_default()), "the dashboard names the address");
    Ok(report)
}

/// All that the report says in words.
fn said(report: &Report) -> String {
    let mut words = vec![report.headline.sentence.clone(), report.headline.detail.clone()];
    words.extend(report.bootstrap.iter().map(|way| way.sentence.clone()));
    words.extend(report.brokers.iter().map(|broker| broker.sentence.clone()));
    for finding in &report.findings {
        words.push(finding.sentence.clone());
        words.extend(finding.evidence.iter().map(|evidence| evidence.text.clone()));
        for remedy in &finding.remedies {
            words.extend([remedy.title.clone(), remedy.why.clone()]);
            words.extend(remedy.command.clone());
        }
    }
    words.extend(report.could_not_observe.iter().map(|one| format!("{}: {}", one.what, one.why)));
    words.join("\n")
}

/// A port that answers everything as a web server does, until the test process ends.
fn serve_http() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut request = [0; 1_024];
            // A client that hangs up first gets no answer.
            let _read = stream.read(&mut request);
            let _sent = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    Ok(address)
}
