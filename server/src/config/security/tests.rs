use std::path::Path;

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::x509::{X509, X509Name};
use secrecy::ExposeSecret;
use unstuck_kafka::security::{Identity, Sasl, ScramHash, Security, Tls, TokenSource};

use super::*;
use crate::config::{Clusters, Environment, file};

/// In no error, warning or Debug may this stand.
const SECRET: &str = "hunter2.kafka-Tr0ub4dor";
const PLAIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";
const SCRAM: &str = "org.apache.kafka.common.security.scram.ScramLoginModule";
const OAUTH: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule";

fn environment() -> Environment {
    Environment::from([("KAFKA_PASSWORD", SECRET), ("AWS_REGION", "eu-central-1")])
}

fn silent(text: &str) -> String {
    assert!(!text.contains(SECRET) && !text.contains("hunter2"), "a secret is told: {text}");
    text.to_owned()
}

/// What is made of the table `[clusters.a]`, with what is told about it.
fn toml(table: &str) -> Result<(Security, Origins), String> {
    let text = format!("[clusters.a]\nbootstrap_servers = \"kafka:9093\"\n{table}");
    let read = file::parse(&text, "unstuck.toml", &environment()).map_err(|error| silent(&error.to_string()))?;
    let Clusters { clusters, mut origins, .. } = read;
    silent(&format!("{clusters:?} {origins:?}"));
    Ok((clusters[0].security.clone(), origins.remove("a").expect("told")))
}

/// What is made of a `client.properties`.
fn java(text: &str) -> Result<(Security, Origins), String> {
    let mut draft = Draft::default();
    let read = java::take(text.as_bytes(), "client.properties", &environment(), &mut draft);
    let read = read.and_then(|_| draft.finish("kafka", &["kafka:9093".to_owned()], &environment()));
    let read = read.map_err(|error| silent(&error.to_string()))?;
    silent(&format!("{read:?}"));
    Ok(read)
}

/// What is made of properties of librdkafka in a file.
fn librdkafka(properties: &[(&str, &str)]) -> Result<(Security, Origins, BTreeMap<String, String>), String> {
    let (mut draft, mut rest) = (Draft::default(), BTreeMap::new());
    for (name, value) in properties {
        librdkafka::take(name, value, "properties", Given::InFile, &mut draft, &mut rest)
            .map_err(|error| silent(&error.to_string()))?;
    }
    let finished = draft.finish("kafka", &["kafka:9093".to_owned()], &environment());
    let (security, origins) = finished.map_err(|error| silent(&error.to_string()))?;
    Ok((security, origins, rest))
}

fn scram(hash: ScramHash) -> Option<Sasl> {
    Some(Sasl::Scram { hash, username: "unstuck".to_owned(), password: Secret::value(SECRET) })
}

#[test]
fn three_ways_of_saying_the_same_are_the_same() {
    let wanted = Security {
        tls: Some(Tls { ca: Some(Material::File("/etc/ca.pem".into())), ..Tls::default() }),
        sasl: scram(ScramHash::Sha512),
    };
    let ours = toml(
        "[clusters.a.tls]\nca = \"/etc/ca.pem\"\n[clusters.a.sasl]\nmechanism = \"SCRAM-SHA-512\"\n\
         username = \"unstuck\"\npassword_env = \"KAFKA_PASSWORD\"",
    );
    assert_eq!(ours.map(|(security, _)| security).as_ref(), Ok(&wanted));
    let javas = java(&format!(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nssl.truststore.type=PEM\n\
         ssl.truststore.location=/etc/ca.pem\nsasl.jaas.config={SCRAM} required \\\n  username=\"unstuck\" \\\n  \
         password=\"{SECRET}\";\n"
    ));
    assert_eq!(javas.map(|(security, _)| security).as_ref(), Ok(&wanted));
    let theirs = librdkafka(&[
        ("security.protocol", "sasl_ssl"),
        ("sasl.mechanisms", "SCRAM-SHA-512"),
        ("sasl.username", "unstuck"),
        ("sasl.password", SECRET),
        ("ssl.ca.location", "/etc/ca.pem"),
        ("socket.timeout.ms", "3000"),
    ])
    .expect("good properties");
    assert_eq!(theirs.0, wanted);
    assert_eq!(theirs.2, BTreeMap::from([("socket.timeout.ms".to_owned(), "3000".to_owned())]));
}

#[test]
fn every_mechanism_can_be_told_by_a_client_properties() {
    let sasl = |text: &str| java(text).unwrap_or_else(|error| panic!("{text}\n{error}")).0.sasl;
    assert_eq!(
        sasl(&format!(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} required username=\"a\" \
             password='{SECRET}';"
        )),
        Some(Sasl::Plain { username: "a".to_owned(), password: Secret::value(SECRET) })
    );
    let wanted = Some(Sasl::OAuthBearer(TokenSource::ClientCredentials {
        endpoint: "https://login.example.com/token".to_owned(),
        client_id: "unstuck".to_owned(),
        client_secret: Secret::value(SECRET),
        scope: Some("kafka".to_owned()),
        ca: None,
    }));
    let endpoint = "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n\
                    sasl.oauthbearer.token.endpoint.url=https://login.example.com/token\n";
    assert_eq!(
        sasl(&format!(
            "{endpoint}sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.secured.\
             OAuthBearerLoginCallbackHandler\nsasl.jaas.config={OAUTH} required clientId=\"unstuck\" \
             clientSecret=\"{SECRET}\" scope=\"kafka\";"
        )),
        wanted
    );
    // Kafka 4.1 has them as settings of their own.
    assert_eq!(
        sasl(&format!(
            "{endpoint}sasl.jaas.config={OAUTH} required;\nsasl.oauthbearer.client.credentials.client.id=unstuck\n\
             sasl.oauthbearer.client.credentials.client.secret={SECRET}\nsasl.oauthbearer.scope=kafka\n"
        )),
        wanted
    );
    assert_eq!(
        sasl(
            "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n\
             sasl.oauthbearer.token.endpoint.url=file:///run/token"
        ),
        Some(Sasl::OAuthBearer(TokenSource::Token(Secret::File("/run/token".into()))))
    );
    assert_eq!(
        sasl(
            "security.protocol=SASL_SSL\nsasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required \
             useKeyTab=true storeKey=true keyTab=\"/etc/u.keytab\" principal=\"unstuck@EXAMPLE.COM\";\n\
             sasl.kerberos.service.name=kafka"
        ),
        Some(Sasl::Gssapi {
            service: "kafka".to_owned(),
            principal: Some("unstuck@EXAMPLE.COM".to_owned()),
            keytab: Some("/etc/u.keytab".into())
        })
    );
    let amazon = "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\n\
                  sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required;\n\
                  sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler";
    assert_eq!(sasl(amazon), Some(Sasl::MskIam { region: "eu-central-1".to_owned() }));
}

#[test]
fn the_region_is_told_by_the_brokers_names() {
    let mut draft = Draft::default();
    draft.set(Field::Login, Value::Flag(true), "x").expect("set");
    draft.set(Field::Mechanism, Value::Mechanism(Mechanism::MskIam), "x").expect("set");
    let bootstrap = ["b-1.orders.abc123.c2.kafka.eu-west-1.amazonaws.com:9098".to_owned()];
    let (security, _) = draft.finish("a", &bootstrap, &environment()).expect("complete");
    assert_eq!(security.sasl, Some(Sasl::MskIam { region: "eu-west-1".to_owned() }));
}

#[test]
fn what_contradicts_itself_is_refused_with_both_places() {
    insta::assert_snapshot!(
        toml("tls = false\nproperties = { \"security.protocol\" = \"SSL\" }").expect_err("refused")
    );
    insta::assert_snapshot!(
        toml(&format!(
            "[clusters.a.sasl]\nmechanism = \"PLAIN\"\nusername = \"a\"\npassword = \"{SECRET}\"\n\
             password_file = \"/run/password\""
        ))
        .expect_err("refused")
    );
    insta::assert_snapshot!(
        librdkafka(&[("sasl.mechanism", "PLAIN"), ("sasl.mechanisms", "GSSAPI")]).expect_err("refused")
    );
}

#[test]
fn what_is_missing_is_said() {
    let refused = [
        librdkafka(&[("sasl.username", "a")]).map(|_| ()),
        librdkafka(&[("ssl.ca.location", "/ca.pem")]).map(|_| ()),
        librdkafka(&[("security.protocol", "SASL_SSL")]).map(|_| ()),
        librdkafka(&[("security.protocol", "SASL_SSL"), ("sasl.mechanism", "PLAIN")]).map(|_| ()),
        librdkafka(&[("security.protocol", "SSL"), ("ssl.certificate.location", "/a.pem")]).map(|_| ()),
        toml("tls = { pkcs12 = \"/a.p12\", certificate = \"/a.pem\" }").map(|_| ()),
        toml("sasl = { mechanism = \"OAUTHBEARER\" }").map(|_| ()),
        toml("sasl = { mechanism = \"OAUTHBEARER\", token_endpoint = \"https://a/b\", client_id = \"c\" }").map(|_| ()),
        toml("sasl = { mechanism = \"SCRAM-SHA-512\", username = \"a\" }").map(|_| ()),
        toml("sasl = { mechanism = \"PLAIN\", username = \"a\", password_env = \"NOT_SET\" }").map(|_| ()),
        toml("tls = { ca = \"/tmp\" }").map(|_| ()),
        toml("sasl = { mechanism = \"GSSAPI\", keytab = \"/etc/a.keytab\" }").map(|_| ()),
    ];
    let told: Vec<String> = refused.into_iter().map(|one| one.expect_err("refused")).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn what_nobody_knows_is_refused_without_repeating_secrets() {
    let refused = [
        java("security.protcol=SSL").map(|_| ()),
        java(&format!("{SCRAM} required username=\"a\" password=\"{SECRET}\";")).map(|_| ()),
        java(&format!("sasl.jaas.config={SCRAM} required\n{SECRET}=b")).map(|_| ()),
        java(&format!("security.protocol={SECRET}")).map(|_| ()),
        java(&format!("sasl.mechanism={SECRET}")).map(|_| ()),
        java(&format!("security.protocol=SASL_SSL\nsasl.jaas.config={SECRET} required;")).map(|_| ()),
        java(&format!("sasl.jaas.config={SCRAM} required username=\"a\" password=\"{SECRET};")).map(|_| ()),
        java(&format!("sasl.jaas.config={SCRAM} required {SECRET}=\"a\";")).map(|_| ()),
        java(&format!("sasl.mechanism=PLAIN\nsasl.jaas.config={SCRAM} required username=\"{SECRET}\";")).map(|_| ()),
        java("sasl.login.callback.handler.class=com.example.Mine").map(|_| ()),
        java("ssl.engine.factory.class=com.example.Mine").map(|_| ()),
        java(&format!("sasl.oauthbearer.token.endpoint.url=https://a:{SECRET}@b/c")).map(|_| ()),
        java("sasl.oauthbearer.token.endpoint.url=http://login.example.com/token").map(|_| ()),
        java("sasl.oauthbearer.assertion.file=/a.jwt").map(|_| ()),
        java("ssl.truststore.type=BKS\nssl.truststore.location=/a").map(|_| ()),
        java("ssl.truststore.location=/etc/kafka/truststore.jks").map(|_| ()),
        java("ssl.keystore.location=/etc/kafka/keystore.jks").map(|_| ()),
        java("ssl.truststore.certificates=-----BEGIN CERTIFICATE-----").map(|_| ()),
        java("sasl.jaas.config=${env:JAAS}").map(|_| ()),
        java("ssl.endpoint.identification.algorithm=no").map(|_| ()),
        librdkafka(&[("sasl.pasword", SECRET)]).map(|_| ()),
        librdkafka(&[(SECRET, "")]).map(|_| ()),
        librdkafka(&[("sasl.mechanism", SECRET)]).map(|_| ()),
        librdkafka(&[("enable.ssl.certificate.verification", "false")]).map(|_| ()),
        librdkafka(&[("enable.ssl.certificate.verification", SECRET)]).map(|_| ()),
        librdkafka(&[("ssl.key.location", &format!("a\n{SECRET}"))]).map(|_| ()),
        librdkafka(&[("sasl.oauthbearer.config", SECRET)]).map(|_| ()),
        toml(&format!("sasl = {{ mechanism = \"{SECRET}\" }}")).map(|_| ()),
        toml(&format!("sasl = {{ pasword = \"{SECRET}\" }}")).map(|_| ()),
        toml(&format!("sasl = {{ mechanism = \"PLAIN\", password_env = \"{SECRET}\" }}")).map(|_| ()),
        toml(&format!("sasl = \"{SECRET}\"")).map(|_| ()),
        toml(&format!("sasl = {{ password = \"{SECRET} }}")).map(|_| ()),
        toml(&format!("tls = {{ verify_host = \"{SECRET}\" }}")).map(|_| ()),
    ];
    let told: Vec<String> = refused.into_iter().map(|one| one.expect_err("refused")).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn what_has_no_effect_is_told() {
    let (security, origins) = java(&format!(
        "security.protocol=SSL\ngroup.id=orders\nrequest.timeout.ms=3\nclient.id=me\nssl.protocol=TLSv1.3\n\
         key.deserializer=x\nssl.truststore.location=/a.pem\nssl.truststore.location=/b.pem\n\
         ssl.truststore.type=PEM\nsasl.mechanism=PLAIN\nsasl.jaas.config={SECRET}\nbasic.auth.user.info=a:{SECRET}\n"
    ))
    .expect("usable");
    assert_eq!(security.sasl, None);
    assert_eq!(security.tls.and_then(|tls| tls.ca), Some(Material::File("/b.pem".into())), "the last one counts");
    let told: Vec<String> =
        origins.ignored.iter().map(|one| format!("{} ({}): {}", one.name, one.place, one.because)).collect();
    insta::assert_snapshot!(told.join("\n"));
    let (_, origins) =
        toml("tls = { key_password = \"x\" }\nsasl = { mechanism = \"GSSAPI\", username = \"a\" }").expect("usable");
    let told: Vec<&str> = origins.ignored.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(told, ["tls.key_password", "sasl.username"]);
    let of_a_shell = [("sasl.mechanism", "GSSAPI"), ("sasl.kerberos.kinit.cmd", "kinit; rm -r /")];
    let (_, origins, rest) =
        librdkafka(&[("security.protocol", "SASL_SSL"), of_a_shell[0], of_a_shell[1]]).expect("usable");
    let told: Vec<&str> = origins.ignored.iter().map(|one| one.name.as_str()).collect();
    assert_eq!((told, rest), (vec!["sasl.kerberos.kinit.cmd"], BTreeMap::new()));
}

#[test]
fn what_others_can_read_is_warned_of() {
    let login = |bootstrap: &str, mechanism| {
        let mut draft = Draft::default();
        for (key, value) in [
            (Field::Login, Value::Flag(true)),
            (Field::Mechanism, Value::Mechanism(mechanism)),
            (Field::Username, Value::Text("a".to_owned())),
            (Field::Password, Value::Secret(Secret::value(SECRET))),
        ] {
            draft.set(key, value, "x").expect("set");
        }
        draft.finish("a", &[bootstrap.to_owned()], &environment()).expect("complete").1.warnings.join("\n")
    };
    insta::assert_snapshot!(login("kafka:9092", Mechanism::Plain));
    insta::assert_snapshot!(login("kafka:9092", Mechanism::Scram256));
    for near in ["localhost:9092", "127.0.0.1:9092", "[::1]:9092"] {
        assert_eq!(login(near, Mechanism::Plain), "");
    }
    let (mut draft, mut rest) = (Draft::default(), BTreeMap::new());
    librdkafka::take("sasl.password", SECRET, "--property", Given::OnCommandLine, &mut draft, &mut rest)
        .expect("taken");
    insta::assert_snapshot!(silent(&draft.origins.warnings.join("\n")));
}

#[test]
fn references_are_followed_as_kafka_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("secrets.properties");
    std::fs::write(&file, format!("# secrets\nkafka.password={SECRET}\n")).expect("written");
    let providers = "config.providers=env,file\n\
                     config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n\
                     config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider\n";
    for reference in ["${env:KAFKA_PASSWORD}".to_owned(), format!("${{file:{}:kafka.password}}", file.display())] {
        let text = format!(
            "{providers}security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config={SCRAM} required \
             username=\"unstuck\" password=\"{reference}\";"
        );
        assert_eq!(java(&text).map(|(security, _)| security.sasl), Ok(scram(ScramHash::Sha256)));
    }
    let error = java(&format!("{providers}sasl.jaas.config=${{env:NOT_SET}}")).expect_err("refused");
    assert!(error.contains("the variable NOT_SET is not set"), "{error}");
}

/// A certificate that signs itself, with its key.
fn certificate() -> (X509, PKey<openssl::pkey::Private>) {
    let key = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
    let mut name = X509Name::builder().expect("a name");
    name.append_entry_by_text("CN", "test").expect("a name");
    let name = name.build();
    let mut builder = X509::builder().expect("a certificate");
    builder.set_subject_name(&name).expect("set");
    builder.set_issuer_name(&name).expect("set");
    builder.set_pubkey(&key).expect("set");
    builder.set_not_before(&Asn1Time::days_from_now(0).expect("a time")).expect("set");
    builder.set_not_after(&Asn1Time::days_from_now(1).expect("a time")).expect("set");
    builder.sign(&key, MessageDigest::sha256()).expect("signed");
    (builder.build(), key)
}

#[test]
fn pkcs12_stores_are_read_whatever_type_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trusted, key) = certificate();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, bytes: &[u8]| std::fs::write(path(name), bytes).expect("written");
    let store = openssl::pkcs12::Pkcs12::builder().cert(&trusted).pkey(&key).build2(SECRET).expect("a store");
    write("store.jks", &store.to_der().expect("DER"));
    write("old.jks", &[0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2]);
    let with = |file: &Path, password: &str| {
        java(&format!(
            "security.protocol=SSL\nssl.truststore.location={0}\nssl.truststore.password={password}\n\
             ssl.keystore.location={0}\nssl.keystore.password={password}\nssl.key.password={password}",
            file.display()
        ))
    };
    let (security, _) = with(&path("store.jks"), SECRET).expect("usable");
    let tls = security.tls.expect("TLS");
    assert_eq!(tls.identity, Some(Identity::Pkcs12 { file: path("store.jks"), password: Some(Secret::value(SECRET)) }));
    let Some(Material::Inline(pem)) = tls.ca else { panic!("the certificates are taken out: {:?}", tls.ca) };
    let read = X509::from_pem(pem.read().expect("there").expose_secret().as_bytes()).expect("PEM");
    assert_eq!(read.to_der().expect("DER"), trusted.to_der().expect("DER"));
    let told = |error: String| error.replace(&folder.path().display().to_string(), "DIR");
    insta::assert_snapshot!(told(with(&path("store.jks"), "wrong").expect_err("refused")));
    insta::assert_snapshot!(told(with(&path("old.jks"), SECRET).expect_err("refused")));
}

/// The examples of `docs/configuration.md` are read, so that they can be copied.
#[test]
fn every_example_of_the_documentation_is_good() {
    let text = include_str!("../../../../docs/configuration.md");
    let (mut mechanisms, mut tables) = (std::collections::BTreeSet::new(), 0);
    let mut note = |security: &Security| {
        mechanisms.extend(security.sasl.as_ref().map(|sasl| format!("{} {}", security.protocol(), sasl.mechanism())));
    };
    let blocks = text.split("\n```").skip(1).step_by(2);
    for block in blocks {
        if let Some(example) = block.strip_prefix("toml\n") {
            // Those about the server alone go with any cluster.
            let of_server = !example.contains("[clusters.");
            let example = &format!(
                "{example}{}",
                if of_server { "\n[clusters.a]\nbootstrap_servers = \"a:9092\"\n" } else { "" }
            );
            let read = file::parse(example, "docs/configuration.md", &environment());
            let read = read.unwrap_or_else(|error| panic!("{error}\n{example}"));
            read.clusters.iter().for_each(|cluster| note(&cluster.security));
            tables += 1;
        } else if let Some(example) = block.strip_prefix("properties\n") {
            note(&java(example).unwrap_or_else(|error| panic!("{error}\n{example}")).0);
            tables += 1;
        }
    }
    assert!(tables >= 10, "{tables} examples");
    let wanted = ["GSSAPI", "OAUTHBEARER", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
    assert_eq!(mechanisms, wanted.map(|mechanism| format!("SASL_SSL {mechanism}")).into());
}
