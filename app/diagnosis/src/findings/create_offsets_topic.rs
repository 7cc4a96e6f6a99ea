//! Creating `__consumer_offsets` by hand: with how many partitions and replicas, and what must hold before it.

use std::collections::BTreeMap;

use super::{Context, step};
use crate::remedy::Met;
use crate::report::{Remedy, Risk};
use crate::{BrokerId, OFFSETS_TOPIC, words};

/// What brokers give the topic when they create it themselves (GroupCoordinatorConfig, `offsetsTopicConfigs`).
const SETTINGS: [&str; 3] = ["cleanup.policy=compact", "compression.type=producer", "segment.bytes=104857600"];
/// Kafka's default of `offsets.topic.num.partitions`, for where no broker tells it.
const PARTITIONS: i32 = 50;
/// As many replicas as survive two failures.
pub(super) const REPLICAS: usize = 3;

/// The largest `offsets.topic.replication.factor` among the brokers: whichever is asked first creates the topic.
pub(super) fn wanted_factor(context: &Context<'_, '_>) -> Option<usize> {
    let brokers = context.facts.answering.iter().filter_map(|id| context.facts.snapshot.brokers.get(id));
    let factors = brokers.filter_map(|sight| sight.configs.known()?.offsets_topic_replication_factor);
    factors.max().and_then(|factor| usize::try_from(factor).ok())
}

/// Brokers that answer, or that others list as live: they can hold replicas.
pub(super) fn live(context: &Context<'_, '_>) -> usize {
    context.facts.answering.union(&context.facts.listed_live).count()
}

/// What brokers that answer have as `offsets.topic.num.partitions`.
pub(super) enum Partitions {
    /// All that told have the same; `None` if none told. `all` says whether each of them told.
    Same { count: Option<i32>, all: bool },
    /// They differ.
    Differ(BTreeMap<i32, Vec<BrokerId>>),
}

pub(super) fn partitions_told(context: &Context<'_, '_>) -> Partitions {
    let mut told: BTreeMap<i32, Vec<BrokerId>> = BTreeMap::new();
    let mut all = true;
    // One that lives and does not answer us has a setting as well.
    for id in context.facts.answering.union(&context.facts.listed_live) {
        let configs = context.facts.snapshot.brokers.get(id).and_then(|sight| sight.configs.known());
        match configs.and_then(|configs| configs.offsets_topic_num_partitions) {
            Some(count) => told.entry(count).or_default().push(*id),
            None => all = false,
        }
    }
    if told.len() > 1 { Partitions::Differ(told) } else { Partitions::Same { count: told.into_keys().next(), all } }
}

/// The command that creates the topic. Where brokers differ in the number of partitions, and it is not known how many the
/// topic `had`, no number is right: then they have to be made the same first.
pub(super) fn create_or_agree(context: &Context<'_, '_>, title: &str, why: &str, had: Option<i32>) -> Remedy {
    let (count, given, met) = match (had, partitions_told(context)) {
        (None, Partitions::Differ(told)) => {
            let told: Vec<_> = told.iter().map(|(count, ids)| format!("{count} on {}", words::brokers(ids))).collect();
            return step(
                "First give all brokers the same offsets.topic.num.partitions, and restart them",
                format!(
                    "It is {}. Whatever number the topic got, some of them would look for groups on other partitions.",
                    words::list(&told)
                ),
            );
        }
        (None, Partitions::Same { count, all }) => {
            let met = if all && count.is_some() { Met::Met } else { Met::NotKnown };
            let count = count.unwrap_or(PARTITIONS);
            (count, format!("every broker has offsets.topic.num.partitions={count}"), met)
        }
        // Running brokers go on counting with what the topic had; one that starts now takes its own setting.
        (Some(had), told) => {
            let met = match told {
                Partitions::Same { count, all: true } if count == Some(had) => Met::Met,
                _ => Met::NotKnown,
            };
            let text = format!(
                "every broker counts with {had} partitions: it has run since before the topic was gone, or has \
                 offsets.topic.num.partitions={had}"
            );
            (had, text, met)
        }
    };
    let live = live(context);
    // Not fewer than the brokers would give it by themselves.
    let factor = wanted_factor(context).unwrap_or(REPLICAS).max(REPLICAS).min(live);
    let commands = context.commands();
    let remedy = Remedy::new(title, why)
        .command(
            commands.create_topic(OFFSETS_TOPIC, count, factor, &SETTINGS),
            format!("Creates the topic, empty, with {count} partitions and {} each.", words::count(factor, "replica")),
        )
        .given(given, met)
        .given(
            match factor {
                1 => "a broker is live".to_owned(),
                many => format!("{many} brokers are live"),
            },
            true,
        )
        .verify(format!(
            "`{}` shows {count} partitions with {} each, and Unstuck names a coordinator for every group.",
            commands.describe_topic(OFFSETS_TOPIC),
            words::count(factor, "replica")
        ))
        .undo(
            "Do not delete it again: once groups have committed, that deletes the committed offsets of all of them. The \
             number of partitions stays; replicas are added by a reassignment.",
        );
    match factor {
        0 | 1 => remedy.danger(
            Risk::Exposes,
            "With 1 replica every group of a lost broker stands still until that broker is back, and its committed \
             offsets are lost with its disk. It stays so until replicas are added.",
        ),
        2 => remedy.danger(
            Risk::Exposes,
            "With 2 replicas a broker that is lost while another one restarts stops groups. It stays so until replicas \
             are added.",
        ),
        _ => remedy,
    }
}
