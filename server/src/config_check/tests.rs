use std::path::Path;

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::symm::Cipher;
use openssl::x509::{X509, X509Name};

use super::*;
use crate::config::{AccessOptions, ClusterOptions};

const SECRET: &str = "hunter2-Tr0ub4dor";

/// A certificate that signs itself and ends at the second of a day, with its key.
fn certificate(ends: &str) -> (X509, PKey<Private>) {
    let key = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
    let mut name = X509Name::builder().expect("a name");
    name.append_entry_by_text("O", "Example").expect("a name");
    name.append_entry_by_text("CN", "unstuck").expect("a name");
    let name = name.build();
    let mut builder = X509::builder().expect("a certificate");
    // 2 means version 3.
    builder.set_version(2).expect("set");
    builder.set_subject_name(&name).expect("set");
    builder.set_issuer_name(&name).expect("set");
    builder.set_pubkey(&key).expect("set");
    builder.set_not_before(&Asn1Time::from_str("20200101000000Z").expect("a time")).expect("set");
    builder.set_not_after(&Asn1Time::from_str(ends).expect("a time")).expect("set");
    builder.sign(&key, MessageDigest::sha256()).expect("signed");
    (builder.build(), key)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(name), bytes).expect("written");
}

fn checked(folder: &Path, toml: &str) -> Checked {
    let toml = toml.replace("DIR", &folder.display().to_string());
    write(folder, "unstuck.toml", toml.as_bytes());
    let options = ClusterOptions { config: Some(folder.join("unstuck.toml")), ..ClusterOptions::default() };
    let config = config::for_serve(
        &options,
        Some("127.0.0.1:8081"),
        Some("none"),
        &AccessOptions::default(),
        &Environment::default(),
    );
    check(&config.unwrap_or_else(|error| panic!("{error}")))
}

fn told(folder: &Path, checked: &Checked) -> String {
    let text = text::text(checked);
    let json = serde_json::to_string(checked).expect("JSON");
    assert!(!text.contains(SECRET) && !json.contains(SECRET) && !json.contains("PRIVATE KEY"), "{text}{json}");
    let text = text.replace(&folder.display().to_string(), "DIR");
    // Days pass, and the folder's name is as long as it likes.
    let line = |line: &str| {
        let line = line.split_once(" GMT (").map_or(line, |(line, _)| line);
        line.split("  ").filter(|part| !part.is_empty()).map(str::trim).collect::<Vec<_>>().join(" | ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

const SECURED: &str = r#"
[clusters.production]
bootstrap_servers = ["kafka:9093"]
command_config = "DIR/client.properties"
[clusters.production.tls]
ca = "DIR/ca.pem"
certificate = "DIR/client.pem"
key = "DIR/client.key"
key_password_file = "DIR/key-password"
[clusters.production.sasl]
mechanism = "SCRAM-SHA-512"
username = "unstuck"
password_file = "DIR/password"
"#;

#[test]
fn what_counts_is_shown_without_secrets() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (ca, _) = certificate("21200101000000Z");
    let (ended, key) = certificate("20210101000000Z");
    write(folder, "ca.pem", &ca.to_pem().expect("PEM"));
    write(folder, "client.pem", &ended.to_pem().expect("PEM"));
    let encrypted = key.private_key_to_pem_pkcs8_passphrase(Cipher::aes_256_cbc(), SECRET.as_bytes()).expect("PEM");
    write(folder, "client.key", &encrypted);
    write(folder, "key-password", format!("{SECRET}\n").as_bytes());
    write(folder, "password", SECRET.as_bytes());
    write(folder, "client.properties", b"security.protocol=SASL_SSL\ngroup.id=orders\n");
    for file in ["client.key", "key-password", "password"] {
        let mode = if file == "password" { 0o644 } else { 0o600 };
        std::fs::set_permissions(folder.join(file), std::fs::Permissions::from_mode(mode)).expect("set");
    }
    let found = checked(folder, SECURED);
    assert!(found.usable, "{found:?}");
    insta::assert_snapshot!(told(folder, &found));
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (other, key) = certificate("21200101000000Z");
    write(folder, "ca.pem", &key.private_key_to_pem_pkcs8().expect("PEM"));
    write(folder, "client.pem", &other.to_pem().expect("PEM"));
    write(folder, "client.key", &key.private_key_to_pem_pkcs8_passphrase(Cipher::aes_256_cbc(), b"x").expect("PEM"));
    write(folder, "key-password", SECRET.as_bytes());
    write(folder, "client.properties", b"");
    let found = checked(folder, SECURED);
    assert!(!found.usable);
    let wrong = found.clusters["production"].wrong.join("\n").replace(&folder.display().to_string(), "DIR");
    insta::assert_snapshot!(wrong);
}

#[test]
fn pkcs12_is_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (own, key) = certificate("21200101000000Z");
    let store = openssl::pkcs12::Pkcs12::builder().cert(&own).pkey(&key).build2(SECRET).expect("a store");
    write(folder, "client.p12", &store.to_der().expect("DER"));
    let with = |password: &str| {
        let table = "[clusters.a]\nbootstrap_servers = \"a:9093\"\n[clusters.a.tls]\npkcs12 = \"DIR/client.p12\"\n";
        checked(folder, &format!("{table}key_password = \"{password}\""))
    };
    let good = with(SECRET);
    assert!(good.usable, "{good:?}");
    let [only] = good.clusters["a"].certificates.as_slice() else { panic!("one: {good:?}") };
    assert_eq!((only.setting, only.subject.as_str()), ("tls.pkcs12", "O=Example, CN=unstuck"));
    let bad = with("wrong");
    assert!(!bad.usable && bad.clusters["a"].wrong[0].contains("client.p12 cannot be opened"), "{bad:?}");
}

const DOOR: &str = r#"
[clusters.a]
bootstrap_servers = "a:9092"
[access]
public_url = "https://unstuck.example"
tls_certificate = "DIR/unstuck.pem"
tls_key = "DIR/unstuck.key"
mode = "MODE"
tokens_file = "DIR/tokens"
trusted_proxies = ["10.0.0.7", "10.1.0.0/16"]
[access.oidc]
issuer = "https://login.example"
client_id = "unstuck"
client_secret_file = "DIR/client-secret"
"#;

#[test]
fn who_may_come_in_is_shown_and_the_files_for_it_are_read() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut said = String::new();
    for missing in [true, false] {
        if !missing {
            let (own, key) = certificate("21200101000000Z");
            write(folder, "unstuck.pem", &own.to_pem().expect("PEM"));
            write(folder, "unstuck.key", &key.private_key_to_pem_pkcs8().expect("PEM"));
            write(folder, "client-secret", SECRET.as_bytes());
            write(folder, "tokens", format!("ada editor {}\n", "0a".repeat(32)).as_bytes());
        }
        for mode in ["open", "token", "proxy-header", "oidc"] {
            let found = checked(folder, &DOOR.replace("MODE", mode));
            assert_eq!(found.usable, !missing, "{mode}: {found:?}");
            said.push_str(&told(folder, &found));
            said.push_str("\n\n");
        }
    }
    insta::assert_snapshot!(said);
}
