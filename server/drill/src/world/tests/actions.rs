//! Actions that set a cluster right again, or make something new.

use super::{action, elect, offsets, one, world};
use crate::scenario::action::{Action, ElectionType};
use crate::world::OFFSETS_TOPIC;

#[test]
fn a_repaired_log_directory_leads_again_and_catches_up() {
    let mut alone = one("kraft", "3.9.1", "[3]");
    alone.does(action("{ fail-log-dir = { broker = 3 } }"));
    assert_eq!(alone.led(), (-1, vec![3]));
    alone.does(action("{ repair-log-dir = { broker = 3 } }"));
    alone.pass(100);
    assert_eq!((alone.led(), alone.serving(3)), ((3, vec![3]), Ok(true)), "what was on the disk is there");

    let mut two = one("zookeeper", "2.8.2", "[3, 2]");
    two.does(action("{ fail-log-dir = { broker = 3, partitions = 0 } }"));
    two.pass(10_000);
    assert_eq!(two.led(), (2, vec![2]));
    two.does(action("{ repair-log-dir = { broker = 3, partitions = 0 } }"));
    two.pass(2001);
    assert_eq!(two.led(), (2, vec![2, 3]));
    two.does(elect(ElectionType::Preferred));
    assert_eq!(two.led().0, 3);
}

#[test]
fn a_topic_is_created() {
    let mut world = world("kraft", "3.9.1", "");
    let create =
        action("{ create-topic = { topic = \"__consumer_offsets\", partitions = 4, replication-factor = 3 } }");
    world.does(create.clone());
    let topic = &world.topics()[OFFSETS_TOPIC];
    assert_eq!((topic.partitions.len(), topic.configs["cleanup.policy"].as_str()), (4, "compact"));
    assert_eq!(world.led(), (1, vec![1, 2, 3]));
    let exists = "the topic __consumer_offsets cannot be created: there is one already";
    assert_eq!(world.apply(&create), Err(exists.to_owned()));
    let four = action("{ create-topic = { topic = \"a\", partitions = 1, replication-factor = 4 } }");
    let brokers = "the topic a cannot be created: there are not enough brokers for 4 replicas";
    assert_eq!(world.apply(&four), Err(brokers.to_owned()));
    world.does(action("{ create-topic = { topic = \"a\", partitions = 1 } }"));
    assert_eq!(world.topics()["a"].partitions[0].replicas.len(), 1);
    world.does(Action::DeleteTopic(OFFSETS_TOPIC.to_owned()));
    world.does(Action::Stop(1));
    world.does(Action::Stop(2));
    assert_eq!(world.apply(&create), Err("there is no controller to create a topic".to_owned()));
}

#[test]
fn a_broker_advertises_another_address_and_its_own_again() {
    let mut world = world("kraft", "3.9.1", &(offsets("[2]") + "[broker.2]\nadvertised = \"kafka-2.internal:9092\"\n"));
    for broker in 1..=3 {
        world.listens_on(broker, "127.0.0.1", 9000);
    }
    let mut told = |text: &str| {
        world.does(action(text));
        let seen = world.node(1).expect("a broker").seen();
        let endpoint = &seen.brokers[&2];
        (endpoint.host.clone(), endpoint.port)
    };
    assert_eq!(told("{ advertise = { broker = 1, address = \"a:1\" } }"), ("kafka-2.internal".to_owned(), 9092));
    assert_eq!(told("{ advertise = { broker = 2, address = \"[::1]:80\" } }"), ("::1".to_owned(), 80));
    assert_eq!(told("{ advertise = { broker = 2 } }"), ("127.0.0.1".to_owned(), 9000));
}
