//! Ways in that cannot be gone: what both eyes say of each, and which setting they tell to look at.

use std::fs;

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::report::Status;
use unstuck_tests::certificates::Authority;
use unstuck_tests::cluster::Cluster;
use unstuck_tests::secured::{EXPIRED_CLIENT, OTHER_HOST, Trap, Way};
use unstuck_tests::server::brief;
use unstuck_tests::wait::wait_for;

use super::{SMALLEST, Scene, WRONG_PASSWORD};

/// What has to be said of a way in.
struct Wrong {
    /// The cluster's name in Unstuck.
    name: &'static str,
    /// What the broker said or did, as the probe puts it behind the address.
    said: &'static str,
    /// The setting to look at.
    look_at: &'static str,
    /// What librdkafka makes of it, and for which settings; nothing where it sees no more than a lost connection.
    client: &'static [&'static str],
}

const WRONG: [Wrong; 8] = [
    Wrong {
        name: "wrong-password",
        said: "refuses the login (",
        look_at: "sasl.username and the password",
        client: &["Authentication failed", "SCRAM-SHA-512"],
    },
    Wrong {
        name: "wrong-mechanism",
        said: "does not offer the login SCRAM-SHA-512, but PLAIN",
        look_at: "sasl.mechanism",
        client: &["SCRAM-SHA-512", "supported mechanisms: PLAIN"],
    },
    Wrong {
        name: "wrong-ca",
        said: "its certificate is not trusted (CN=broker",
        look_at: "tls.ca",
        client: &["certificate verify failed", "tls.ca"],
    },
    Wrong {
        name: "wrong-name",
        said: "its certificate is not for 127.0.0.1, but for kafka-1.example",
        look_at: "tls.verify_host",
        client: &["certificate verify failed", "tls.verify_host"],
    },
    Wrong {
        name: "expired",
        said: "its certificate is not valid now (the one of CN=expired expired on Sep 13 12:26:40 2020 GMT)",
        look_at: "certificate of the broker",
        client: &["certificate verify failed", "not valid now"],
    },
    Wrong {
        name: "expired-client",
        said: "refuses our TLS handshake (alert 4",
        look_at: "tls.certificate",
        client: &["SSL alert number 4"],
    },
    Wrong { name: "tls-on-a-plain-port", said: "speaks plaintext, not TLS", look_at: "`tls`", client: &[] },
    Wrong { name: "plain-on-a-tls-port", said: "speaks TLS, not plaintext Kafka", look_at: "`tls`", client: &[] },
];

/// Their tables in Unstuck's configuration.
pub(super) fn tables(cluster: &Cluster) -> Result<String> {
    assert!(WRONG[3].said.ends_with(OTHER_HOST));
    let write = |name: &str, text: String| -> Result<String> {
        let path = cluster.folder().join(name);
        fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let scram = cluster.client_properties(Way::Scram512, SMALLEST);
    let wrong_password = write("wrong-password", scram.replace(SMALLEST.password, WRONG_PASSWORD))?;
    let mechanism = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n";
    let login: String = scram.lines().filter(|line| line.starts_with("sasl.jaas")).collect();
    let wrong_mechanism = write("wrong-mechanism", format!("{mechanism}{login}\n"))?;
    let another = Authority::new(&cluster.folder().join("another"))?;
    let ca = cluster.authority().display().to_string();
    let wrong_ca = write("wrong-ca", scram.replace(&ca, &another.certificate().display().to_string()))?;
    let mutual = cluster.client_properties(Way::MutualTls, SMALLEST);
    let expired_client = write("expired-client", mutual.replace(SMALLEST.name, EXPIRED_CLIENT))?;
    let (secure, login, plain) =
        (cluster.secured_bootstrap(Way::Scram512), cluster.secured_bootstrap(Way::Plain), cluster.bootstrap());
    let table = |name: &str, bootstrap: &str, more: &str| {
        format!("[clusters.{name}]\nbootstrap_servers = \"{bootstrap}\"\n{more}\n")
    };
    let from = |path: &str| format!("command_config = \"{path}\"");
    let trusting = format!("tls = {{ ca = \"{ca}\" }}");
    Ok([
        table("wrong-password", &secure, &from(&wrong_password)),
        table("wrong-mechanism", &login, &from(&wrong_mechanism)),
        table("wrong-ca", &secure, &from(&wrong_ca)),
        table("wrong-name", &cluster.trap(Trap::OtherHost), &trusting),
        table("expired", &cluster.trap(Trap::Expired), &trusting),
        table("expired-client", &cluster.secured_bootstrap(Way::MutualTls), &from(&expired_client)),
        table("tls-on-a-plain-port", &plain, "tls = true"),
        table("plain-on-a-tls-port", &secure, ""),
    ]
    .concat())
}

/// Each wrong way is unknown; the probe names the address, what was said there and the setting to look at, and the
/// client's own words are there too.
pub(super) async fn are_named(scene: &Scene) {
    for wrong in &WRONG {
        let name = wrong.name;
        wait_for(format!("what keeps {name} out"), async || {
            let report = scene.server.report_of(name).await?;
            ensure!(report.headline.status == Status::Unknown, "{}", brief(&report));
            let told = report.findings.iter().find(|finding| finding.sentence.contains(wrong.said));
            let told = told.with_context(|| format!("nobody says {:?}\n{}", wrong.said, brief(&report)))?;
            ensure!(told.sentence.contains("127.0.0.1:"), "no address: {}", told.sentence);
            let mut words = told.remedies.iter().flat_map(|remedy| [&remedy.title, &remedy.why]);
            ensure!(words.any(|words| words.contains(wrong.look_at)), "{:?} is not named: {told:?}", wrong.look_at);
            let client = report.could_not_observe.iter().find(|one| one.what == "partitions of other topics");
            let client = client.with_context(|| format!("the client says nothing\n{}", brief(&report)))?;
            let log = || scene.server.log().lines().rfind(|line| line.contains(name)).map(str::to_owned);
            ensure!(
                wrong.client.iter().all(|words| client.why.contains(words) && client.why.contains("127.0.0.1:")),
                "the client says {:?}\n{:?}",
                client.why,
                log()
            );
            Ok(())
        })
        .await;
    }
}
