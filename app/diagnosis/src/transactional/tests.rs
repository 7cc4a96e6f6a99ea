use super::*;
use crate::sample::Sample;

/// `my-app` lives on partition `java_hash % 50`.
fn told(sample: &Sample) -> String {
    let lookup = sample.published().lookup_transactional(&["my-app".into()]);
    let answer = &lookup.results[0];
    let mut out = format!("[{}] {}\n", answer.verdict.status.slug(), answer.verdict.sentence);
    out += &answer.verdict.outlook.iter().map(|outlook| format!("  {outlook}\n")).collect::<String>();
    out
}

fn ready() -> Sample {
    Sample::kraft(3, 50, 3).state_topic(TRANSACTION_STATE, 50, 3)
}

fn place() -> (PartitionId, BrokerId) {
    let partition = partition_for(&"my-app".into(), 50).unwrap_or_default();
    (partition, partition % 3 + 1)
}

#[test]
fn what_a_lookup_says() {
    let (partition, leader) = place();
    let others: Vec<BrokerId> = (1..=3).filter(|id| *id != leader).collect();
    let one = || Sample::kraft(3, 50, 1).state_topic(TRANSACTION_STATE, 50, 1);
    let samples = [
        ("working", ready()),
        ("one copy", one().state_isr(TRANSACTION_STATE, partition, &[leader])),
        ("coordinator gone", one().later(1).gone(leader)),
        ("election due", ready().later(1).gone(leader)),
        ("no leader", ready().state_no_leader(TRANSACTION_STATE, partition, &others).later(1)),
        ("no leader for long", ready().state_no_leader(TRANSACTION_STATE, partition, &others).later(60)),
        ("below min ISR", ready().state_isr(TRANSACTION_STATE, partition, &[leader]).later(60)),
        ("loading", ready().transaction_canary(leader, partition, 14)),
        ("does not serve", ready().transaction_canary(leader, partition, 16).later(90)),
        ("denied", ready().transaction_canary(leader, partition, 53)),
        ("no transactions yet", Sample::kraft(3, 50, 3)),
        ("nobody answers", Sample::empty()),
    ];
    let all: String = samples.iter().map(|(name, sample)| format!("{name}: {}", told(sample))).collect();
    insta::assert_snapshot!(all, @"
    working: [working] my-app works: its transaction coordinator serves.
    one copy: [at_risk] my-app is at risk: its transaction coordinator serves, but everything depends on broker 1.
    coordinator gone: [stuck] my-app is stuck: its transaction coordinator, broker 1, is down.
    election due: [recovering] my-app is recovering: its transaction coordinator, broker 1, is down.
      Expected to be over by 12:00:14 UTC.
    no leader: [recovering] my-app is recovering: its partition of __transaction_state has no leader, although brokers 2 and 3 are alive and in sync.
      Expected to be over by 12:00:13 UTC.
    no leader for long: [stuck] my-app is stuck: its partition of __transaction_state has no leader, although brokers 2 and 3 are alive and in sync.
    below min ISR: [stuck] my-app is stuck: 1 replica is in sync and min.insync.replicas is 2, so its transaction coordinator can write nothing.
    loading: [recovering] my-app is recovering: its transaction coordinator, broker 1, is loading its partition.
    does not serve: [stuck] my-app is stuck: broker 1 leads its partition of __transaction_state and says that it does not serve it.
    denied: [unknown] my-app: unknown, because Unstuck may not ask its transaction coordinator, broker 1 (needs DESCRIBE on the transactional id).
    no transactions yet: [unknown] my-app: unknown, because no broker lists __transaction_state: no producer has used transactions on this cluster yet, or the topic is hidden from Unstuck (needs DESCRIBE on it).
    nobody answers: [unknown] my-app: unknown, because no broker answers.
    ");
}

#[test]
fn what_is_broken_elsewhere_is_no_cause_here() {
    let (partition, _) = place();
    let sample = ready().state_no_leader(TRANSACTION_STATE, (partition + 1) % 50, &[]).later(60);
    let answer = &sample.published().lookup_transactional(&["my-app".into()]).results[0];
    assert_eq!(answer.verdict.status, Status::Working);
    assert!(answer.findings.is_empty(), "{:?}", answer.findings);
    let hit = ready().state_no_leader(TRANSACTION_STATE, partition, &[]).later(60);
    let answer = &hit.published().lookup_transactional(&["my-app".into()]).results[0];
    assert_eq!(answer.verdict.status, Status::Stuck);
    assert_eq!(answer.findings.first().map(|finding| finding.slug.as_str()), Some("transaction-coordinator-offline"));
}

#[test]
fn the_arithmetic_is_shown() {
    let lookup = ready().published().lookup_transactional(&["polygenelubricants".into()]);
    let placement = lookup.results[0].placement.as_ref().expect("placed");
    insta::assert_snapshot!(placement.sentence, @r#""polygenelubricants".hashCode() = -2147483648, abs 0, mod 50 = partition 0 of __transaction_state"#);
    assert_eq!(lookup.results[0].views.len(), 3);
    assert_eq!(lookup.worst(), Status::Working);
}

#[test]
fn a_transaction_in_words() {
    let at: Timestamp = "2026-11-29T12:10:00Z".parse().expect("a time");
    let open = TransactionDetail {
        at,
        answered_by: 1,
        state: Some("Ongoing".to_owned()),
        timeout_ms: 60_000,
        started: Some("2026-11-29T12:00:00Z".parse().expect("a time")),
        ..TransactionDetail::default()
    };
    let none = TransactionDetail { state: None, ..open.clone() };
    let done = TransactionDetail { state: Some("CompleteCommit".to_owned()), started: None, ..open.clone() };
    let all = [open, none, done].map(|detail| detail.sentence()).join("\n");
    insta::assert_snapshot!(all, @"
    Ongoing since 12:00:00 UTC (10 min), past its time-out of 1 min.
    The coordinator knows no such transactional id: no producer has used it yet, or it has expired.
    State CompleteCommit: no transaction is open.
    ");
}
