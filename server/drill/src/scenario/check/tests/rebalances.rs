//! Groups that rebalance again and again, and transactions that never end.

use super::{accepted, refused};

#[test]
fn rebalances_have_an_end_before_the_next() {
    let group = "[[group]]\nid = \"billing\"\ntype = \"consumer\"";
    let restless = |how: &str| format!("[[group]]\nid = \"billing\"\nmembers = 2\nrebalances = {{ {how} }}");
    accepted(group, &restless("every = \"10s\", takes = \"2s\""));
    refused(group, &restless("every = \"10ms\""), "group[1].rebalances.every: it must be at least 100ms");
    let takes = "group[1].rebalances.takes: it must be over before the next: 10s";
    refused(group, &restless("every = \"10s\", takes = \"10s\""), takes);
    let what = "group[1].rebalances: only classic groups with members rebalance like that";
    refused(group, &format!("{group}\nmembers = 1\nrebalances = {{ every = \"10s\" }}"), what);
    refused(group, &restless("every = \"10s\"").replace("members = 2", "members = 0"), what);
}

#[test]
fn a_transaction_is_open_for_days_at_most() {
    let open = |age: &str| {
        format!("leader = 2\nelr = [3]\nopen-transaction = {{ producer-id = 7, start = 900, age = \"{age}\" }}")
    };
    accepted("leader = 2\nelr = [3]", &open("58h"));
    let long = "topic.__consumer_offsets.partition[0].open-transaction.age: it must not be longer than 7d";
    refused("leader = 2\nelr = [3]", &open("8d"), long);
}
