//! Drills over TCP, as people use them.
//!
//! What needs Kafka's jars is below one module, so that `--skip with_kafkas_tools::` leaves it out.

mod with_kafkas_tools {
    mod consumers;
    mod damage;
    mod heal;
    mod read;
}
