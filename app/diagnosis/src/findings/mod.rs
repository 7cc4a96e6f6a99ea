//! The rules: one file each. A rule reads the [`Context`] and returns findings; it closes by no longer returning them.
//!
//! To add one: a file here with its slug, its `check`, and its tests (it is so, it is not so, it could not be told);
//! a line in [`RULES`]; `make docs` writes it into `docs/findings.md`. Rules that explain a verdict select partitions by
//! the [`Cause`](crate::verdict::Cause) that [`judge`](crate::verdict::judge) found, so that both say the same.

use std::collections::BTreeMap;

pub(crate) use data_partition_without_leader::SLUG as DATA_PARTITION_WITHOUT_LEADER;

use crate::commands::Commands;
use crate::facts::Facts;
use crate::handbook::Entry;
use crate::report::{Evidence, Finding, PlacementProof, Remedy, Severity, Strength};
use crate::verdict::{Cause, PartitionVerdict};
use crate::{BrokerId, PartitionId};

mod advertised_address;
mod bootstrap_unusable;
mod broker_counts_none;
mod broker_down;
mod broker_ids_unknown;
mod broker_not_reachable;
mod brokers_disagree;
mod cleanup_policy;
mod commits_wait;
mod coordinator_failed;
mod coordinator_loading;
mod coordinator_silent;
mod create_offsets_topic;
mod data_partition_single_copy;
mod data_partition_without_leader;
mod ghost_group;
mod groups_not_listed;
mod hanging_transaction;
mod isr_below_min;
mod keeps_out;
mod leader_flapping;
mod leader_lost;
mod leader_outside_isr;
mod leader_silent;
mod leader_skew;
mod listener_missing;
mod log_dir_failed;
mod min_isr_without_headroom;
mod no_controller;
mod no_leader_live_replica;
mod no_leader_no_live_replica;
mod not_permitted;
mod offsets_may_be_lost;
mod offsets_topic_missing;
mod one_holds_all;
mod partition_count_config;
mod partition_large;
mod placement_differs;
mod reassignment_running;
mod replication_factor;
pub(crate) mod restart;
#[cfg(test)]
mod rolling_restart;
mod served_but_not_found;
mod state_topics;
mod topic_flaps;
mod two_controllers;
mod unclean_election_enabled;
mod under_replicated;
mod ways_out;

/// What rules read.
pub(crate) struct Context<'a, 'b> {
    pub(crate) facts: &'b Facts<'a>,
    pub(crate) proof: &'b PlacementProof,
    pub(crate) verdicts: &'b BTreeMap<PartitionId, PartitionVerdict>,
}

/// A rule: the chapters of the handbook about what it finds, and how it finds it.
pub(crate) struct Rule {
    pub(crate) entries: &'static [Entry],
    pub(crate) check: fn(&Context<'_, '_>) -> Vec<Finding>,
}

/// All rules. The order breaks ties between findings of equal severity.
const RULES: &[&Rule] = &[
    &listener_missing::RULE,
    &log_dir_failed::RULE,
    &broker_ids_unknown::RULE,
    &no_leader_no_live_replica::RULE,
    &no_leader_live_replica::RULE,
    &served_but_not_found::RULE,
    &leader_lost::RULE,
    &leader_silent::RULE,
    &coordinator_silent::RULE,
    &isr_below_min::RULE,
    &commits_wait::RULE,
    &coordinator_failed::RULE,
    &no_controller::RULE,
    &offsets_topic_missing::RULE,
    &broker_counts_none::RULE,
    &topic_flaps::RULE,
    &placement_differs::RULE,
    &partition_count_config::RULE,
    &two_controllers::RULE,
    &brokers_disagree::RULE,
    &leader_outside_isr::RULE,
    &ghost_group::RULE,
    &offsets_may_be_lost::RULE,
    &state_topics::RULE,
    &hanging_transaction::RULE,
    &leader_flapping::RULE,
    &partition_large::RULE,
    &advertised_address::RULE,
    &reassignment_running::RULE,
    &broker_not_reachable::RULE,
    &not_permitted::RULE,
    &coordinator_loading::RULE,
    &bootstrap_unusable::RULE,
    &data_partition_without_leader::RULE,
    &broker_down::RULE,
    &cleanup_policy::RULE,
    &replication_factor::RULE,
    &one_holds_all::RULE,
    &min_isr_without_headroom::RULE,
    &under_replicated::RULE,
    &unclean_election_enabled::RULE,
    &leader_skew::RULE,
    &data_partition_single_copy::RULE,
    &groups_not_listed::RULE,
];

/// The chapters of the handbook about findings of clusters.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    RULES.iter().flat_map(|rule| rule.entries)
}

/// All findings: worst first, and what merely follows from another one at the end.
pub(crate) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| (rule.check)(context)).collect();
    let commands = context.commands();
    for remedy in findings.iter_mut().flat_map(|finding| &mut finding.remedies) {
        commands.annotate(remedy);
    }
    shadow(&mut findings);
    findings.sort_by_key(|finding| (finding.follows_from.is_some(), std::cmp::Reverse(finding.severity)));
    findings
}

/// Marks findings that merely follow from another one about the same partitions and brokers. What follows is still
/// shown: only its place and its weight change.
pub(crate) fn shadow(findings: &mut [Finding]) {
    let causes: Vec<(&Entry, Vec<PartitionId>, Vec<BrokerId>)> = findings
        .iter()
        .filter_map(|finding| {
            let entry = entries().find(|entry| entry.slug == finding.slug && !entry.shadows.is_empty())?;
            Some((entry, finding.partitions.clone(), finding.brokers.clone()))
        })
        .collect();
    for finding in findings {
        let cause = causes.iter().find(|(entry, partitions, brokers)| {
            entry.slug != finding.slug
                && !(finding.partitions.is_empty() && finding.brokers.is_empty())
                && entry.shadows.contains(&finding.slug.as_str())
                && finding.partitions.iter().all(|partition| partitions.contains(partition))
                && finding.brokers.iter().all(|broker| brokers.contains(broker))
        });
        finding.follows_from = cause.map(|(entry, ..)| entry.slug.to_owned());
    }
}

impl Context<'_, '_> {
    /// Partitions grouped by a key that `select` takes from their verdict; those without are left out.
    pub(crate) fn group_by<K: Ord>(
        &self,
        select: impl Fn(&PartitionVerdict) -> Option<K>,
    ) -> BTreeMap<K, Vec<PartitionId>> {
        let mut groups: BTreeMap<K, Vec<PartitionId>> = BTreeMap::new();
        for (&partition, verdict) in self.verdicts {
            if let Some(key) = select(verdict) {
                groups.entry(key).or_default().push(partition);
            }
        }
        groups
    }

    /// How many known groups live on these partitions.
    pub(crate) fn group_count(&self, partitions: &[PartitionId]) -> usize {
        let by_partition = &self.facts.memory.groups.by_partition;
        partitions.iter().filter_map(|partition| by_partition.get(partition)).map(std::collections::BTreeSet::len).sum()
    }

    /// `17 of 50 partitions of __consumer_offsets`, with the groups on them where any are known.
    pub(crate) fn reach(&self, partitions: &[PartitionId]) -> String {
        let total = self.facts.partitions.len();
        let groups = self.group_count(partitions);
        let which = match partitions {
            [one] => format!("partition {one} of __consumer_offsets"),
            many if many.len() == total => format!("all {total} partitions of __consumer_offsets"),
            many => format!("{} of {total} partitions of __consumer_offsets", many.len()),
        };
        if groups == 0 { which } else { format!("{which} ({})", crate::words::count(groups, "known group")) }
    }

    /// Kafka's own tools as this cluster has them.
    pub(crate) fn commands(&self) -> Commands {
        Commands::new(self.facts)
    }

    /// `broker 1 (10.0.0.1:9092)`.
    pub(crate) fn broker(&self, id: BrokerId) -> String {
        match self.facts.snapshot.brokers.get(&id).and_then(|sight| sight.address.as_ref()) {
            Some(address) => format!("broker {id} ({address})"),
            None => format!("broker {id}"),
        }
    }

    /// What the latest attempt to reach a broker met: `connection refused`.
    pub(crate) fn trouble(&self, id: BrokerId) -> String {
        let trouble = self.facts.snapshot.brokers.get(&id).and_then(|sight| sight.contact.trouble.as_ref());
        trouble.map_or_else(|| "no answer".to_owned(), |trouble| trouble.why.to_string())
    }

    /// Evidence for what the brokers that answer say of a partition's leader.
    pub(crate) fn everyone_says_no_leader(&self, partition: PartitionId) -> Evidence {
        let Some(seen) = self.facts.partitions.get(&partition) else { return not_seen("no broker answers".to_owned()) };
        let who: Vec<_> = seen.views.iter().filter(|(_, view)| view.leader.is_none()).map(|(&id, _)| id).collect();
        let epoch = seen.newest.leader_epoch.map(|epoch| format!(", leader epoch {epoch}")).unwrap_or_default();
        let verb = if who.len() == 1 { "says" } else { "say" };
        let last = if self.facts.stale { " when last heard" } else { "" };
        seen_(format!("{} {verb}{last}: no leader{epoch}.", capital(&crate::words::brokers(&who))))
    }
}

/// The first letter in upper case.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Whether a verdict has this cause.
pub(crate) fn cause<T>(select: impl Fn(&Cause) -> Option<T>) -> impl Fn(&PartitionVerdict) -> Option<T> {
    move |verdict| select(&verdict.cause)
}

pub(crate) fn seen_(text: String) -> Evidence {
    Evidence { strength: Strength::Seen, text }
}

pub(crate) fn likely(text: String) -> Evidence {
    Evidence { strength: Strength::Likely, text }
}

pub(crate) fn not_seen(text: String) -> Evidence {
    Evidence { strength: Strength::NotSeen, text }
}

/// A remedy without a command and without danger.
pub(crate) fn step(title: impl Into<String>, why: impl Into<String>) -> Remedy {
    Remedy::new(title, why)
}

/// A finding with no outlook, evidence, remedies, partitions or brokers yet.
pub(crate) fn finding(slug: &str, severity: Severity, sentence: String) -> Finding {
    debug_assert!(crate::handbook::entry(slug).is_some(), "{slug} has no chapter in the handbook");
    Finding {
        slug: slug.to_owned(),
        severity,
        sentence,
        outlook: None,
        evidence: Vec::new(),
        remedies: Vec::new(),
        partitions: Vec::new(),
        brokers: Vec::new(),
        avoid: Vec::new(),
        follows_from: None,
    }
}

/// `Expected by 15:48:44 UTC`, with the doubt where the setting behind it is assumed.
pub(crate) fn by(bound: &crate::report::Bound) -> String {
    let assumed = if bound.assumed { " (assumed: the time-out could not be read)" } else { "" };
    format!("by {}{assumed}", crate::time::clock(bound.at))
}
