//! Unstuck against real Kafka brokers. Run with `--test-threads=1`: each test keeps two cores busy.
//!
//! All tests are in one binary and below one module: one link, clusters shared between them, and
//! `--skip on_real_kafka::` leaves them out.

mod remedies_ran;

mod on_real_kafka {
    mod broker_killed;
    mod broker_paused;
    mod browser;
    mod commits;
    mod count_drift;
    mod fidelity;
    mod fresh_cluster;
    mod group_ids;
    mod harness;
    mod healthy;
    mod incident_2;
    mod incidents_1_and_3;
    #[cfg(feature = "kerberos")]
    mod kerberos;
    mod looking_further;
    mod memory;
    mod offset_remedies;
    mod refused_commits;
    mod remedies;
    mod rights;
    mod rolling_restart;
    mod secured;
    mod shared;
    mod watch;
    mod wrong_addresses;
    mod zookeeper_tools;
}
