use unstuck_diagnosis::sample::Sample;

use super::*;

fn found(sample: &Sample, inside: &Inside) -> Vec<Permission> {
    permissions(&sample.snapshot, &sample.memory, inside)
}

#[test]
fn the_table_says_what_is_missing_and_how_it_is_granted() {
    let sample = Sample::kraft(3, 3, 3).group_on(0, "orders").no_configs().log_dirs_denied().quorum_denied();
    let inside = Inside { described: vec!["orders".into()], denied: Vec::new() };
    insta::assert_snapshot!(text("production", &found(&sample, &inside)));
}

#[test]
fn verdicts_lack_rights_only_where_the_smallest_set_is_not_proven() {
    let sample = Sample::kraft(3, 3, 3).no_configs();
    assert!(!verdicts_lack(&found(&sample, &Inside::default())));
    let mut denied = sample.clone();
    for canary in denied.snapshot.brokers.values_mut().flat_map(|sight| sight.canaries.values_mut()) {
        canary.code = 30;
    }
    assert!(verdicts_lack(&found(&denied, &Inside::default())));
    let mut unasked = sample;
    unasked.snapshot.brokers.values_mut().for_each(|sight| sight.canaries.clear());
    assert!(verdicts_lack(&found(&unasked, &Inside::default())), "what nobody could tell is not taken for granted");
}
