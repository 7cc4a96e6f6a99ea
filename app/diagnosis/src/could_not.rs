//! Everything that was asked for in vain, each with its reason: nothing is dropped silently.
//!
//! One line for each fact and reason; brokers with the same reason share it, and so do facts that lack the same right.

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::Commands;
use crate::facts::{Controller, Facts};
use crate::report::{BrokerState, CouldNotObserve, PlacementProof};
use crate::snapshot::{BrokerSight, Observed, Unavailable, Why};
use crate::{BrokerId, rights, words};

/// Facts in the order in which several are named in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    OwnView,
    Groups,
    Settings,
    TopicSettings,
    StateTopicSettings,
    LogDirs,
    Reassignments,
    Quorum,
    Eligible,
    Coordinators,
    OpenTransactions,
    Producers,
    TransactionCoordinators,
}

impl Fact {
    fn noun(self) -> &'static str {
        match self {
            Self::OwnView => "own view",
            Self::Groups => "groups",
            Self::Settings => "settings",
            Self::TopicSettings => "settings of __consumer_offsets",
            Self::StateTopicSettings => "settings of other coordinators' topics",
            Self::LogDirs => "log directories",
            Self::Reassignments => "running reassignments",
            Self::Quorum => "the quorum",
            Self::Eligible => "eligible leader replicas",
            Self::Coordinators => "coordinators",
            Self::OpenTransactions => "open transactions",
            Self::Producers => "producers with open transactions",
            Self::TransactionCoordinators => "whether transaction coordinators serve",
        }
    }

    /// The fact of these brokers alone.
    fn of(self, brokers: &str) -> String {
        let noun = self.noun();
        match self {
            Self::OwnView => format!("{brokers}'s own view"),
            Self::Groups | Self::TransactionCoordinators => format!("{noun} on {brokers}"),
            Self::Settings | Self::LogDirs => format!("{noun} of {brokers}"),
            Self::Quorum | Self::Reassignments => format!("{noun} as seen by {brokers}"),
            Self::Coordinators => format!("{noun} as named by {brokers}"),
            Self::TopicSettings
            | Self::StateTopicSettings
            | Self::Eligible
            | Self::OpenTransactions
            | Self::Producers => format!("{noun} at {brokers}"),
        }
    }

    /// What is said of old releases only where it is missed: few clusters have these facts to look at at all.
    fn is_news_of_later_releases(self) -> bool {
        matches!(
            self,
            Self::LogDirs
                | Self::Reassignments
                | Self::OpenTransactions
                | Self::Producers
                | Self::StateTopicSettings
                | Self::TransactionCoordinators
        )
    }
}

/// The right that is missing, or the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Right(String),
    Words(String),
}

/// Everything that could not be observed.
pub(crate) fn could_not_observe(facts: &Facts<'_>, proof: &PlacementProof) -> Vec<CouldNotObserve> {
    let mut missing = of_brokers(facts);
    let mut note = |what: &str, why: String| {
        missing.push(CouldNotObserve { what: what.to_owned(), why, ..CouldNotObserve::default() });
    };
    match &facts.snapshot.client {
        Observed::Unavailable(unavailable) => note("partitions of other topics", unavailable.why.to_string()),
        Observed::NotAsked => note("partitions of other topics", "not asked yet".to_owned()),
        Observed::Known(_) => {}
    }
    if let Controller::NotKnown(why) = &facts.controller {
        note("the controller", why.clone());
    }
    if let PlacementProof::Unproven { sentence } | PlacementProof::Contradicted { sentence } = proof {
        note("proof of the placement", sentence.clone());
    }
    missing.sort();
    missing.dedup();
    missing
}

fn of_brokers(facts: &Facts<'_>) -> Vec<CouldNotObserve> {
    let mut brokers: BTreeMap<(Fact, Reason), BTreeSet<BrokerId>> = BTreeMap::new();
    for (broker, why) in crate::groups::missing_listings(facts).into_iter().filter(|(_, why)| why != "not asked yet") {
        brokers.entry((Fact::Groups, Reason::Words(why))).or_default().insert(broker);
    }
    for (&id, sight) in &facts.snapshot.brokers {
        for (fact, why) in missing_of(facts, id, sight) {
            let reason = match why {
                Why::NotPermitted(right) => Reason::Right(right),
                why => Reason::Words(why.to_string()),
            };
            brokers.entry((fact, reason)).or_default().insert(id);
        }
    }
    // Facts that lack the same right at the same brokers.
    let mut lines: BTreeMap<(Reason, BTreeSet<BrokerId>), Vec<Vec<Fact>>> = BTreeMap::new();
    for ((fact, reason), ids) in brokers {
        let together = matches!(reason, Reason::Right(_));
        let facts = lines.entry((reason, ids)).or_default();
        match facts.first_mut().filter(|_| together) {
            Some(first) => first.push(fact),
            None => facts.push(vec![fact]),
        }
    }
    let commands = Commands::new(facts);
    let line = |reason: &Reason, ids: &BTreeSet<BrokerId>, together: &[Fact]| {
        let named = words::brokers(ids);
        let what = match together {
            [one] => one.of(&named),
            many => format!("{} ({named})", words::list(&many.iter().map(|fact| fact.noun()).collect::<Vec<_>>())),
        };
        let why = match reason {
            Reason::Words(words) => words.clone(),
            Reason::Right(right) => match rights::command(&commands, right) {
                Some(command) => format!("needs {right}: {command}"),
                None => format!("needs {right}"),
            },
        };
        CouldNotObserve { what, why, brokers: ids.iter().copied().collect() }
    };
    lines
        .iter()
        .flat_map(|((reason, ids), facts)| facts.iter().map(move |together| (reason, ids, together)))
        .map(|(reason, ids, together)| line(reason, ids, together))
        .collect()
}

/// What one broker did not tell. Of one that does not answer only that: the rest follows.
fn missing_of(facts: &Facts<'_>, id: BrokerId, sight: &BrokerSight) -> Vec<(Fact, Why)> {
    if !matches!(facts.state(id), BrokerState::Answering | BrokerState::Late) {
        let trouble = sight.contact.trouble.as_ref().map(|trouble| trouble.why.clone());
        return trouble.map(|why| (Fact::OwnView, why)).into_iter().collect();
    }
    let asked = [
        (Fact::Settings, sight.configs.unavailable()),
        (Fact::TopicSettings, sight.topic_configs.unavailable()),
        (Fact::StateTopicSettings, sight.state_topic_configs.unavailable()),
        (Fact::LogDirs, sight.log_dirs.unavailable()),
        (Fact::Reassignments, sight.reassignments.unavailable().filter(|_| !reassignments_known(facts))),
        (Fact::Quorum, sight.quorum.unavailable()),
        (Fact::Eligible, sight.elr.unavailable()),
        (Fact::Coordinators, sight.coordinators.unavailable()),
        (Fact::OpenTransactions, sight.open_transactions.unavailable()),
        (Fact::Producers, sight.producers.unavailable()),
    ];
    let missed = |(fact, unavailable): (Fact, Option<&Unavailable>)| {
        let why = &unavailable?.why;
        let nothing_to_ask = *why == Why::NoOffsetsTopic;
        let never_told = matches!(why, Why::TooOld(_)) && fact.is_news_of_later_releases();
        (!nothing_to_ask && !never_told).then(|| (fact, why.clone()))
    };
    let mut missing: Vec<_> = asked.into_iter().filter_map(missed).collect();
    missing.extend(transaction_canaries_denied(sight).map(|why| (Fact::TransactionCoordinators, why)));
    missing
}

fn reassignments_known(facts: &Facts<'_>) -> bool {
    facts.snapshot.brokers.values().any(|sight| sight.reassignments.known().is_some())
}

/// Error 53 for all made-up transactional ids: the account may not describe them.
fn transaction_canaries_denied(sight: &BrokerSight) -> Option<Why> {
    let first = sight.transaction_canaries.values().next()?;
    let denied = sight.transaction_canaries.values().all(|canary| canary.code == 53);
    let prefix = rights::prefix_of(&first.group);
    denied.then(|| Why::NotPermitted(format!("DESCRIBE on TRANSACTIONAL_ID {prefix}*")))
}

#[cfg(test)]
mod tests {
    use crate::sample::Sample;
    use crate::snapshot::{TRANSACTION_STATE, Why};

    fn text(sample: &Sample) -> String {
        let report = sample.report();
        report.could_not_observe.iter().map(|gap| format!("{}: {}\n", gap.what, gap.why)).collect()
    }

    #[test]
    fn nothing_is_missing_while_all_answer() {
        assert_eq!(text(&Sample::kraft(3, 3, 3)), "");
        assert_eq!(text(&Sample::zookeeper(3, 3, 3)), "");
    }

    #[test]
    fn brokers_with_the_same_reason_share_a_line() {
        let report = Sample::kraft(3, 3, 3).gone(2).gone(3).report();
        let own = report.could_not_observe.iter().find(|gap| gap.what.contains("own view")).expect("a line");
        assert_eq!(own.brokers, [2, 3]);
        insta::assert_snapshot!(text(&Sample::kraft(3, 3, 3).gone(2).gone(3)), @"
        brokers 2 and 3's own view: connection refused
        groups on brokers 2 and 3: connection refused
        ");
    }

    #[test]
    fn what_lacks_one_right_shares_a_line_with_its_command() {
        let denied = |right: &str| Why::NotPermitted(right.to_owned());
        let sample = Sample::kraft(3, 3, 3)
            .no_configs()
            .log_dirs_denied()
            .no_reassignments(denied("DESCRIBE on CLUSTER"))
            .quorum_denied()
            .no_producers(denied("READ on TOPIC __consumer_offsets"));
        insta::assert_snapshot!(text(&sample), @"
        log directories, running reassignments and the quorum (brokers 1, 2 and 3): needs DESCRIBE on CLUSTER: kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation Describe --cluster
        producers with open transactions at brokers 1, 2 and 3: needs READ on TOPIC __consumer_offsets: kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation Read --topic __consumer_offsets
        settings and settings of __consumer_offsets (brokers 1, 2 and 3): needs DESCRIBE_CONFIGS on CLUSTER: kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation DescribeConfigs --cluster
        the controller: needs DESCRIBE on CLUSTER
        ");
    }

    #[test]
    fn denied_transactional_ids_are_told_with_their_prefix() {
        let mut sample = Sample::kraft(3, 3, 3).state_topic(TRANSACTION_STATE, 2, 3);
        for broker in [1, 2, 3] {
            sample = sample.transaction_canary(broker, 0, 53).transaction_canary(broker, 1, 53);
        }
        insta::assert_snapshot!(text(&sample), @"whether transaction coordinators serve on brokers 1, 2 and 3: needs DESCRIBE on TRANSACTIONAL_ID unstuck-canary*: kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation Describe --transactional-id unstuck-canary --resource-pattern-type prefixed");
    }

    #[test]
    fn what_old_releases_never_had_is_not_missed() {
        let too_old = |api: &str| Why::TooOld(api.to_owned());
        let sample = Sample::zookeeper(3, 3, 3)
            .no_transactions(too_old("ListTransactions"))
            .no_producers(too_old("DescribeProducers"))
            .no_reassignments(too_old("ListPartitionReassignments"));
        assert_eq!(text(&sample), "");
    }
}
