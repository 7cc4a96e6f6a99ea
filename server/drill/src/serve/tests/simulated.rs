//! The same in memory and in simulated time.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use unstuck_wire::messages::coordinator::FindCoordinatorRequest;
use unstuck_wire::{Connection, WireError};

use super::{DEADLINE, groups, metadata, scenario};
use crate::scenario::action::Action;
use crate::serve::Drill;

async fn greet(drill: &Drill, address: &str) -> Result<Connection, WireError> {
    let dialer = drill.dialer();
    let mut connection = Connection::connect_by(dialer.as_ref(), address, "test", DEADLINE).await?;
    connection.handshake(DEADLINE).await?;
    Ok(connection)
}

#[tokio::test(start_paused = true)]
async fn ten_minutes_pass_in_no_time() {
    let really = std::time::Instant::now();
    let drill =
        Drill::in_memory("test", scenario("[[step]]\nname = \"a\"\nsay = \"b\"\nafter = \"5m\"\ndo = [{ stop = 1 }]"));
    let mut second = greet(&drill, "broker-2.drill:9092").await.expect("broker 2");
    assert_eq!(drill.bootstrap()[1], "broker-2.drill:9092");
    assert_eq!(metadata(&mut second, DEADLINE).await.expect("metadata").brokers.len(), 3);
    let mut changes = drill.changes();
    let begun = Instant::now();
    changes
        .wait_for(|_| drill.status().steps[0].at_ms == Some(300_000) && begun.elapsed() >= Duration::from_secs(300))
        .await
        .expect("it runs");
    assert_eq!(begun.elapsed().as_secs(), 300);
    assert_eq!(greet(&drill, "broker-1.drill:9092").await.err(), Some(WireError::Refused));
    sleep(Duration::from_secs(300)).await;
    let seen = metadata(&mut second, DEADLINE).await.expect("metadata");
    assert_eq!(seen.brokers.len(), 2);
    assert!(seen.topics["__consumer_offsets"].partitions.values().any(|partition| partition.leader.is_none()));
    assert_eq!(drill.status().now_ms, 600_000);
    assert!(really.elapsed() < DEADLINE);
    drill.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn each_run_is_the_same() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let drill = Drill::in_memory("test", scenario(""));
        let mut story = Vec::new();
        let mut connection = greet(&drill, "broker-3.drill:9092").await.expect("broker 3");
        for round in 0..10 {
            let seen = metadata(&mut connection, DEADLINE).await.expect("metadata");
            let listed = groups(&mut connection).await.expect("a list");
            story.push((seen.controller, seen.brokers.len(), listed, drill.status().now_ms));
            if round == 3 {
                drill.act(&Action::Stop(2)).expect("broker 2");
            }
            sleep(Duration::from_millis(1500)).await;
        }
        runs.push(story);
    }
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].iter().any(|(_, brokers, ..)| *brokers == 2));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_at_other_addresses() {
    let drill = Drill::in_memory("test", scenario("[broker.2]\nadvertised = \"kafka-2.internal:9092\""));
    let mut first = greet(&drill, "broker-1.drill:9092").await.expect("broker 1");
    let seen = metadata(&mut first, DEADLINE).await.expect("metadata");
    assert_eq!(seen.brokers[&2].address, "kafka-2.internal:9092");
    assert!(matches!(greet(&drill, "kafka-2.internal:9092").await, Err(WireError::NameNotFound(_))));
    assert_eq!(greet(&drill, "localhost:9092").await.err(), Some(WireError::Refused));
    assert_eq!(greet(&drill, "broker-1.drill:9093").await.err(), Some(WireError::Refused));
    greet(&drill, "broker-2.drill:9092").await.expect("where it really is");
}

#[tokio::test(start_paused = true)]
async fn a_missing_offsets_topic_comes_into_being_by_being_asked_for() {
    let text = "title = \"t\"\nstory = \"s\"\n[cluster]\nmode = \"kraft\"\nrelease = \"4.1.1\"\nbrokers = [1, 2, 3]\n";
    let drill = Drill::in_memory("test", std::sync::Arc::new(crate::scenario::read(text, "test").expect("a scenario")));
    let mut first = greet(&drill, "broker-1.drill:9092").await.expect("broker 1");
    let find = FindCoordinatorRequest { groups: vec!["g".to_owned()] };
    let answer = first.call(&find, DEADLINE).await.expect("an answer").answer;
    assert_eq!(answer.coordinators["g"], Err(15));
    sleep(Duration::from_secs(3)).await;
    let answer = first.call(&find, DEADLINE).await.expect("an answer").answer;
    assert!(answer.coordinators["g"].is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_paused_broker_hangs_and_a_drill_that_ends_refuses() {
    let drill = Drill::in_memory("test", scenario(""));
    drill.act(&Action::Pause(1)).expect("broker 1");
    let dialer = drill.dialer();
    let connected = Connection::connect_by(dialer.as_ref(), "broker-1.drill:9092", "test", DEADLINE).await;
    assert_eq!(connected.expect("accepted").handshake(DEADLINE).await.err(), Some(WireError::Silent));
    drill.shutdown().await;
    let connected = Connection::connect_by(dialer.as_ref(), "broker-1.drill:9092", "test", DEADLINE).await;
    assert_eq!(connected.err(), Some(WireError::Refused));
}

#[tokio::test(start_paused = true)]
async fn each_release_is_known_by_what_it_offers() {
    for (mode, release, line) in [
        ("zookeeper", "1.0.2", "1.0"),
        ("zookeeper", "2.3.1", "2.3"),
        ("zookeeper", "2.8.2", "2.8"),
        ("kraft", "3.6.2", "3.6"),
        ("zookeeper", "3.9.1", "3.9"),
        ("kraft", "4.1.1", "4.1"),
    ] {
        let text = format!(
            "title = \"t\"\nstory = \"s\"\n[cluster]\nmode = \"{mode}\"\nrelease = \"{release}\"\nbrokers = [1]\n"
        );
        let scenario = crate::scenario::read(&text, "test").expect("a scenario");
        let drill = Drill::in_memory("test", std::sync::Arc::new(scenario));
        let connection = greet(&drill, "broker-1.drill:9092").await.expect("broker 1");
        let told = unstuck_wire::release_of(connection.versions()).expect("a release");
        assert_eq!(told.to_string(), line);
    }
}

#[tokio::test(start_paused = true)]
async fn each_shipped_scenario_is_served_from_its_beginning_to_its_end() {
    for name in crate::scenario::shipped::names() {
        let scenario = crate::scenario::shipped::load(&name).expect("a shipped scenario").scenario;
        let drill = Drill::in_memory(&name, std::sync::Arc::new(scenario));
        let mut steps = 0;
        loop {
            let mut answered = 0;
            for address in drill.bootstrap() {
                // Some refuse, hang or answer nonsense: that is what they are for.
                let Ok(mut connection) = greet(&drill, &address).await else { continue };
                answered += usize::from(metadata(&mut connection, DEADLINE).await.is_ok());
                drop(groups(&mut connection).await);
            }
            assert!(answered > 0 || steps > 0, "{name}: nobody answers at the beginning");
            sleep(Duration::from_secs(30)).await;
            if !drill.next() {
                break;
            }
            steps += 1;
        }
        let status = drill.status();
        assert!(status.steps.iter().all(|step| step.state == crate::world::StepState::Happened), "{name}");
        drill.shutdown().await;
        assert!(drill.shared.tasks.is_empty(), "{name}");
    }
}
