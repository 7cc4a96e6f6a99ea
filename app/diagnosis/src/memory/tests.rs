//! What is remembered, what is forgotten, and since when things have been so.

use crate::report::{BrokerState, Status};
use crate::sample::Sample;
use crate::snapshot::Observed;

#[test]
fn a_refusal_older_than_the_word_that_it_lives_again_is_old_news() {
    let mut sample = Sample::kraft(3, 6, 3).gone(2).leaderless_after(2).later(6);
    assert_eq!(sample.report().broker(2).map(|broker| broker.state), Some(BrokerState::Gone));
    for sight in sample.snapshot.brokers.values_mut() {
        if let Observed::Known(view) = &mut sight.metadata {
            view.brokers.insert(2, "127.0.0.1:9002".to_owned());
        }
    }
    let again = sample.later(1);
    assert_eq!(again.report().broker(2).map(|broker| broker.state), Some(BrokerState::Late));
    let refused_all_the_same = again.later(5);
    assert_eq!(refused_all_the_same.report().broker(2).map(|broker| broker.state), Some(BrokerState::Gone));
}

#[test]
fn since_is_when_it_changed_and_nothing_if_it_was_so_before() {
    let sample = Sample::kraft(3, 6, 1).later(10);
    assert_eq!(sample.report().partitions[0].since, None);
    let gone = sample.gone(1);
    let at = gone.now();
    let report = gone.later(5).report();
    assert_eq!((report.partitions[0].status, report.partitions[0].since), (Status::Stuck, Some(at)));
    assert_eq!(report.headline.since, Some(at));
}

#[test]
fn a_group_that_its_coordinator_no_longer_lists_is_forgotten() {
    let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").later(5);
    assert_eq!(sample.report().groups.total, 1);
    assert_eq!(sample.listing_code(1, 0).report().groups.total, 0);
}

#[test]
fn a_group_that_vanished_with_a_leadership_is_remembered() {
    let sample = Sample::kraft(3, 6, 3).group_on(0, "orders").later(5).epoch(0, 6).served_now(0).later(1);
    assert_eq!(sample.listing_code(1, 0).report().groups.total, 1);
}

#[test]
fn a_listing_that_may_be_filtered_forgets_nothing() {
    let sample = Sample::kraft(3, 6, 3).group_on(0, "orders").later(5).cluster_not_permitted();
    assert_eq!(sample.listing_code(1, 0).report().groups.total, 1);
}

#[test]
fn a_partial_listing_forgets_nothing() {
    let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").later(5).listing_code(1, 14);
    assert_eq!(sample.report().groups.total, 1);
}

#[test]
fn a_group_on_a_loading_partition_is_not_forgotten() {
    let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").later(5).canary(1, 0, 14).listing_code(1, 0);
    assert_eq!(sample.report().groups.total, 1);
}

#[test]
fn a_hundred_thousand_groups_are_counted_and_few_are_named() {
    let mut sample = Sample::kraft(3, 50, 1);
    let listed = crate::snapshot::ListedGroup { protocol_type: "consumer".to_owned(), ..Default::default() };
    for n in 0..100_000 {
        let id = crate::GroupId(format!("group-{n}"));
        let leader = crate::placement::partition_for(&id, 50).map_or(1, |partition| partition % 3 + 1);
        let listing = sample.snapshot.brokers.get_mut(&leader).map(|sight| &mut sight.groups);
        if let Some(crate::snapshot::Observed::Known(listing)) = listing {
            let listing = std::sync::Arc::make_mut(listing);
            listing.at = sample.snapshot.taken_at + jiff::SignedDuration::from_millis(1);
            listing.groups.insert(id, listed.clone());
        }
    }
    let report = sample.later(1).gone(1).report();
    assert_eq!(report.groups.total, 100_000);
    let stuck = report.groups.by_status[&Status::Stuck];
    assert!((30_000..40_000).contains(&stuck), "17 of 50 partitions: {stuck}");
    assert_eq!(report.groups.stuck.len(), crate::report::NAMED_GROUPS_CAP);
}

#[test]
fn a_broker_that_is_back_in_time_never_made_anything_stuck() {
    let sample = Sample::kraft(3, 3, 3).gone(1);
    assert_eq!(sample.report().partitions[0].status, Status::Recovering);
    let mut back = sample.later(3);
    back.snapshot.brokers.get_mut(&1).expect("broker 1").contact.trouble = None;
    assert_eq!(back.later(1).report().partitions[0].status, Status::Working);
}
