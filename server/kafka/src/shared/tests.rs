//! How facts from several tellers come together.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use unstuck_diagnosis::snapshot::{
    BootstrapAnswer, BrokerConfigs, BrokerSight, GroupListing, ListedGroup, MetadataView, Observed, OffsetsTopicView,
    PartitionView, Quorum, Why,
};
use unstuck_wire::messages::metadata::BrokerAddress;

use super::Shared;
use crate::{ClusterConfig, Surroundings};

fn shared() -> Shared {
    Shared::new(ClusterConfig::new("test", vec!["a:1".to_owned(), "b:1".to_owned()]), Surroundings::default())
}

fn told(brokers: &[(i32, &str)]) -> BTreeMap<i32, BrokerAddress> {
    brokers.iter().map(|(id, address)| (*id, BrokerAddress { address: (*address).to_owned(), rack: None })).collect()
}

fn answer(cluster: &str) -> BootstrapAnswer {
    BootstrapAnswer { at: Timestamp::now(), cluster_id: Some(cluster.to_owned()), broker_count: 1, brokers: vec![1] }
}

fn sight(shared: &Shared, id: i32) -> BrokerSight {
    shared.snapshot().brokers[&id].clone()
}

#[test]
fn the_first_way_in_decides_the_cluster() {
    let shared = shared();
    assert_eq!(shared.bootstrap_answer("a:1", answer("one")), Ok(()));
    assert_eq!(shared.bootstrap_answer("b:1", answer("two")), Err(Why::OtherCluster("two".to_owned())));
    assert_eq!(shared.bootstrap_answer("a:1", answer("one")), Ok(()));
    let ways = shared.snapshot().bootstrap;
    assert!(ways["a:1"].answer.known().is_some());
    assert_eq!(ways["b:1"].answer.unavailable().map(|lost| &lost.why), Some(&Why::OtherCluster("two".to_owned())));
    assert_eq!(
        (shared.foreign(Some("two")), shared.foreign(Some("one")), shared.foreign(None)),
        (Some("two"), None, None)
    );
}

#[test]
fn a_cluster_that_is_set_up_anew_behind_all_ways_in_takes_the_place_of_the_old_one() {
    let shared = shared();
    let other = || Err(Why::OtherCluster("two".to_owned()));
    assert_eq!(shared.bootstrap_answer("a:1", answer("one")), Ok(()));
    shared.learn(&told(&[(1, "a:1")]));
    shared.answered(1, Some(1), 1_000);
    // A way in that does not answer may still lead to ours.
    shared.bootstrap_failure("a:1", Why::Refused);
    shared.trouble(1, Why::Refused, Timestamp::now());
    assert_eq!(shared.bootstrap_answer("b:1", answer("two")), other());
    // A broker of ours answers.
    shared.answered(1, Some(1), 1_000);
    assert_eq!(shared.bootstrap_answer("a:1", answer("two")), other());
    assert_eq!(shared.bootstrap_answer("b:1", answer("two")), other());
    shared.trouble(1, Why::OtherCluster("two".to_owned()), Timestamp::now());
    assert_eq!(shared.bootstrap_answer("b:1", answer("two")), Ok(()));
    assert_eq!((shared.foreign(Some("two")), shared.foreign(Some("one"))), (None, Some("one")));
    assert_eq!(shared.bootstrap_answer("a:1", answer("two")), Ok(()));
}

#[test]
fn an_address_that_works_outlives_what_a_stale_broker_tells() {
    let shared = shared();
    shared.learn(&told(&[(1, "old:9092")]));
    assert_eq!(shared.address(1).as_deref(), Some("old:9092"));
    // Never answered there: believe the newest.
    shared.learn(&told(&[(1, "new:9092")]));
    assert_eq!(shared.address(1).as_deref(), Some("new:9092"));
    shared.answered(1, Some(1), 1_000);
    shared.learn(&told(&[(1, "old:9092")]));
    assert_eq!(shared.address(1).as_deref(), Some("new:9092"));
    // In trouble: what others tell now is worth a try.
    shared.trouble(1, Why::Refused, Timestamp::now());
    shared.learn(&told(&[(1, "moved:9092")]));
    assert_eq!(shared.address(1).as_deref(), Some("moved:9092"));
}

#[test]
fn a_broker_known_from_replicas_only_has_no_address() {
    let shared = shared();
    shared.learn_ids([3]);
    assert_eq!(sight(&shared, 3).address, None);
    shared.learn(&told(&[(3, "c:9092")]));
    assert_eq!(sight(&shared, 3).address.as_deref(), Some("c:9092"));
}

#[test]
fn trouble_keeps_what_was_told_and_drops_what_speaks_of_the_moment() {
    let shared = shared();
    shared.learn(&told(&[(1, "a:9092")]));
    shared.answered(1, Some(1), 1_000);
    let now = Timestamp::now();
    shared.broker(1, |sight| {
        sight.metadata = Observed::Known(MetadataView {
            at: now,
            cluster_id: None,
            controller: None,
            brokers: BTreeMap::new(),
            offsets_topic: None,
            state_topics: BTreeMap::new(),
        });
        sight.groups = Observed::Known(Arc::new(GroupListing { at: now, code: 0, groups: BTreeMap::new() }));
        sight.quorum = Observed::Known(Quorum { at: now, leader: Some(1), voters: vec![1] });
        true
    });
    let since = now - SignedDuration::from_secs(3);
    assert!(shared.trouble(1, Why::Silent, since), "news");
    assert!(!shared.trouble(1, Why::Silent, now), "no news");
    let seen = sight(&shared, 1);
    let trouble = seen.contact.trouble.clone().expect("trouble");
    assert_eq!((trouble.why, trouble.since, trouble.attempts), (Why::Silent, since, 2));
    assert!(seen.metadata.known().is_some());
    assert!(seen.groups.unavailable().is_some() && seen.quorum.unavailable().is_some());
    assert_eq!(seen.elr, Observed::NotAsked, "was never asked for");

    assert!(shared.trouble(1, Why::Refused, now), "another reason is news");
    assert_eq!(sight(&shared, 1).contact.trouble.expect("trouble").since, since);
    assert!(shared.answered(1, Some(1), 1_000));
    assert_eq!(sight(&shared, 1).contact.trouble, None);
}

#[test]
fn a_broker_is_fenced_while_somebody_who_answers_says_so() {
    let shared = shared();
    shared.learn(&told(&[(1, "a:9092"), (2, "b:9092")]));
    shared.fences(1, [2].into());
    assert!(sight(&shared, 2).fenced);
    shared.trouble(1, Why::Refused, Timestamp::now());
    assert!(!sight(&shared, 2).fenced, "who does not answer tells nothing");
    shared.answered(1, None, 1_000);
    shared.fences(1, [].into());
    assert!(!sight(&shared, 2).fenced);
}

#[test]
fn canaries_follow_the_topic_and_the_settings_of_brokers() {
    let shared = shared();
    shared.learn(&told(&[(1, "a:9092")]));
    assert!(shared.canaries().ids.is_empty());
    let partitions = (0..4).map(|number| (number, PartitionView::default())).collect();
    shared.broker(1, |sight| {
        sight.metadata = Observed::Known(MetadataView {
            at: Timestamp::now(),
            cluster_id: None,
            controller: None,
            brokers: BTreeMap::new(),
            offsets_topic: Some(OffsetsTopicView { error: 0, partitions }),
            state_topics: BTreeMap::new(),
        });
        false
    });
    let four = shared.canaries();
    assert_eq!(four.ids.len(), 4);
    assert!(Arc::ptr_eq(&four, &shared.canaries()), "chosen once");
    shared.broker(1, |sight| {
        sight.configs = Observed::Known(BrokerConfigs {
            at: Timestamp::now(),
            offsets_topic_num_partitions: Some(3),
            ..BrokerConfigs::default()
        });
        false
    });
    assert_ne!(four, shared.canaries());
}

#[test]
fn a_listed_group_is_found_for_a_partition() {
    let shared = shared();
    shared.learn(&told(&[(1, "a:9092")]));
    let groups = [("my-group".into(), ListedGroup { group_type: Some("share".to_owned()), ..ListedGroup::default() })];
    shared.broker(1, |sight| {
        sight.groups = Observed::Known(Arc::new(GroupListing { at: Timestamp::now(), code: 0, groups: groups.into() }));
        false
    });
    assert_eq!(shared.listed_on(&[11, 12].into(), 50), [(12, "my-group".into())].into());
    assert_eq!(shared.listed_type(&"my-group".into()).as_deref(), Some("share"));
    assert_eq!(shared.listed_type(&"other".into()), None);
}
