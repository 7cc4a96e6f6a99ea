use std::fmt::Write;

use super::*;
use crate::sample::Sample;

fn of(sample: &Sample, inside: &Inside) -> Vec<Permission> {
    permissions(&sample.snapshot, &sample.memory, inside)
}

fn lines(found: &[Permission]) -> String {
    found.iter().fold(String::new(), |mut text, one| {
        let _ = writeln!(text, "{:?} {}: {} {}", one.permit, one.feature, one.right, one.sentence);
        text
    })
}

fn permit(found: &[Permission], feature: &str) -> Permit {
    found.iter().find(|one| one.feature == feature).expect("a feature").permit
}

#[test]
fn a_cluster_that_answers_everything() {
    let inside = Inside { described: vec!["orders".into()], denied: Vec::new() };
    insta::assert_snapshot!(lines(&of(&Sample::kraft(3, 3, 3).group_on(0, "orders"), &inside)));
}

#[test]
fn an_account_with_no_right_at_all() {
    let mut sample = Sample::kraft(2, 3, 2)
        .no_configs()
        .log_dirs_denied()
        .quorum_denied()
        .no_reassignments(Why::NotPermitted("DESCRIBE on CLUSTER".to_owned()))
        .no_producers(Why::NotPermitted("READ on TOPIC __consumer_offsets".to_owned()));
    for sight in sample.snapshot.brokers.values_mut() {
        sight.describe_cluster_permitted = Observed::Known(false);
        sight.canaries.values_mut().for_each(|canary| canary.code = 30);
    }
    let found = of(&sample, &Inside::default());
    insta::assert_snapshot!(lines(&found));
    assert!(found.iter().filter(|one| one.permit == Permit::Missing).all(|one| one.command.is_some()));
}

#[test]
fn a_hidden_topic_is_told_from_one_that_is_not_made_yet() {
    let hidden = |why: Why| {
        let mut sample = Sample::kraft(2, 3, 2);
        let unavailable = sample.snapshot.taken_at;
        for sight in sample.snapshot.brokers.values_mut() {
            if let Observed::Known(view) = &mut sight.metadata {
                view.offsets_topic = None;
            }
            sight.topic_configs =
                Observed::Unavailable(crate::snapshot::Unavailable { why: why.clone(), since: unavailable });
        }
        permit(&of(&sample, &Inside::default()), "offsets-topic")
    };
    assert_eq!(hidden(Why::NotPermitted("DESCRIBE_CONFIGS on TOPIC __consumer_offsets".to_owned())), Permit::Missing);
    assert_eq!(hidden(Why::NoOffsetsTopic), Permit::NotTold);
}

#[test]
fn what_may_be_filtered_is_never_called_permitted() {
    let mut sample = Sample::kraft(2, 3, 2).group_on(0, "orders");
    sample.snapshot.brokers.values_mut().for_each(|sight| sight.describe_cluster_permitted = Observed::Known(false));
    let inside = Inside { described: vec!["orders".into()], denied: Vec::new() };
    let found = of(&sample, &inside);
    for feature in ["groups-inside", "other-topics", "open-transactions"] {
        assert_eq!(permit(&found, feature), Permit::NotTold, "{feature}");
    }
    assert_eq!(permit(&found, "all-groups"), Permit::Missing);
}

#[test]
fn one_refusal_outweighs_what_other_brokers_answer() {
    let mut sample = Sample::kraft(3, 3, 3);
    if let Some(sight) = sample.snapshot.brokers.get_mut(&2) {
        sight.canaries.values_mut().for_each(|canary| canary.code = 30);
    }
    assert_eq!(permit(&of(&sample, &Inside::default()), "coordinators"), Permit::Missing);
}

#[test]
fn a_group_that_may_not_be_described_is_named() {
    let inside = Inside { described: vec!["a".into()], denied: vec!["b\u{202e}".into()] };
    let found = of(&Sample::kraft(2, 3, 2), &inside);
    let one = found.iter().find(|one| one.feature == "groups-inside").expect("a feature");
    assert_eq!(one.permit, Permit::Missing);
    assert!(one.sentence.contains('b') && !one.sentence.contains('\u{202e}'), "{}", one.sentence);
}

#[test]
fn the_rights_are_those_that_answers_name_as_missing() {
    let known = ["CLUSTER", "TOPIC", "GROUP", "TRANSACTIONAL_ID"];
    for feature in &FEATURES {
        let (_, resource) = feature.right.split_once(" on ").expect("OPERATION on RESOURCE");
        assert!(known.contains(&resource.split(' ').next().expect("a kind")), "{}", feature.right);
    }
}
