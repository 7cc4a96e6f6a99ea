//! The cluster without any socket, in virtual time: what happens when brokers come and go, and what remedies do.

mod actions;
mod controllers;
mod incidents;
mod remedies;
mod settings;
mod timeline;

use std::sync::Arc;
use std::time::Duration;

use super::{OFFSETS_TOPIC, Partition, World};
use crate::scenario::action::{Action, Elect, ElectionType};
use crate::scenario::read;

/// A world from what a scenario says below its head.
fn world(mode: &str, release: &str, rest: &str) -> World {
    let head = format!(
        "title = \"t\"\nstory = \"s\"\n[cluster]\nmode = \"{mode}\"\nrelease = \"{release}\"\nbrokers = [1, 2, 3]\n"
    );
    let scenario = read(&(head + rest), "test").expect("a scenario");
    World::new("test", Arc::new(scenario))
}

/// One partition of the offsets topic, on these replicas, and a group with a commit in it.
fn one(mode: &str, release: &str, replicas: &str) -> World {
    world(mode, release, &format!("{}{GROUP}", offsets(replicas)))
}

fn offsets(replicas: &str) -> String {
    format!("[topic.__consumer_offsets]\npartitions = 1\nreplicas = {replicas}\n[topic.orders]\npartitions = 1\n")
}

const GROUP: &str = "[[group]]\nid = \"g\"\nmembers = 1\noffsets = { orders = 5 }\n";

impl World {
    /// Lets so many milliseconds pass.
    fn pass(&mut self, milliseconds: u64) {
        self.advance(self.now() + Duration::from_millis(milliseconds));
    }

    /// Does something that can be done.
    fn does(&mut self, action: Action) {
        self.apply(&action).expect("can be done");
    }

    fn truth(&self) -> &Partition {
        &self.topics()[OFFSETS_TOPIC].partitions[0]
    }

    /// Leader and ISR as the controller holds them true.
    fn led(&self) -> (i32, Vec<i32>) {
        (self.truth().leader, self.truth().isr.clone())
    }

    /// The leader that a broker tells.
    fn told(&self, broker: i32) -> Option<i32> {
        self.node(broker).expect("a broker").seen().leader(OFFSETS_TOPIC, 0)
    }

    /// Whether a broker serves the group `g`, or the code.
    fn serving(&self, broker: i32) -> Result<bool, i16> {
        self.group(broker, "g").map(|found| found.is_some())
    }
}

/// An election of every partition of the offsets topic.
fn elect(kind: ElectionType) -> Action {
    Action::Elect(Elect { r#type: kind, ..Elect::default() })
}

/// Everything of a file in TOML.
fn action(text: &str) -> Action {
    #[derive(serde::Deserialize)]
    struct File {
        r#do: Action,
    }
    toml::from_str::<File>(&format!("do = {text}")).expect("an action").r#do
}
