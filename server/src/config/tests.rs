use super::*;

fn options(arguments: &[(&str, &str)]) -> ClusterOptions {
    let mut options = ClusterOptions::default();
    for (name, value) in arguments {
        let value = (*value).to_owned();
        match *name {
            "bootstrap" => options.bootstrap_servers = Some(value),
            "config" => options.config = Some(value.into()),
            "client" => options.command_config = Some(value.into()),
            "name" => options.cluster_name = Some(value),
            "address" => options.broker_addresses.push(value),
            "property" => options.properties.push(value),
            other => panic!("no such option: {other}"),
        }
    }
    options
}

fn read(arguments: &[(&str, &str)], environment: Environment) -> Result<Clusters, ConfigError> {
    clusters(&options(arguments), &environment)
}

fn refused(arguments: &[(&str, &str)]) -> String {
    read(arguments, Environment::default()).expect_err("refused").to_string()
}

fn file_refused(text: &str) -> String {
    file::parse(text, "unstuck.toml", &Environment::default()).expect_err("refused").to_string()
}

#[test]
fn one_cluster_from_options() {
    let read = read(
        &[
            ("bootstrap", "a:9092, b:9093,a:9092,[::1]:9092"),
            ("address", "2=localhost:19092"),
            ("property", "socket.timeout.ms=3000"),
        ],
        Environment::default(),
    )
    .expect("good options");
    let [cluster] = read.clusters.as_slice() else { panic!("one cluster: {read:?}") };
    assert_eq!(cluster.name, "kafka");
    assert_eq!(cluster.bootstrap, ["a:9092", "b:9093", "[::1]:9092"]);
    assert_eq!(cluster.broker_addresses, BTreeMap::from([(2, "localhost:19092".to_owned())]));
    assert_eq!(cluster.properties, BTreeMap::from([("socket.timeout.ms".to_owned(), "3000".to_owned())]));
}

#[test]
fn several_clusters_from_a_file() {
    let text = r#"
        listen = "0.0.0.0:8080"
        [clusters.production]
        bootstrap_servers = ["kafka-1:9092", "kafka-2:9092"]
        broker_addresses = { "2" = "localhost:19092" }
        properties = { "security.protocol" = "SSL", "socket.timeout.ms" = 3000 }
        canary_prefix = "monitoring."
        request_timeout_ms = 2_500
        [clusters.staging]
        bootstrap_servers = "staging:9092"
    "#;
    let read = file::parse(text, "unstuck.toml", &Environment::default()).expect("good file");
    assert_eq!(read.listen.as_ref().map(|(listen, _)| *listen), Some("0.0.0.0:8080".parse().expect("an address")));
    let [production, staging] = read.clusters.as_slice() else { panic!("two clusters: {read:?}") };
    assert_eq!((production.name.as_str(), staging.name.as_str()), ("production", "staging"));
    assert_eq!(production.properties, BTreeMap::from([("socket.timeout.ms".to_owned(), "3000".to_owned())]));
    assert_eq!(production.security.protocol(), "SSL");
    assert_eq!(production.canary_prefix, "monitoring.");
    assert_eq!(production.request_timeout, std::time::Duration::from_millis(2_500));
    assert_eq!(staging.bootstrap, ["staging:9092"]);
}

#[test]
fn refusals_say_where_what_and_what_to_do() {
    insta::assert_snapshot!(file_refused("[clusters.a]\n\nbootstrap_server = [\"a:9092\"]\n"), @r"
    unstuck.toml line 3: unknown key `bootstrap_server` in [clusters.a]
      A misspelt setting would be ignored silently, so it is refused.
      Did you mean `bootstrap_servers`?
    ");
    insta::assert_snapshot!(file_refused("clusters = 3"), @r"
    unstuck.toml line 1: `clusters` cannot be an integer
      The value is of another kind than this setting has.
      For example: clusters = { … }
    ");
    insta::assert_snapshot!(file_refused("[clusters.a]\nbootstrap_servers = [1]"), @r#"
    unstuck.toml line 2: `bootstrap_servers` cannot be an integer
      The value is of another kind than this setting has.
      For example: bootstrap_servers = ["kafka-1:9092", "kafka-2:9092"]
    "#);
    insta::assert_snapshot!(file_refused("[clusters.a]\nbootstrap_servers = [\"a\"]"), @r#"
    unstuck.toml line 2: bootstrap_servers: "a" is not an address of a broker
      The port is missing.
      Kafka's usual one is 9092: a:9092
    "#);
    insta::assert_snapshot!(file_refused("[clusters.a]\nbootstrap_servers = \"a:9092\"\nrequest_timeout_ms = 5"), @r"
    unstuck.toml line 3: request_timeout_ms cannot be used
      It is how long one request to one broker may take, in milliseconds.
      Use a whole number from 50 to 60000; 1000 is the default.
    ");
    insta::assert_snapshot!(file_refused("[clusters.\"a b\"]\nbootstrap_servers = \"a:9092\""), @r#"
    unstuck.toml line 1: the cluster name "a b" cannot be used
      It becomes part of page addresses such as /c/NAME.
      Use 1 to 64 of the characters a-z, A-Z, 0-9, `-`, `_` and `.`; for example: production-eu
    "#);
    insta::assert_snapshot!(file_refused("[clusters.a]\nproperties = { \"group.id\" = \"x\" }"), @r#"
    unstuck.toml line 2: properties: the property "group.id" cannot be set
      Unstuck never joins a group: with a group id, merely looking could create __consumer_offsets.
      Leave it out.
    "#);
    insta::assert_snapshot!(file_refused("[clusters.a]\nbroker_addresses = { two = \"a:9092\" }"), @r#"
    unstuck.toml line 2: broker_addresses: "two" is not a broker id
      Keys are the ids of brokers (broker.id or node.id): whole numbers from 0.
      For example: broker_addresses = { "2" = "localhost:19092" }
    "#);
    insta::assert_snapshot!(file_refused("[clusters.a]\nbootstrap_servers = [\"a:9092\""), @r"
    unstuck.toml line 2: unclosed array, expected `]`
      The file is not valid TOML.
      Strings stand in double quotes; docs/configuration.md has an example.
    ");
    insta::assert_snapshot!(file_refused("[clusters.a]\ncanary_prefix = \"x\""), @r#"
    unstuck.toml line 1: [clusters.a] has no bootstrap_servers
      Unstuck has to know at least one broker to ask.
      Add, for example: bootstrap_servers = ["kafka-1:9092", "kafka-2:9092"]
    "#);
    insta::assert_snapshot!(file_refused("log = 1"), @"
    unstuck.toml line 1: unknown key `log` in the file
      A misspelt setting would be ignored silently, so it is refused.
      Known keys: access, clusters, listen, store.
    ");
    insta::assert_snapshot!(file_refused(""), @r#"
    unstuck.toml describes no cluster
      Unstuck has to know at least one broker to ask.
      Add a table such as:  [clusters.production]  with  bootstrap_servers = ["kafka-1:9092"]
    "#);
}

#[test]
fn bad_options_say_what_to_do() {
    insta::assert_snapshot!(refused(&[]), @r"
    no Kafka cluster is named
      Unstuck has to know at least one broker to ask.
      Add --bootstrap-servers HOST:PORT (what your consumers have as bootstrap.servers), or --config FILE for several clusters. To try it without Kafka: unstuck drill broker-lost
    ");
    insta::assert_snapshot!(refused(&[("bootstrap", " , ")]), @r"
    --bootstrap-servers names no broker
      Unstuck has to know at least one broker to ask.
      Give what your consumers have as bootstrap.servers, for example: localhost:9092
    ");
    insta::assert_snapshot!(refused(&[("bootstrap", "localhost")]), @r#"
    --bootstrap-servers: "localhost" is not an address of a broker
      The port is missing.
      Kafka's usual one is 9092: localhost:9092
    "#);
    insta::assert_snapshot!(refused(&[("bootstrap", "PLAINTEXT://localhost:9092")]), @r#"
    --bootstrap-servers: "PLAINTEXT://localhost:9092" is not an address of a broker
      The prefix PLAINTEXT:// is not part of the address.
      Write it without: localhost:9092
    "#);
    insta::assert_snapshot!(refused(&[("bootstrap", "::1:9092")]), @r#"
    --bootstrap-servers: "::1:9092" is not an address of a broker
      An IPv6 address needs brackets, so that the port can be told apart.
      For example: [::1]:9092
    "#);
    insta::assert_snapshot!(refused(&[("bootstrap", "a:90922")]), @r#"
    --bootstrap-servers: "a:90922" is not an address of a broker
      "90922" is not a port: 1 to 65535.
      For example: a:9092
    "#);
    insta::assert_snapshot!(refused(&[("bootstrap", "a:9092"), ("address", "two=b:1")]), @r#"
    --broker-address "two=b:1" is not of the form ID=HOST:PORT
      It says where a broker is reached from here, if not at the address that it advertises.
      For example: --broker-address 2=localhost:19092
    "#);
    insta::assert_snapshot!(refused(&[("bootstrap", "a:9092"), ("address", "2=b:1"), ("address", "2=c:1")]), @r"
    --broker-address names broker 2 twice
      Unstuck would not know which of the addresses is meant.
      Leave one of them out.
    ");
    insta::assert_snapshot!(refused(&[("bootstrap", "a:9092"), ("property", "acks")]), @r"
    --property has no `=`
      A librdkafka property is given as KEY=VALUE.
      For example: --property security.protocol=SASL_SSL
    ");
    insta::assert_snapshot!(refused(&[("bootstrap", "a:9092"), ("name", "my cluster")]), @r#"
    the cluster name "my cluster" cannot be used
      It becomes part of page addresses such as /c/NAME.
      Use 1 to 64 of the characters a-z, A-Z, 0-9, `-`, `_` and `.`; for example: production-eu
    "#);
    insta::assert_snapshot!(refused(&[("bootstrap", "a:9092"), ("config", "x.toml")]), @r"
    both --bootstrap-servers and --config are given
      The clusters are described either on the command line or in a file.
      Leave one of them out, or add the cluster to the file.
    ");
    insta::assert_snapshot!(refused(&[("config", "/nowhere/unstuck.toml"), ("address", "2=b:1")]), @r"
    --broker-address does not go together with a configuration file
      The file may describe several clusters, so it would not be clear which one is meant.
      Write it into the cluster's table in the file.
    ");
}

#[test]
fn a_missing_file_is_named() {
    let text = refused(&[("config", "/nowhere/unstuck.toml")]);
    assert!(text.starts_with("cannot read the configuration file /nowhere/unstuck.toml: No such file"), "{text}");
}

#[test]
fn a_cluster_of_the_file_can_be_chosen() {
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("unstuck.toml");
    let text =
        "[clusters.production]\nbootstrap_servers = \"a:9092\"\n[clusters.staging]\nbootstrap_servers = \"b:9092\"";
    std::fs::write(&path, text).expect("the file can be written");
    let path = path.to_str().expect("a UTF-8 path");
    let chosen = read(&[("config", path), ("name", "staging")], Environment::default()).expect("it is there");
    assert_eq!(chosen.clusters.len(), 1);
    assert_eq!(chosen.clusters[0].name, "staging");
    let text = refused(&[("config", path), ("name", "stagin")]);
    assert!(text.contains("production, staging") && text.contains("Did you mean `staging`?"), "{text}");
}

#[test]
fn the_command_line_wins_over_variables() {
    let environment = || {
        Environment::from([
            ("UNSTUCK_BOOTSTRAP_SERVERS", "variable:9092"),
            ("UNSTUCK_CLUSTER_NAME", "from-variable"),
            ("UNSTUCK_BROKER_ADDRESSES", "2=x:1, 3=y:2"),
            ("UNSTUCK_LISTEN", "127.0.0.1:9999"),
        ])
    };
    let from_variables =
        for_serve(&options(&[]), None, None, &AccessOptions::default(), &environment()).expect("variables are enough");
    assert_eq!(from_variables.listen.port(), 9_999);
    assert_eq!(from_variables.clusters[0].name, "from-variable");
    assert_eq!(from_variables.clusters[0].bootstrap, ["variable:9092"]);
    assert_eq!(from_variables.clusters[0].broker_addresses.len(), 2);
    let typed = [("bootstrap", "typed:9092"), ("name", "typed"), ("address", "7=z:3")];
    let typed = for_serve(&options(&typed), Some("localhost:8081"), None, &AccessOptions::default(), &environment())
        .expect("good options");
    assert_eq!(typed.listen, "127.0.0.1:8081".parse().expect("an address"));
    assert_eq!(typed.clusters[0].name, "typed");
    assert_eq!(typed.clusters[0].bootstrap, ["typed:9092"]);
    assert_eq!(typed.clusters[0].broker_addresses, BTreeMap::from([(7, "z:3".to_owned())]));
}

#[test]
fn listens_on_loopback_unless_told_otherwise() {
    let environment = Environment::default();
    let config = for_serve(&options(&[("bootstrap", "a:9092")]), None, None, &AccessOptions::default(), &environment)
        .expect("good options");
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    let error =
        for_serve(&options(&[("bootstrap", "a:9092")]), Some("8080"), None, &AccessOptions::default(), &environment)
            .expect_err("refused");
    insta::assert_snapshot!(error, @r#"
    --listen: cannot listen on "8080"
      It has to be the numeric address of a network interface of this machine, and a port.
      For example 127.0.0.1:8080 (this machine only), 0.0.0.0:8080 or [::]:8080 (whoever can reach this machine).
    "#);
}
