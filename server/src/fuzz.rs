//! What people paste and which files they give us, as somebody's mistakes or malice would write them. Nothing may panic,
//! and whatever is refused says why.

use std::fs;
use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use axum::body::Body;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{Request, StatusCode};
use unstuck_fuzzing::{Edits, edited, kept};

use crate::config::{ClusterOptions, Environment, clusters};
use crate::kept::read_file;
use crate::record::read_frozen;
use crate::testing;

fn folder(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// Those of `good`, and the inputs that broke something once.
fn with_corpus(mut good: Vec<Vec<u8>>, corpus: &str) -> Vec<Vec<u8>> {
    let kept = kept(folder("src/fuzz").join(corpus)).expect("the corpus");
    good.extend(kept.into_iter().map(|(_, bytes)| bytes));
    good
}

const CONFIGURATION: &str = r#"
listen = "0.0.0.0:8080"
[store]
place = "/var/lib/unstuck"
[clusters.production]
bootstrap_servers = ["kafka-1:9092", "[::1]:9092"]
broker_addresses = { "2" = "localhost:19092" }
properties = { "security.protocol" = "SASL_SSL", "socket.timeout.ms" = 3000 }
canary_prefix = "monitoring."
request_timeout_ms = 2_500
[clusters.staging]
bootstrap_servers = "staging:9092"
"#;

fn configured(text: &[u8], file: &Path) {
    fs::write(file, text).expect("a temporary file");
    let options = ClusterOptions { config: Some(file.to_owned()), ..ClusterOptions::default() };
    match clusters(&options, &Environment::default()) {
        Ok(read) => assert!(!read.clusters.is_empty()),
        Err(error) => assert_eq!(error.to_string().lines().count(), 3, "{error}"),
    }
}

#[test]
fn edited_configurations_are_read_or_refused_in_three_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("unstuck.toml");
    let good = with_corpus(vec![CONFIGURATION.as_bytes().to_vec()], "configuration");
    good.iter().for_each(|text| configured(text, &file));
    bolero::check!().with_type::<Edits>().for_each(|edits| configured(&edited(&good, edits), &file));
}

/// What Kafka's own tools are told, with a login module's options within a value, and files that are not there.
const CLIENT_PROPERTIES: [&str; 3] = [
    "security.protocol=SASL_SSL\nsasl.mechanism: SCRAM-SHA-512\nssl.endpoint.identification.algorithm=\n\
     sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n  username=\"unstuck\" \\\n  \
     password=\"pass word/+\\u00e9\";\n# a comment\nclient.id=x\n",
    "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=/nowhere/ca.pem\n\
     ssl.keystore.type=PKCS12\nssl.keystore.location=/nowhere/client.p12\nssl.keystore.password=pass word/+\n",
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n\
     sasl.oauthbearer.token.endpoint.url=https://login.example/token\n\
     sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required \
     clientId='a' clientSecret='pass word/+' scope=\"kafka\";",
];

/// Reads bytes as a client's properties; tells what is said of them, if they are refused.
fn entered(text: &[u8], file: &Path) -> Option<String> {
    fs::write(file, text).expect("a temporary file");
    let options = ClusterOptions {
        bootstrap_servers: Some("localhost:9092".to_owned()),
        command_config: Some(file.to_owned()),
        ..ClusterOptions::default()
    };
    match clusters(&options, &Environment::default()) {
        Ok(_) => None,
        Err(error) => {
            let said = error.to_string();
            assert_eq!(said.lines().count(), 3, "{said}");
            Some(said)
        }
    }
}

#[test]
fn edited_client_properties_are_read_or_refused_in_three_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("client.properties");
    let good = CLIENT_PROPERTIES.map(|text| text.as_bytes().to_vec());
    let good = with_corpus(good.to_vec(), "client_properties");
    good.iter().for_each(|text| drop(entered(text, &file)));
    bolero::check!().with_type::<Edits>().for_each(|edits| drop(entered(&edited(&good, edits), &file)));
}

#[test]
fn client_properties_that_end_early_are_refused_without_their_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("client.properties");
    let mut refused = 0;
    for text in CLIENT_PROPERTIES {
        for end in 0..text.len() {
            let Some(said) = entered(&text.as_bytes()[..end], &file) else { continue };
            // Not the beginning of it either.
            assert!(!said.contains("pass wo"), "{said}");
            refused += 1;
        }
    }
    assert!(refused > 100, "{refused}");
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("written")
}

/// Reads bytes as each kind of file that is kept.
fn opened(bytes: &[u8], file: &Path) {
    drop(read_frozen(bytes));
    fs::write(file, bytes).expect("a temporary file");
    drop(read_file(file));
}

#[test]
fn edited_documents_are_read_or_refused() {
    let folder_of_file = tempfile::tempdir().expect("a folder");
    let file = folder_of_file.path().join("kept");
    let good = kept(folder("src/kept/testdata")).expect("documents").into_iter().map(|(_, bytes)| bytes);
    let mut good = with_corpus(good.collect(), "documents");
    // As they are within their compression, which an edit would only break.
    let unpacked = good.iter().filter_map(|bytes| unpack(bytes)).filter(|bytes| bytes.len() < 1 << 20);
    let unpacked: Vec<Vec<u8>> = unpacked.collect();
    good.extend(unpacked);
    good.iter().for_each(|bytes| opened(bytes, &file));
    bolero::check!().with_type::<(bool, Edits)>().for_each(|(pack, edits)| {
        let bytes = edited(&good, edits);
        opened(&if *pack { packed(&bytes) } else { bytes }, &file);
    });
}

fn unpack(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes), &mut text).ok()?;
    Some(text)
}

fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}

/// Asks for a group, by the API, by the form and by its page.
fn asked_for(id: &[u8]) {
    let id = percent_encoded(id);
    let form = "application/x-www-form-urlencoded";
    let requests = [
        Request::get(format!("/api/v1/clusters/kafka/lookup?group={id}")).body(Body::empty()),
        Request::post("/api/v1/clusters/kafka/lookup")
            .header("content-type", form)
            .body(Body::from(format!("group={id}&group={id}"))),
        Request::get(format!("/api/v1/clusters/kafka/groups?contains={id}")).body(Body::empty()),
        Request::get(format!("/api/v1/clusters/{id}/lookup?group=a")).body(Body::empty()),
        Request::post("/c/kafka/find").header("content-type", form).body(Body::from(format!("group={id}"))),
        Request::get(format!("/c/kafka/g?group={id}")).body(Body::empty()),
        Request::get(format!("/c/kafka/t?id={id}")).body(Body::empty()),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        // An address that no URI can have is refused before anything of ours sees it.
        for request in requests.into_iter().flatten() {
            let what = request.uri().to_string();
            let watched = testing::clusters([testing::healthy("kafka", &["orders", "two\nlines", "\u{202e}sredro"])]);
            let response = testing::answer(testing::router(watched), request).await;
            assert_ne!(response.status(), StatusCode::INTERNAL_SERVER_ERROR, "{what}");
            let html =
                response.headers().get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
            let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
            let text = String::from_utf8_lossy(&body);
            assert!(!html || !text.contains("<script>alert"), "{what}");
        }
    });
}

#[test]
fn any_group_id_is_answered_by_api_and_pages() {
    let ids =
        ["orders", "", "tail ", "\u{1F600}", "<script>alert(1)</script>", "a,b\nc", "../../etc", "%00", "é\u{301}"];
    let good = with_corpus(ids.iter().map(|id| id.as_bytes().to_vec()).collect(), "ids");
    good.iter().for_each(|id| asked_for(id));
    bolero::check!().with_type::<Edits>().for_each(|edits| asked_for(&edited(&good, edits)));
}
