//! `static-member-fenced`: two processes use one instance id. Catalogue row 39.

use std::collections::BTreeMap;

use super::{GroupContext, GroupRule};
use crate::findings::{finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::words;

const SLUG: &str = "static-member-fenced";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "Two processes use the same group.instance.id",
        severity: "error",
        means: "A static member is known by its `group.instance.id`. When another process joins with the same one, it takes \
                the place, and the one before is fenced: its next request is refused with 82 FENCED_INSTANCE_ID (classic), \
                111 UNRELEASED_INSTANCE_ID or 110 FENCED_MEMBER_EPOCH (new protocol). If it restarts, it fences the other \
                one, and so on: the two take turns, and their partitions with them.",
        opens: "Looks at the group show one instance id at different hosts in turn (A, B, A), or under a new member id at \
                each of several looks.",
        closes: "It has stayed where it is.",
        not_told: "It takes several looks at the group's details. A fenced process that does not come back leaves no trace \
                   at the coordinator; its log tells.",
        clients_see: "Java: FencedInstanceIdException \"The broker rejected this static consumer since another consumer with \
                      the same group.instance.id has registered with a different member.id\". librdkafka: \"Static consumer \
                      fenced by other consumer with same group.instance.id\".",
        way_out: "Give each process an instance id of its own: a stateful set's pod name, for example, never a constant.",
        never: "",
        twins: &[("static-member-gone", "then a static member is away, and keeps its partitions")],
        shadows: &["group-rebalance-loop"],
        versions: "2.3 and later (KIP-345); KAFKA-10284 (fixed in 2.6.1 and 2.7) lost the fencing after a restart",
        sources: &["KIP-345", "KAFKA-10284"],
    }],
    check,
};

/// Places of one instance id, one after the other: member id and host.
type Places = Vec<(String, String)>;

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some(detail) = context.detail else { return Vec::new() };
    let mut places: BTreeMap<&str, Places> = BTreeMap::new();
    for sample in context.trace.samples().iter().filter(|sample| sample.at < detail.at) {
        for (member, (instance, host)) in &sample.members {
            if let Some(instance) = instance {
                note(places.entry(instance).or_default(), member, host);
            }
        }
    }
    for member in &detail.members {
        if let Some(instance) = &member.instance_id {
            note(places.entry(instance).or_default(), &member.member_id, &member.host);
        }
    }
    places
        .into_iter()
        .filter(|(_, places)| takes_turns(places))
        .map(|(instance, places)| told(context, instance, &places))
        .collect()
}

fn note(places: &mut Places, member: &str, host: &str) {
    if places.last().is_none_or(|(last, at)| last != member || at != host) {
        places.push((member.to_owned(), host.to_owned()));
    }
}

/// Back at a host where it was before, or a new member id at least three times.
fn takes_turns(places: &Places) -> bool {
    let hosts: Vec<&str> = places.iter().map(|(_, host)| host.as_str()).collect();
    let back = hosts.iter().enumerate().any(|(at, host)| {
        let before = hosts.iter().take(at).rposition(|earlier| earlier == host);
        before.is_some_and(|before| hosts.iter().take(at).skip(before).any(|between| between != host))
    });
    back || places.len() >= 4
}

fn told(context: &GroupContext<'_>, instance: &str, places: &Places) -> Finding {
    let instance = crate::visible(instance);
    let id = context.id();
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!("Two processes in {id} use the group.instance.id {instance}: each throws the other one out."),
    );
    let hosts: Vec<String> = places.iter().map(|(_, host)| crate::visible(host.trim_start_matches('/'))).collect();
    finding.evidence.push(seen_(format!("It was seen one after the other at {}.", words::list(&hosts))));
    finding.remedies.push(step(
        "Give each process a group.instance.id of its own",
        "One id stands for one process: whoever joins with it last takes the place of the one before.",
    ));
    finding.remedies.push(context.look());
    finding
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Made, detail, group, inside, told_inside, trace};

    fn look(seconds: i64, id: &str, host: &str) -> Made {
        detail("Stable").at(seconds).instance("worker-1", id, host, &[0])
    }

    #[test]
    fn two_hosts_take_turns() {
        let looks = [look(0, "a", "10.0.0.7"), look(20, "b", "10.0.0.8")];
        let told = told_inside(&group("Stable"), &trace(&looks), &look(40, "a2", "10.0.0.7"), super::SLUG);
        insta::assert_snapshot!(told, @"
        [error] Two processes in my-group use the group.instance.id worker-1: each throws the other one out.
          seen: It was seen one after the other at 10.0.0.7, 10.0.0.8 and 10.0.0.7.
          -> Give each process a group.instance.id of its own: One id stands for one process: whoever joins with it last takes the place of the one before.
          -> Look at its members and offsets with Kafka's own tool: It shows which members there are, on which hosts, and how far each partition is behind.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group --members --verbose
        ");
    }

    #[test]
    fn a_restart_or_a_move_is_none() {
        let looks = [look(0, "a", "10.0.0.7"), look(20, "b", "10.0.0.8")];
        assert!(inside(&group("Stable"), &trace(&looks), &look(40, "b", "10.0.0.8")).is_empty());
        let same = [look(0, "a", "10.0.0.7"), look(20, "b", "10.0.0.7")];
        assert!(inside(&group("Stable"), &trace(&same), &look(40, "b", "10.0.0.7")).is_empty());
    }

    #[test]
    fn one_look_tells_nothing() {
        assert!(inside(&group("Stable"), &trace([]), &look(0, "a", "10.0.0.7")).is_empty());
    }
}
