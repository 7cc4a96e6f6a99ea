//! `two-controllers`: two live brokers both act as controller.
//!
//! Catalogue row 6; the beginning of founding incident 2 (KAFKA-6082). ZooKeeper only: in KRaft the controller id in
//! metadata is a random live broker. Opens when brokers name different controllers for 10 s and each of these names
//! itself; closes when they agree.

use super::restart::restart_one_of;
use super::{Context, Rule, finding, not_seen, seen_};
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, Remedy, Risk, Severity};
use crate::time::millis_between;
use crate::{BrokerId, words};

const SLUG: &str = "two-controllers";
/// How long a change of controller may take to be known everywhere.
const SETTLED_MS: i64 = 10_000;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Two brokers act as controller at the same time",
        severity: "error",
        means: "A controller that lost its ZooKeeper session without noticing goes on giving orders while another one has \
                been elected. Both elect leaders and write them to ZooKeeper, each from its own memory. What one of them \
                wrote, the other does not know; much later, when a broker fails, the true controller elects nothing, \
                because it remembers another leader than ZooKeeper holds.",
        opens: "Brokers that answer name different controllers for 10 s, and each of these brokers names itself. In KRaft \
                never: there the id in metadata is a random live broker.",
        closes: "All brokers that answer name the same controller.",
        not_told: "The controller epoch, which tells the true one: it is in ZooKeeper, where Unstuck does not look.",
        clients_see: "Nothing by itself. Leaders that change for no reason; later, partitions without a leader although a \
                      replica in sync lives.",
        way_out: "See in ZooKeeper who is controller. Make it choose anew, which reads the true state; then restart the \
                  broker that is not the controller and goes on acting as one. Then upgrade to 2.1 or newer, where writes \
                  of an old controller are refused.",
        never: "Do not start or stop other brokers, and run no reassignment, while two of them give orders.",
        twins: &[
            ("stale-broker", "One broker with an old view names the controller of before, which itself knows better."),
            ("no-controller", "Nobody acts as controller."),
        ],
        shadows: &["brokers-disagree"],
        versions: "with ZooKeeper, mostly below 2.1 (KAFKA-6082)",
        sources: &["KAFKA-6082", "core/.../controller/KafkaController.scala (controller epoch)"],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let lasting =
        facts.memory.controllers_differ_since.is_some_and(|since| millis_between(since, facts.now) >= SETTLED_MS);
    let acting = facts.two_controllers();
    if !lasting || acting.is_empty() {
        return Vec::new();
    }
    vec![explain(context, acting)]
}

fn explain(context: &Context<'_, '_>, acting: Vec<BrokerId>) -> Finding {
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!(
            "{} both act as controller: leaders that one of them elects are not known to the other.",
            super::capital(&words::brokers(&acting))
        ),
    );
    finding.outlook = Some(
        "It may end by itself when the old one notices. What it wrote meanwhile stays, and can keep a later election from \
         happening."
            .to_owned(),
    );
    for (controller, by) in context.facts.controllers_named() {
        let verb = if by.len() == 1 { "names" } else { "name" };
        let who = super::capital(&words::brokers(&by));
        finding.evidence.push(seen_(format!("{who} {verb} broker {controller} as controller.")));
    }
    finding
        .evidence
        .push(not_seen("Which one ZooKeeper holds for controller: Unstuck does not look there.".to_owned()));
    finding.avoid.push(Avoid {
        what: "Do not stop other brokers, and run no reassignment, before one controller is left".to_owned(),
        why: "Each of the two would handle it from its own memory.".to_owned(),
    });
    let commands = context.commands();
    finding.remedies.extend(commands.zookeeper("get /controller").map(|command| {
        Remedy::new("See who is controller", "The true one is named there; the other one does not know yet.")
            .looks(command)
    }));
    finding.remedies.extend(commands.zookeeper("delete /controller").map(|command| {
        Remedy::new(
            "Make ZooKeeper choose a new controller",
            "It reads the true state from ZooKeeper and elects what is missing.",
        )
        .command(command, "A broker becomes controller under a higher epoch; no data changes.")
        .danger(Risk::Pause, "No elections for some seconds. Add your chroot to the path, if the cluster has one.")
        .verify("All brokers name the same controller.")
        .undo("Needs none: any broker can be controller.")
    }));
    finding.remedies.push(
        restart_one_of(
            context,
            &acting,
            format!("Then restart the one of {} that still takes itself for the controller", words::brokers(&acting)),
            "It forgets what it remembered.",
        )
        .verify("All brokers name the same controller."),
    );
    finding.remedies.push(Remedy::new(
        "Upgrade to 2.1 or newer, if the cluster is older",
        "From 2.1 on ZooKeeper refuses the writes of a controller whose epoch has passed (KAFKA-6082).",
    ));
    finding.brokers = acting;
    finding
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    fn split() -> Sample {
        Sample::zookeeper(3, 3, 3).names_controller(1, Some(1))
    }

    #[test]
    fn both_name_themselves() {
        insta::assert_snapshot!(text(&split().later(20).report(), super::SLUG), @"
        [error] Brokers 1 and 2 both act as controller: leaders that one of them elects are not known to the other.
          outlook: It may end by itself when the old one notices. What it wrote meanwhile stays, and can keep a later election from happening.
          seen: Broker 1 names broker 1 as controller.
          seen: Brokers 2 and 3 name broker 2 as controller.
          not seen: Which one ZooKeeper holds for controller: Unstuck does not look there.
          -> See who is controller: The true one is named there; the other one does not know yet.
             if (not known): ZOOKEEPER:2181 is replaced by the address that the brokers have as zookeeper.connect
             $ zookeeper-shell.sh ZOOKEEPER:2181 get /controller
          -> Make ZooKeeper choose a new controller: It reads the true state from ZooKeeper and elects what is missing.
             if (not known): ZOOKEEPER:2181 is replaced by the address that the brokers have as zookeeper.connect
             $ zookeeper-shell.sh ZOOKEEPER:2181 delete /controller
             changes: A broker becomes controller under a higher epoch; no data changes.
             ! (groups may pause for a moment) No elections for some seconds. Add your chroot to the path, if the cluster has one.
             verify: All brokers name the same controller.
             undo: Needs none: any broker can be controller.
          -> Then restart the one of brokers 1 and 2 that still takes itself for the controller: It forgets what it remembered.
             if (met): none of brokers 1 and 2 is the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has one of them alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: All brokers name the same controller.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
          -> Upgrade to 2.1 or newer, if the cluster is older: From 2.1 on ZooKeeper refuses the writes of a controller whose epoch has passed (KAFKA-6082).
          avoid: Do not stop other brokers, and run no reassignment, before one controller is left: Each of the two would handle it from its own memory.
        ");
    }

    #[test]
    fn a_change_of_controller_takes_a_moment() {
        assert!(!slugs(&split().later(5).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn an_old_view_of_the_controller_is_no_second_one() {
        let sample = Sample::zookeeper(3, 3, 3).names_controller(3, Some(1)).later(20);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn in_kraft_the_id_is_fiction() {
        let sample = Sample::kraft(3, 3, 3).names_controller(1, Some(1)).later(20);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_controller_that_does_not_answer_could_not_be_told() {
        let sample = split().gone(1).later(20);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
