//! What the tests of Unstuck share: real Kafka clusters that die with the test, clients that use them,
//! and the server under test.

pub mod authorizer;
pub mod browser;
pub mod certificates;
pub mod cluster;
pub mod consumers;
pub mod drills;
pub mod eye;
pub mod fidelity;
pub mod groups;
pub mod jars;
pub mod kerberos;
mod kraft;
pub mod observer;
pub mod ports;
pub mod raw;
pub mod remedies;
pub mod secured;
pub mod server;
pub mod shell;
pub mod tether;
pub mod tools;
pub mod wait;
mod zookeeper;
