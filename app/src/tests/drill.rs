//! Pages of a drill.

use http::StatusCode;

use super::fixture::Fixture;
use super::{assert_inert, get, words};
use crate::model::{DrillNode, DrillNodeState, DrillState, DrillStep, DrillWhen};

fn node(id: i32, state: DrillNodeState) -> DrillNode {
    DrillNode { id, is_broker: id < 10, is_controller: id == 2, state, registered: state == DrillNodeState::Running }
}

fn step(name: &str, when: DrillWhen) -> DrillStep {
    DrillStep { name: name.to_owned(), say: format!("It is said of {name}."), when }
}

fn drill() -> DrillState {
    DrillState {
        only_read: false,
        change: 7,
        title: "One of three brokers dies".to_owned(),
        story: "A small shop runs three brokers.".to_owned(),
        source: Some("https://example.org/incident".to_owned()),
        now_ms: 21_400,
        bootstrap: vec!["127.0.0.1:19092".to_owned(), "127.0.0.1:19093".to_owned()],
        steps: vec![
            step("all is well", DrillWhen::Happened(Some(2_000))),
            step("broker 1 dies", DrillWhen::Happened(Some(20_000))),
            step("the election", DrillWhen::Due(30_000)),
            step("the end", DrillWhen::Later),
        ],
        nodes: vec![
            node(1, DrillNodeState::Stopped),
            node(2, DrillNodeState::Running),
            node(3, DrillNodeState::Paused),
            node(4, DrillNodeState::CutOff),
            node(100, DrillNodeState::Running),
        ],
        node_count: 5,
    }
}

fn fixture(drill: DrillState) -> Fixture {
    Fixture { drill: Some(drill), ..Fixture::new(&["prod"]) }
}

#[tokio::test]
async fn every_page_of_a_drill_says_that_it_is_one() {
    let pages = [
        ("/", true),
        ("/c/prod", true),
        ("/c/prod/g?group=my-group", false),
        ("/c/prod/p/0", false),
        ("/c/prod/b/1", false),
        ("/c/nowhere", false),
        ("/no/such/page", false),
    ];
    for (path, panel) in pages {
        let (_, page) = get(fixture(drill()), path).await;
        let said = words(&page);
        assert!(said.contains("Drill, not a real cluster. One of three brokers dies"), "{path}: {said}");
        assert_eq!(page.contains(r#"id="drill""#), panel, "{path}: {page}");
    }
}

#[tokio::test]
async fn without_a_drill_no_page_speaks_of_one() {
    for path in ["/", "/c/prod", "/c/prod/g?group=my-group", "/no/such/page"] {
        let (_, page) = get(Fixture::new(&["prod"]), path).await;
        assert!(!words(&page).to_ascii_lowercase().contains("drill") && !page.contains("/drill"), "{path}: {page}");
    }
}

#[tokio::test]
async fn the_panel_tells_what_happened_what_is_and_what_comes() {
    let (status, page) = get(fixture(drill()), "/c/prod").await;
    assert_eq!(status, StatusCode::OK);
    let said = words(&page);
    for expected in [
        "Drill: One of three brokers dies",
        "The story A small shop runs three brokers. As reported: https://example.org/incident",
        "Now broker 1 dies It is said of broker 1 dies.",
        "Step 2 of 4, 20 s after the beginning",
        "1 step before this all is well , 2 s after the beginning It is said of all is well.",
        "Next: the election , in 9 s. Then 1 more. Next step now",
        "broker 1 is stopped Start broker 1",
        "broker 2 (controller) runs Stop broker 2 Pause broker 2 Cut off broker 2",
        "broker 3 is paused: it hangs Resume broker 3 Stop broker 3",
        "broker 4 is cut off from the others Reconnect broker 4 Stop broker 4",
        "controller 100 runs Stop controller 100",
        "--bootstrap-server 127.0.0.1:19092,127.0.0.1:19093",
        "Start again from the beginning",
    ] {
        assert!(said.contains(expected), "{expected} is not in: {said}");
    }
    assert!(!said.contains("the end") && !said.contains("It is said of the election"), "later is not told: {said}");
    assert!(page.contains(r#"value="/c/prod#drill""#), "it leads back to where it was pressed: {page}");
    assert!(!page.contains("<details open"), "{page}");
}

#[tokio::test]
async fn the_front_page_leads_back_to_itself() {
    let (_, page) = get(fixture(drill()), "/").await;
    assert!(page.contains(r#"value="/#drill""#), "{page}");
}

#[tokio::test]
async fn a_drill_at_its_beginning_and_at_its_end() {
    let mut first = drill();
    first.steps = vec![step("broker 1 dies", DrillWhen::ByHand), step("the end", DrillWhen::Later)];
    let (_, page) = get(fixture(first), "/c/prod").await;
    let said = words(&page);
    assert!(said.contains("It begins Nothing was done to the cluster yet. Step 0 of 2"), "{said}");
    assert!(said.contains("Next: broker 1 dies , when you say so. Then 1 more. Next step"), "{said}");
    assert!(page.contains("<details open"), "the story is open at the beginning: {page}");
    let mut last = drill();
    last.steps.truncate(2);
    let (_, page) = get(fixture(last), "/c/prod").await;
    assert!(words(&page).contains("That was the last step."), "{}", words(&page));
    assert!(!page.contains(r#"value="next""#), "{page}");
}

#[tokio::test]
async fn a_scenario_cannot_break_the_page() {
    let hostile = "</title></script></textarea>\"'><script>alert(1)</script><!--&amp;\u{2028}";
    let mut drill = drill();
    drill.title = hostile.to_owned();
    drill.story = hostile.to_owned();
    drill.source = Some(format!("javascript:alert(1)//{hostile}"));
    drill.bootstrap = vec![hostile.to_owned()];
    for step in &mut drill.steps {
        step.name = hostile.to_owned();
        step.say = hostile.to_owned();
    }
    for path in ["/", "/c/prod", "/c/prod/p/0", "/no/such/page"] {
        let (_, page) = get(fixture(drill.clone()), path).await;
        assert_inert(&page);
        assert!(!page.contains("href=\"javascript:"), "{page}");
        assert!(!page.contains("<script>alert(1)"), "{page}");
    }
}
