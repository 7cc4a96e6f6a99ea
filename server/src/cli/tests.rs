use clap::{CommandFactory, error::ErrorKind};

use super::*;

fn parse(arguments: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("unstuck").chain(arguments.iter().copied()))
}

fn run_on(arguments: &[&str]) -> ExitCode {
    run(std::iter::once("unstuck").chain(arguments.iter().copied()).map(OsString::from))
}

#[test]
fn the_definition_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn bad_usage_is_64_and_help_is_0() {
    for bad in [
        &["lookup"][..],
        &["lookup", "--bogus", "x"],
        &["bogus"],
        &[],
        &["place", "--partitions", "0", "x"],
        &["place", "--partitions", "many", "x"],
        &["lookup", "x"],
        &["lookup", "-b", "a:9092", "--transactional-id", "t", "x"],
        &["lookup", "-b", "a:9092", "--transactional-id", ""],
        &["lookup", "--server", "http://a", "--detail", "x"],
        &["explain", "no-such-finding"],
        &["plan"],
        &["plan", "bogus", "-b", "a:9092"],
        &["plan", "raise"],
        &["plan", "evacuate", "-b", "a:9092"],
        &["plan", "raise", "--broker", "1", "-b", "a:9092"],
        &["lookup", "--bootstrap-servers", "no-port", "x"],
        &["lookup", "--timeout", "never", "-b", "a:9092", "x"],
        &["lookup", "--server", "http://a", "-b", "a:9092", "x"],
        &["lookup", "--server", "ftp://a", "x"],
        &["snapshot"],
        &["snapshot", "-b", "a:9092", "--for", "3"],
        &["snapshot", "-b", "a:9092", "--every", "0"],
        &["diagnose", "/nowhere/seen.json.gz"],
        &["diagnose", "broker-lost", "--as-said"],
        &["incident"],
        &["incident", "export", "x", "--format", "pdf"],
        &["incident", "import", "/nowhere/incident.json"],
        &["drill", "--from-incident", "/nowhere/incident.json"],
        &["drill", "--out", "x.toml"],
        &["drill", "broker-lost", "--store", "x"],
        &["serve", "--replay", "/nowhere/seen.json.gz"],
        &["serve", "--replay", "x", "-b", "a:9092"],
        &["serve"],
        &["serve", "-b", "a:9092", "--listen", "nowhere"],
        &["serve", "-b", "a:9092", "--log-level", "a=b=c"],
        &["serve", "-b", "a:9092", "--listen", "0.0.0.0:0", "--store", "none"],
        &["serve", "-b", "a:9092", "--listen", "[::]:0", "--store", "none"],
        &["serve", "-b", "a:9092", "--access", "token", "--store", "none"],
        &["serve", "-b", "a:9092", "--access", "token", "--tokens-file", "/nowhere/tokens", "--store", "none"],
        &["serve", "-b", "a:9092", "--access", "proxy-header", "--store", "none"],
        &["serve", "-b", "a:9092", "--tls-certificate", "/nowhere/tls.pem", "--store", "none"],
        &["drill", "broker-lost", "--listen", "0.0.0.0:0"],
        &["drill", "broker-lost", "--headless", "--listen", "0.0.0.0:0"],
        &["drill", "--check", "broker-lost", "--access", "open"],
        &["token", "new", "--name", "a b", "--role", "viewer"],
        &["token", "new", "--name", "ada", "--role", "root"],
        &["token", "new", "--name", "ada", "--role", "viewer", "--until", "soon"],
    ] {
        assert_eq!(run_on(bad), ExitCode::from(64), "{bad:?}");
    }
    for good in [
        &["--help"][..],
        &["--version"],
        &["lookup", "--help"],
        &["serve", "-h"],
        &["place", "--json", "x"],
        &["explain", "leader-lost"],
    ] {
        assert_eq!(run_on(good), ExitCode::SUCCESS, "{good:?}");
    }
}

#[test]
fn a_server_that_cannot_be_asked_is_unknown() {
    // Nothing listens on port 1 of loopback; and port 9 of a name that cannot exist is not resolved.
    for server in ["http://127.0.0.1:1", "http://nowhere.invalid:9"] {
        assert_eq!(run_on(&["lookup", "--server", server, "x"]), ExitCode::from(3), "{server}");
    }
}

#[test]
fn a_port_in_use_is_said_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has an address").to_string();
    assert_eq!(run_on(&["serve", "-b", "127.0.0.1:1", "--listen", &address]), ExitCode::from(69));
}

#[test]
fn an_id_may_begin_with_a_dash_after_two_dashes() {
    let cli = parse(&["place", "--", "-x"]).expect("good usage");
    assert!(matches!(cli.command, Command::Place(place) if place.groups == ["-x"]));
    let error = parse(&["place", "-x"]).expect_err("not an option");
    assert_eq!(error.kind(), ErrorKind::UnknownArgument);
    assert!(parse(&["lookup", "-b", "a:9092", "-"]).is_ok(), "a dash alone is standard input");
}

#[test]
fn help_explains_itself() {
    let mut command = Cli::command().term_width(100);
    command.build();
    insta::assert_snapshot!("help", command.render_long_help().to_string());
    for name in ["lookup", "serve", "drill", "diagnose", "place", "explain", "plan", "snapshot", "incident"] {
        let command = command.find_subcommand_mut(name).expect("it is a command");
        insta::assert_snapshot!(format!("help_{name}"), command.render_long_help().to_string());
    }
}
