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
    insta::assert_snapshot!(all, @"");
}

#[test]
fn the_arithmetic_is_shown() {
    let lookup = ready().published().lookup_transactional(&["polygenelubricants".into()]);
    let placement = lookup.results[0].placement.as_ref().expect("placed");
    insta::assert_snapshot!(placement.sentence, @"");
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
    insta::assert_snapshot!(all, @"");
}
