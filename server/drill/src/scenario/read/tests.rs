use super::*;

const HEAD: &str = r#"title = "A title"
story = "A story"

[cluster]
mode = "kraft"
release = "4.1.1"
brokers = [1, 2, 3]
"#;

/// All that is said of a scenario that begins as above and goes on from line 8.
#[track_caller]
fn said(rest: &str) -> String {
    read(&format!("{HEAD}{rest}"), "own.toml").expect_err("it is wrong").to_string()
}

#[test]
fn what_is_no_toml_is_told_at_once() {
    assert_eq!(
        said("id = = 3\n[topic.orders]\npartitions = \"\n"),
        "own.toml:8:6: this is no TOML: extra `=`, expected nothing\n\
         own.toml:8:8: this is no TOML: unexpected key or value, expected newline, `#`\n\
         own.toml:10:15: this is no TOML: invalid basic string, expected `\"`"
    );
    assert_eq!(said("brokers = [4]\n"), "own.toml:8:1: this is no TOML: duplicate key");
}

#[test]
fn keys_types_and_words_are_told_with_their_place() {
    for (rest, what) in [
        (
            "sesion-timeout = \"3s\"\n",
            "8:1: cluster.sesion-timeout: there is no key `sesion-timeout` here; did you mean `session-timeout`? Allowed: \
             mode, release, brokers, id, controllers, controller, session-timeout, configs, implementation, elr",
        ),
        ("session-timeout = 3\n", "8:19: cluster.session-timeout: expected a time such as `20s`, found 3"),
        (
            "session-timeout = \"3\"\n",
            "8:19: cluster.session-timeout: `3` is not a time: write a number with ms, s, m, h or d, such as `20s` or \
             `1m 30s`",
        ),
        (
            "controllers = [4, \"a\"]\n",
            "8:19: cluster.controllers[1]: expected a whole number from -2147483648 to 2147483647, found the text \"a\"",
        ),
        (
            "configs.a = 1.5\n",
            "8:13: cluster.configs.a: expected a setting's value: text, a whole number, true or false, found 1.5",
        ),
        ("[topic.\"a.b\"]\nreplicas = [1]\n", "8:1: topic.\"a.b\": `partitions` is missing"),
        (
            "[broker.1]\nstate = \"runing\"\n",
            "9:9: broker.1.state: `runing` is not known here; did you mean `running`? Allowed: running, stopped, \
             paused, cut-off",
        ),
        (
            "[topic.t]\npartitions = 3\n[[topic.t.partition]]\nid = 0\n[[topic.t.partition]]\nid = [1,\n -1]\n",
            "14:2: topic.t.partition[1].id[1]: expected a whole number, 0 or more, found -1",
        ),
        (
            "[[group]]\nid = \"a\"\nmembers = true\n",
            "10:11: group[0].members: expected how many members, or a list of members such as \
             `[{ client-id = \"billing-1\" }]`, found true",
        ),
        (
            "[[group]]\nid = \"a\"\nmembers = [{ client = \"x\" }]\n",
            "10:14: group[0].members[0].client: there is no key `client` here; allowed: client-id, host, instance-id",
        ),
        (
            "[[group]]\nid = \"a\"\noffsets.orders = \"x\"\n",
            "10:18: group[0].offsets.orders: expected one offset for all partitions, or a list with one per partition \
             (-1: none), found the text \"x\"",
        ),
        ("[group]\nid = \"a\"\n", "8:1: group: expected a list (`[1, 2]`, or `[[name]]` for tables), found a table"),
        (
            "[[step]]\nname = \"a\"\nsay = \"b\"\ndo = [{ stop = 1, start = 2 }]\n",
            "11:7: step[0].do[0]: expected a table with exactly one key, such as `{ stop = 1 }`: give each thing that is \
             done a table of its own",
        ),
        (
            "[[step]]\nname = \"a\"\nsay = \"b\"\ndo = [\"stop\"]\n",
            "11:7: step[0].do[0]: this word needs a value: write a table such as `{ stop = 1 }`",
        ),
        (
            "[[step]]\nname = \"a\"\nsay = \"b\"\ndo = [\n  { stop = 1 },\n  { set = { leadr = 1 } },\n]\n",
            "13:13: step[0].do[1].set.leadr: there is no key `leadr` here; did you mean `leader`? Allowed: topic, \
             partitions, leader, isr, replicas, epoch, elr, offline-on, end",
        ),
        (
            "[[step]]\nname = \"a\"\nsay = \"b\"\non = \"elections\"\n",
            "11:6: step[0].on: `elections` is not known here; did you mean `election`? Allowed: election, reassignment, \
             config-changed, broker-started, broker-stopped, leaders-back",
        ),
    ] {
        assert_eq!(said(rest), format!("own.toml:{what}"));
    }
}

#[test]
fn each_unknown_key_and_word_is_told_at_once() {
    let rest = "modus = 3\n[[group]]\nname = \"a\"\n[[group]]\nid = \"b\"\nmembers = [{ client-id = 3 }, { hots = \"x\" }]\n\
                [topic.t]\npartitions = \"many\"\n[[step]]\nname = \"first\"\nsay = \"b\"\non = \"elections\"\n\
                do = [{ stop = 1 }, { stopp = 2 }, { start = \"x\" }]\n[[step]]\nsay = \"c\"\nafter = 3\n";
    let said = said(rest);
    let places: Vec<&str> = said.lines().filter_map(|line| line.split(": ").nth(1)).collect();
    assert_eq!(
        places,
        [
            "cluster.modus",
            "group[0]",
            "group[0].name",
            "group[1].members[0].client-id",
            "group[1].members[1].hots",
            "topic.t.partitions",
            "step[0].on",
            "step[0].do[1].stopp",
            "step[0].do[2].start",
            "step[1]",
            "step[1].after",
        ],
        "{said}"
    );
}

#[test]
fn all_that_does_not_fit_is_told_by_line() {
    let rest = "[[group]]\nid = \"a\"\nstate = \"Asleep\"\n\n[topic.__consumer_offsets]\npartitions = 3\nreplicas = [1]\n\
                [[topic.__consumer_offsets.partition]]\nid = 2\n# A comment.\nleader = 7\n";
    assert_eq!(
        said(rest),
        "own.toml:10: group[0].state: a group of this type has no state `Asleep` (states: Empty, PreparingRebalance, \
         CompletingRebalance, Stable, Dead)\n\
         own.toml:18: topic.__consumer_offsets.partition[0].leader: 7 is not one of the brokers (1, 2, 3) (if that is \
         what the scenario is about: `means-contradictions = true`)"
    );
}

#[test]
fn positions_count_characters() {
    let text = "title = \"\u{1f525}\" x\n";
    let errors = read(text, "x").expect_err("no TOML");
    assert_eq!((errors.problems[0].line, errors.problems[0].column), (Some(1), Some(13)));
    for text in [
        "",
        "\u{feff}",
        "title",
        "[",
        "\"\"\"",
        "a = {",
        "\r\n[[step]]",
        "[topic.\"\u{1f525}\"]\nx = 1",
        "group = [[[[[",
    ] {
        read(text, "x").expect_err("no scenario");
    }
}

#[test]
fn a_file_that_is_not_there_is_told_by_its_name() {
    let errors = read_file(Path::new("no/such.toml")).expect_err("it is not there").to_string();
    assert!(errors.starts_with("no/such.toml: cannot be read: "), "{errors}");
}

#[test]
fn what_is_missing_is_told_of_the_table_that_lacks_it() {
    let said = |text: &str| read(text, "own.toml").expect_err("it is wrong").to_string();
    let cluster = "[cluster]\nmode = \"kraft\"\nrelease = \"4.1.1\"\nbrokers = [1]\n";
    assert_eq!(said(&format!("title = \"t\"\n{cluster}")), "own.toml:1:1: `story` is missing");
    assert_eq!(said(&format!("story = \"s\"\n{cluster}")), "own.toml:1:1: `title` is missing");
    assert_eq!(said(cluster), "own.toml:1:1: `title` is missing");
    assert_eq!(said("title = \"t\"\nstory = \"s\"\n"), "own.toml:1:1: `cluster` is missing");
    assert_eq!(said(""), "own.toml:1:1: `title` is missing");
    assert_eq!(said(&HEAD.replace("release = \"4.1.1\"\n", "")), "own.toml:4:1: cluster: `release` is missing");
    assert_eq!(
        said("title = \"t\"\nstory = \"s\"\ncluster.mode = \"kraft\"\ncluster.brokers = [1]\n"),
        "own.toml:3:1: cluster: `release` is missing"
    );
    assert_eq!(
        said(&HEAD.replace("4.1.1", "4.2")),
        "own.toml:6:11: cluster.release: `4.2` is not known here; allowed: 1.0.2, 2.3.1, 2.8.2, 3.6.2, \
         3.9.1, 4.1.1"
    );
    // What else is wrong is told too.
    assert_eq!(said(&format!("titel = \"t\"\n{}[topic.orders]\n", cluster.replace("4.1.1", "4"))).lines().count(), 4);
    assert_eq!(
        said(&format!("{HEAD}[[group]]\nid = \"a\"\nmembers = [{{ client-id = 3 }}]\n[[step]]\nname = \"x\"\n")),
        "own.toml:10:26: group[0].members[0].client-id: expected text in quotes, found 3\n\
         own.toml:11:1: step[0]: `say` is missing"
    );
}
