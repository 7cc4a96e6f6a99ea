//! What the account may do, as far as the answers that it got tell: for `unstuck doctor`, and for `docs/permissions.md`.
//!
//! A right counts as there only where an answer proves it. Kafka filters many answers silently (KIP-231): a listing from
//! which groups or topics may be missing looks like a whole one, so such a feature is never called permitted as a whole.

use serde::{Deserialize, Serialize};

use crate::commands::Commands;
use crate::facts::Facts;
use crate::memory::Memory;
use crate::snapshot::{BrokerSight, Observed, Snapshot, TRANSACTION_STATE, Why};
use crate::{BrokerId, GroupId, OFFSETS_TOPIC, rights, words};

/// What is known about a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permit {
    /// An answer proves it.
    Permitted,
    /// An answer says that it is missing.
    Missing,
    /// No answer tells.
    NotTold,
}

/// A thing that Unstuck looks at, and whether this account may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    /// Its short name, such as `coordinators`.
    pub feature: String,
    /// What is looked at.
    pub looks_at: String,
    /// The right that it needs: `OPERATION on RESOURCE`; `*` is all of a kind, a name that ends in it a prefix.
    pub right: String,
    /// Whether it is there.
    pub permit: Permit,
    /// What the answers were.
    pub sentence: String,
    /// What is not told without it.
    pub without: String,
    /// The command that grants it.
    pub command: Option<String>,
}

/// What came of looking inside groups that were listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// Groups that were described.
    pub described: Vec<GroupId>,
    /// Groups that this account may not describe.
    pub denied: Vec<GroupId>,
}

/// A feature, for the table and the handbook.
pub struct Feature {
    /// Its short name.
    pub slug: &'static str,
    /// What is looked at.
    pub looks_at: &'static str,
    /// The right; `{canary}` stands for the prefix of made-up ids.
    pub right: &'static str,
    /// What is not told without it.
    pub without: &'static str,
    /// Whether a verdict on a group needs it.
    pub smallest: bool,
    judge: fn(&Answers<'_>) -> (Permit, String),
}

/// All features, those first that a verdict needs.
pub const FEATURES: [Feature; 13] = [
    Feature {
        slug: "offsets-topic",
        looks_at: "leaders, replicas and ISR of __consumer_offsets",
        right: "DESCRIBE on TOPIC __consumer_offsets",
        without: "Nothing can be said about any group.",
        smallest: true,
        judge: offsets_topic,
    },
    Feature {
        slug: "coordinators",
        looks_at: "whether each coordinator serves, and the proof of the placement",
        right: "DESCRIBE on GROUP {canary}*",
        without: "A coordinator that hangs, loads or failed to load cannot be told from one that works.",
        smallest: true,
        judge: coordinators,
    },
    Feature {
        slug: "all-groups",
        looks_at: "all groups",
        right: "DESCRIBE on CLUSTER",
        without: "Groups that the account may not describe are left out, so no group is ever said not to exist.",
        smallest: false,
        judge: all_groups,
    },
    Feature {
        slug: "groups-inside",
        looks_at: "members, offsets and lag of groups",
        right: "DESCRIBE on GROUP *",
        without: "Where the coordinator works, the cause within the group is not looked for.",
        smallest: false,
        judge: groups_inside,
    },
    Feature {
        slug: "other-topics",
        looks_at: "partitions of other topics: those without a leader, and lag",
        right: "DESCRIBE on TOPIC *",
        without: "Partitions of hidden topics that have no leader are not seen, and the lag on them is not known.",
        smallest: false,
        judge: other_topics,
    },
    Feature {
        slug: "broker-settings",
        looks_at: "settings of brokers",
        right: "DESCRIBE_CONFIGS on CLUSTER",
        without: "Bounds such as session timeouts are assumed, and said to be.",
        smallest: false,
        judge: |answers| answers.facts(|sight| state(&sight.configs)),
    },
    Feature {
        slug: "topic-settings",
        looks_at: "settings of __consumer_offsets",
        right: "DESCRIBE_CONFIGS on TOPIC __consumer_offsets",
        without: "min.insync.replicas is not known, so refused commits may stay unexplained.",
        smallest: false,
        judge: |answers| answers.facts(|sight| state(&sight.topic_configs)),
    },
    Feature {
        slug: "quorum",
        looks_at: "the controller and its quorum",
        right: "DESCRIBE on CLUSTER",
        without: "In KRaft mode a missing controller is not seen.",
        smallest: false,
        judge: |answers| answers.facts(|sight| state(&sight.quorum)),
    },
    Feature {
        slug: "log-dirs",
        looks_at: "log directories: failed ones, and space",
        right: "DESCRIBE on CLUSTER",
        without: "Failed log directories and full disks are not seen.",
        smallest: false,
        judge: |answers| answers.facts(|sight| state(&sight.log_dirs)),
    },
    Feature {
        slug: "reassignments",
        looks_at: "running reassignments",
        right: "DESCRIBE on CLUSTER",
        without: "A reassignment that hangs is seen by its replicas only.",
        smallest: false,
        judge: |answers| answers.facts(|sight| state(&sight.reassignments)),
    },
    Feature {
        slug: "transaction-coordinators",
        looks_at: "whether transaction coordinators serve",
        right: "DESCRIBE on TRANSACTIONAL_ID {canary}*",
        without: "Lookups of transactional ids end at the leader of their partition.",
        smallest: false,
        judge: transaction_coordinators,
    },
    Feature {
        slug: "open-transactions",
        looks_at: "transactions that have been open for long",
        right: "DESCRIBE on TRANSACTIONAL_ID *",
        without: "Transactions of ids that the account may not describe are left out.",
        smallest: false,
        judge: open_transactions,
    },
    Feature {
        slug: "producers",
        looks_at: "producers whose open transaction holds offsets back",
        right: "READ on TOPIC __consumer_offsets",
        without: "A hanging transaction on __consumer_offsets is not seen. The right lets its owner read all committed \
                  offsets too: grant it only where that may be.",
        smallest: false,
        judge: |answers| answers.facts(|sight| state(&sight.producers)),
    },
];

/// What this account may do on a cluster, in the order of [`FEATURES`].
#[must_use]
pub fn permissions(snapshot: &Snapshot, memory: &Memory, inside: &Inside) -> Vec<Permission> {
    let facts = Facts::draw(snapshot, memory, snapshot.taken_at);
    let commands = Commands::new(&facts);
    let answers = Answers { snapshot, inside };
    let canary = answers.canary_prefix().to_owned();
    let permission = |feature: &Feature| {
        let right = feature.right.replace("{canary}", &canary);
        let (permit, sentence) = (feature.judge)(&answers);
        Permission {
            feature: feature.slug.to_owned(),
            looks_at: feature.looks_at.to_owned(),
            permit,
            sentence,
            without: feature.without.to_owned(),
            command: rights::command(&commands, &right),
            right,
        }
    };
    FEATURES.iter().map(permission).collect()
}

/// What the rules above look at.
struct Answers<'a> {
    snapshot: &'a Snapshot,
    inside: &'a Inside,
}

/// What one broker tells about a right.
enum Told {
    Yes,
    No,
    /// Neither; the reason, if there is one.
    Nothing(Option<String>),
}

fn state<T>(fact: &Observed<T>) -> Told {
    match fact {
        Observed::Known(_) => Told::Yes,
        Observed::NotAsked => Told::Nothing(None),
        Observed::Unavailable(lost) => match &lost.why {
            Why::NotPermitted(_) => Told::No,
            why => Told::Nothing(Some(why.to_string())),
        },
    }
}

impl Answers<'_> {
    fn sights(&self) -> impl Iterator<Item = (BrokerId, &BrokerSight)> {
        self.snapshot.brokers.iter().map(|(id, sight)| (*id, sight))
    }

    fn canary_prefix(&self) -> &str {
        let made_up = self.sights().find_map(|(_, sight)| sight.canaries.values().next());
        made_up.map_or("unstuck-canary", |canary| rights::prefix_of(&canary.group))
    }

    /// Whether brokers tell a fact that needs a right. One refusal says that it is missing, whatever others answer.
    fn facts(&self, tell: impl Fn(&BrokerSight) -> Told) -> (Permit, String) {
        let (mut yes, mut no, mut why) = (Vec::new(), Vec::new(), None);
        for (id, sight) in self.sights() {
            match tell(sight) {
                Told::Yes => yes.push(id),
                Told::No => no.push(id),
                Told::Nothing(reason) => why = why.or(reason),
            }
        }
        if !no.is_empty() {
            return (Permit::Missing, format!("Refused by {}.", words::brokers(&no)));
        }
        if !yes.is_empty() {
            return (Permit::Permitted, format!("Answered by {}.", words::brokers(&yes)));
        }
        let why = why.map_or_else(|| "No broker was asked.".to_owned(), |why| format!("No broker told: {why}."));
        (Permit::NotTold, why)
    }
}

fn offsets_topic(answers: &Answers<'_>) -> (Permit, String) {
    let hidden = |sight: &BrokerSight| {
        let refused = |why: &Why| matches!(why, Why::NotPermitted(right) if right.ends_with(OFFSETS_TOPIC));
        // DescribeConfigs tells a hidden topic from a missing one (29 or 3), Metadata does not.
        sight.topic_configs.unavailable().is_some_and(|lost| refused(&lost.why))
            && sight.metadata.known().is_some_and(|view| view.offsets_topic.is_none())
    };
    answers.facts(|sight| match sight.metadata.known() {
        Some(view) if view.offsets_topic.as_ref().is_some_and(|topic| topic.error == 0) => Told::Yes,
        Some(view) if view.offsets_topic.as_ref().is_some_and(|topic| topic.error == 29) || hidden(sight) => Told::No,
        Some(_) => {
            Told::Nothing(Some("it is not listed, so it is hidden from this account or not made yet".to_owned()))
        }
        None => Told::Nothing(sight.metadata.unavailable().map(|lost| lost.why.to_string())),
    })
}

fn coordinators(answers: &Answers<'_>) -> (Permit, String) {
    answers.facts(|sight| match sight.canaries.values().next() {
        None => Told::Nothing(None),
        Some(_) if sight.canaries.values().any(|canary| canary.code == 30) => Told::No,
        Some(_) => Told::Yes,
    })
}

fn all_groups(answers: &Answers<'_>) -> (Permit, String) {
    answers.facts(|sight| match &sight.describe_cluster_permitted {
        Observed::Known(true) => Told::Yes,
        Observed::Known(false) => Told::No,
        other => state(other),
    })
}

fn groups_inside(answers: &Answers<'_>) -> (Permit, String) {
    let Inside { described, denied } = answers.inside;
    if let Some(group) = denied.first() {
        return (Permit::Missing, format!("Group {} may not be described.", crate::visible(group.as_str())));
    }
    let all = answers.sights().any(|(_, sight)| matches!(sight.describe_cluster_permitted, Observed::Known(true)));
    let listed: usize =
        answers.sights().filter_map(|(_, sight)| sight.groups.known()).map(|listing| listing.groups.len()).sum();
    match (described.len(), listed) {
        (0, 0) if all => (Permit::NotTold, "No group is there to be looked at.".to_owned()),
        (0, 0) => (Permit::NotTold, "No group is listed: there is none, or this account may describe none.".to_owned()),
        (0, _) => (Permit::NotTold, "No group was looked at.".to_owned()),
        (n, _) if all => {
            let looked = words::count(n, "group");
            (Permit::Permitted, format!("{looked} could be looked at; rights on others may differ."))
        }
        (n, _) => {
            let (looked, listed) = (words::count(n, "group"), words::count(listed, "group"));
            (
                Permit::NotTold,
                format!("{looked} could be looked at, of {listed} listed; others are left out of the list."),
            )
        }
    }
}

fn other_topics(answers: &Answers<'_>) -> (Permit, String) {
    let Observed::Known(view) = &answers.snapshot.client else {
        let why = answers.snapshot.client.unavailable().map(|lost| format!("No broker told: {}.", lost.why));
        return (Permit::NotTold, why.unwrap_or_else(|| "No broker was asked.".to_owned()));
    };
    let listed = words::count(view.topic_count, "topic");
    (Permit::NotTold, format!("Listed: {listed}; a topic that this account may not describe is left out."))
}

fn transaction_coordinators(answers: &Answers<'_>) -> (Permit, String) {
    let (permit, sentence) = answers.facts(|sight| match sight.transaction_canaries.values().next() {
        None => Told::Nothing(None),
        Some(_) if sight.transaction_canaries.values().any(|canary| canary.code == 53) => Told::No,
        Some(_) => Told::Yes,
    });
    if permit == Permit::NotTold {
        return (permit, format!("{TRANSACTION_STATE} is not listed, so there is nobody to ask."));
    }
    (permit, sentence)
}

fn open_transactions(answers: &Answers<'_>) -> (Permit, String) {
    let told = |(_, sight): (BrokerId, &BrokerSight)| Some(sight.open_transactions.known()?.ongoing);
    let counts: Vec<usize> = answers.sights().filter_map(told).collect();
    if counts.is_empty() {
        return answers.facts(|sight| state(&sight.open_transactions));
    }
    let listed = words::count(counts.iter().sum(), "open transaction");
    (Permit::NotTold, format!("Listed: {listed}; those of ids that this account may not describe are left out."))
}

#[cfg(test)]
mod tests;
