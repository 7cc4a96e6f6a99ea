//! Findings about single groups, each with what it says.

use crate::detail::{Assigned, GroupTrace};
use crate::group_findings::testing::{Made, detail, group, history, listed, told, told_inside, trace};
use crate::sample::Sample;
use crate::snapshot::ListedGroup;

/// A slug, and the finding's text.
type Voice = (&'static str, fn(&str) -> String);

/// All of them.
pub(super) const GROUPS: &[Voice] = &[
    ("group-data-partition-without-leader", |slug| {
        let look = detail("Stable")
            .member("client", "10.0.0.7", &[0, 1])
            .offset("orders", 0, 10, 10)
            .last_offset(|one| (one.end, one.lag, one.leader, one.without_leader) = (None, None, None, true));
        told_inside(&group("Stable").leaderless_data("orders", 0, &[2]), &GroupTrace::default(), &look, slug)
    }),
    ("group-empty", |slug| told(&history("my-group", &[("Stable", 0), ("Empty", 30)], 60), "my-group", slug)),
    ("group-full", |slug| {
        let look = detail("Stable").member("a", "10.0.0.7", &[0]).member("b", "10.0.0.8", &[1]);
        inside(&group("Stable").configs(|configs| configs.group_max_size = Some(2)), &look, slug)
    }),
    ("group-id-twin", |slug| {
        told(&group("Stable").lists("My-Group".into(), listed("Stable", "classic")), "my-group", slug)
    }),
    ("group-id-typo", |slug| {
        let sample = Sample::kraft(3, 50, 3).lists("Orders-Service ".into(), listed("Stable", "classic"));
        told(&sample.lists("order-service".into(), listed("Stable", "classic")), "orders-service", slug)
    }),
    ("group-not-seen", |slug| told(&Sample::kraft(3, 50, 3).cluster_not_permitted(), "my-group", slug)),
    ("group-rebalance-loop", |slug| {
        let states = [
            ("Stable", 0),
            ("PreparingRebalance", 30),
            ("Stable", 60),
            ("PreparingRebalance", 90),
            ("Stable", 105),
            ("PreparingRebalance", 135),
        ];
        told(&history("my-group", &states, 150), "my-group", slug)
    }),
    ("group-rebalancing", |slug| {
        told(&history("my-group", &[("Stable", 0), ("PreparingRebalance", 30)], 600), "my-group", slug)
    }),
    ("group-unknown", |slug| told(&Sample::kraft(3, 50, 3), "my-group", slug)),
    ("kip848-mismatch", |slug| {
        let look = detail("Stable").member("a", "10.0.0.7", &[0]);
        inside(&group("Stable"), &look.with(|made| made.group_type = Some("consumer".to_owned())), slug)
    }),
    ("lag-stands-still", |slug| {
        let look = |seconds: i64, first: (i64, i64), second: (i64, i64)| {
            let look = detail("Stable").at(seconds).member("client-a", "10.0.0.7", &[0, 1]);
            look.offset("orders", 0, first.0, first.1).offset("orders", 1, second.0, second.1)
        };
        let trace = trace([&look(0, (10, 20), (7, 9))]);
        told_inside(&group("Stable"), &trace, &look(90, (10, 55), (40, 41)).after(&trace), slug)
    }),
    ("lag-unknown", |slug| {
        let look = detail("Stable").offset("orders", 0, 5, 9).last_offset(|one| (one.end, one.lag) = (None, None));
        inside(&group("Stable"), &look, slug)
    }),
    ("members-without-partitions", |slug| {
        let look = detail("Stable").member("a", "10.0.0.7", &[0]).member("b", "10.0.0.8", &[]);
        inside(&group("Stable"), &look, slug)
    }),
    ("mixed-protocols", |slug| {
        let connect = ListedGroup { protocol_type: "connect".to_owned(), ..listed("Stable", "classic") };
        told(&group("Stable").later(15).lists("my-group".into(), connect), "my-group", slug)
    }),
    ("offsets-expired", |slug| {
        let partition = crate::placement::partition_for(&"my-group".into(), 50).unwrap_or_default();
        let sample = group("Empty").later(600).listing_code(partition % 3 + 1, 0).later(1);
        told(&sample, "my-group", slug)
    }),
    ("reconciling-stuck", |slug| {
        let sample = history("my-group", &[("Stable", 0), ("Reconciling", 30)], 600);
        let look = detail("Reconciling")
            .member("a", "10.0.0.7", &[0, 1])
            .last_member(|one| {
                one.epoch = Some(4);
                one.target = Some(vec![Assigned { topic: "orders".to_owned(), partitions: vec![0] }]);
            })
            .member("b", "10.0.0.8", &[])
            .last_member(|one| one.epoch = Some(5))
            .with(|made| (made.group_type, made.group_epoch) = (Some("consumer".to_owned()), Some(5)));
        inside(&sample, &look, slug)
    }),
    ("static-member-fenced", |slug| {
        let look =
            |seconds: i64, id: &str, host: &str| detail("Stable").at(seconds).instance("worker-1", id, host, &[0]);
        let looks = [look(0, "a", "10.0.0.7"), look(20, "b", "10.0.0.8")];
        told_inside(&group("Stable"), &trace(&looks), &look(40, "a2", "10.0.0.7"), slug)
    }),
    ("static-member-gone", |slug| {
        let look = |seconds: i64, first: (i64, i64), second: (i64, i64)| {
            let look = detail("Stable").at(seconds).instance("worker-1", "a", "10.0.0.7", &[0]);
            let look = look.instance("worker-2", "b", "10.0.0.8", &[1]);
            look.offset("orders", 0, first.0, first.1).offset("orders", 1, second.0, second.1)
        };
        let trace = trace([&look(0, (5, 5), (5, 5))]);
        told_inside(&group("Stable"), &trace, &look(70, (5, 30), (31, 31)).after(&trace), slug)
    }),
    ("unstable-offsets", |slug| {
        let look = |seconds: i64| {
            let look = detail("Stable").at(seconds).offset("orders", 0, 5, 5);
            look.last_offset(|one| one.unstable = true)
        };
        told_inside(&group("Stable"), &trace([&look(0), &look(20), &look(40)]), &look(100), slug)
    }),
];

fn inside(sample: &Sample, look: &Made, slug: &str) -> String {
    told_inside(sample, &GroupTrace::default(), look, slug)
}
