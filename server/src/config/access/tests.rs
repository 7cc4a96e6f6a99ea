use super::*;
use crate::config::file;

fn chosen(
    options: &AccessOptions,
    toml: &str,
    variables: &Environment,
    listen: &str,
) -> Result<AccessConfig, ConfigError> {
    let toml = format!("{toml}\n[clusters.a]\nbootstrap_servers = \"a:9092\"\n");
    let read = file::parse(&toml, "unstuck.toml", variables)?;
    choose(options, &read.access, variables, listen.parse().expect("an address"))
}

fn options(mode: Option<&str>) -> AccessOptions {
    AccessOptions { mode: mode.map(str::to_owned), ..AccessOptions::default() }
}

const HERE: &str = "127.0.0.1:8080";
const EVERYWHERE: &str = "0.0.0.0:8080";

#[test]
fn loopback_needs_no_choice_and_everything_else_does() {
    let none = Environment::default();
    for here in [HERE, "[::1]:8080", "127.0.0.2:1", "[::ffff:127.0.0.1]:8080"] {
        assert_eq!(chosen(&options(None), "", &none, here), Ok(AccessConfig::open()), "{here}");
    }
    for beyond in [EVERYWHERE, "[::]:8080", "10.0.0.7:8080", "[2001:db8::1]:8080"] {
        let error = chosen(&options(None), "", &none, beyond).expect_err(beyond);
        assert!(error.failed.contains("can be reached from other machines"), "{error}");
        assert_eq!(chosen(&options(Some("open")), "", &none, beyond), Ok(AccessConfig::open()), "{beyond}");
    }
}

#[test]
fn the_command_line_wins_over_variables_and_these_over_the_file() {
    let toml = "[access]\nmode = \"token\"\ntokens_file = \"from-file\"";
    let mode = |options: &AccessOptions, variables: &Environment| {
        chosen(options, toml, variables, EVERYWHERE).expect("a good choice").mode
    };
    let none = Environment::default();
    assert_eq!(mode(&options(None), &none), Mode::Token("from-file".into()));
    let variables = Environment::from([("UNSTUCK_TOKENS_FILE", "from-variable")]);
    assert_eq!(mode(&options(None), &variables), Mode::Token("from-variable".into()));
    let typed = AccessOptions { tokens_file: Some("typed".into()), ..AccessOptions::default() };
    assert_eq!(mode(&typed, &variables), Mode::Token("typed".into()));
    assert_eq!(mode(&options(None), &Environment::from([("UNSTUCK_ACCESS", "open")])), Mode::Open);
    assert_eq!(mode(&options(Some("open")), &Environment::from([("UNSTUCK_ACCESS", "token")])), Mode::Open);
}

#[test]
fn a_proxy_is_described_in_the_file() {
    let toml = "[access]\nmode = \"proxy-header\"\ntrusted_proxies = [\"10.0.0.7\", \"2001:db8::/64\"]\n\
                user_header = \"Remote-User\"\ngroups_header = \"Remote-Groups\"\neditor_groups = [\"sre\"]\n\
                public_url = \"https://unstuck.example\"";
    let config = chosen(&options(None), toml, &Environment::default(), EVERYWHERE).expect("a good choice");
    assert!(config.is_secure());
    let Mode::ProxyHeader(proxy) = config.mode else { panic!("{config:?}") };
    assert_eq!(proxy.trusted.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.0.0.7/32", "2001:db8::/64"]);
    assert_eq!((proxy.user.as_str(), proxy.groups.expect("a header").as_str()), ("remote-user", "remote-groups"));
    assert_eq!(proxy.editors, ["sre"]);
}

#[test]
fn refusals_say_what_failed_what_it_means_and_what_to_do() {
    let tokens = AccessOptions { tokens_file: Some("x".into()), ..options(Some("open")) };
    let forgotten = AccessOptions { tokens_file: Some("x".into()), ..options(None) };
    let proxies = |texts: &[&str]| AccessOptions {
        trusted_proxies: texts.iter().map(|&text| text.to_owned()).collect(),
        ..options(Some("proxy-header"))
    };
    let public = |url: &str| AccessOptions { public_url: Some(url.to_owned()), ..options(Some("open")) };
    let half = AccessOptions { tls_key: Some("x".into()), ..options(Some("open")) };
    let cases = [
        (options(None), "", EVERYWHERE),
        (options(Some("tokens")), "", HERE),
        (options(Some("token")), "", HERE),
        (options(Some("proxy-header")), "", HERE),
        (tokens, "", HERE),
        (forgotten, "", HERE),
        (proxies(&["everybody"]), "", HERE),
        (proxies(&["0.0.0.0/0"]), "", HERE),
        (public("unstuck.example"), "", HERE),
        (public("https://user:secret@unstuck.example"), "", HERE),
        (public("https://unstuck.example/tools"), "", HERE),
        (half, "", HERE),
        (options(Some("oidc")), "", HERE),
        (options(Some("oidc")), "[access.oidc]\nissuer = \"https://a\"\nclient_id = \"b\"", HERE),
        (
            options(Some("oidc")),
            "[access]\npublic_url = \"https://a\"\n[access.oidc]\nissuer = \"http://a\"\nclient_id = \"b\"",
            HERE,
        ),
        (
            options(Some("oidc")),
            "[access]\npublic_url = \"https://a\"\n[access.oidc]\nissuer = \"https://a:secret@b\"\nclient_id = \"b\"",
            HERE,
        ),
        (options(None), "[access.oidc]\nclientid = \"b\"", HERE),
        (options(None), "[access]\nmod = \"token\"", HERE),
        (options(None), "[access]\nmode = 1", HERE),
        (
            options(None),
            "[access]\nmode = \"proxy-header\"\ntrusted_proxies = [\"10.0.0.7\"]\nuser_header = \"a b\"",
            HERE,
        ),
    ];
    let said: Vec<String> = cases
        .into_iter()
        .map(|(options, toml, listen)| {
            chosen(&options, toml, &Environment::default(), listen).expect_err("refused").to_string()
        })
        .collect();
    let said = said.join("\n\n");
    assert!(!said.contains("secret"), "{said}");
    insta::assert_snapshot!(said);
}

#[test]
fn a_provider_is_described_in_the_file_and_its_secret_is_not_shown() {
    let toml = "[access]\nmode = \"oidc\"\npublic_url = \"https://unstuck.example\"\n[access.oidc]\n\
                issuer = \"https://login.example\"\nclient_id = \"unstuck\"\neditor_values = [\"sre\"]";
    let variables = Environment::from([("UNSTUCK_OIDC_CLIENT_SECRET", "clients-secret-0123456789")]);
    let config = chosen(&options(None), toml, &variables, EVERYWHERE).expect("a good choice");
    assert!(!format!("{config:?}").contains("clients-secret"), "{config:?}");
    let Mode::Oidc(oidc) = config.mode else { panic!("{config:?}") };
    assert_eq!(oidc.redirect, "https://unstuck.example/login/callback");
    assert_eq!((oidc.name_claim.as_str(), oidc.editor_claim.as_str()), ("preferred_username", "groups"));
    assert!(oidc.client_secret.is_some());
}
