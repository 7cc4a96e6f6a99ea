//! Drills over TCP, as people use them.
//!
//! What needs Kafka's jars is below one module, and what needs a browser below another, so that
//! `--skip with_kafkas_tools:: --skip in_a_browser::` leaves them out.

mod configuration;

mod in_a_browser {
    mod door;
    mod panel;
}

mod with_kafkas_tools {
    mod consumers;
    mod damage;
    mod heal;
    mod offered;
    mod read;
}
