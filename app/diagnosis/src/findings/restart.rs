//! Restarting a broker as a way out: what must hold before it, and what it costs.

use super::Context;
use crate::report::{Remedy, Risk};
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

/// Offsets partitions that would have no in-sync replica left if this broker stopped.
pub(crate) fn held_alone(context: &Context<'_, '_>, broker: BrokerId) -> Vec<PartitionId> {
    let facts = context.facts;
    let alone = |isr: &[BrokerId]| isr.contains(&broker) && !isr.iter().any(|&id| id != broker && facts.electable(id));
    facts.partitions.iter().filter(|(_, seen)| alone(&seen.newest.isr)).map(|(&id, _)| id).collect()
}

/// Restart a broker: safe where other replicas are in sync, which is seen of `__consumer_offsets` only.
pub(crate) fn restart(context: &Context<'_, '_>, broker: BrokerId, title: String, why: &str) -> Remedy {
    restart_one_of(context, &[broker], title, why)
        .verify(format!("Broker {broker} answers, is in the ISR of its partitions again, and this finding is gone."))
}

/// The same where whoever is called has to find out which of these it is.
pub(crate) fn restart_one_of(context: &Context<'_, '_>, brokers: &[BrokerId], title: String, why: &str) -> Remedy {
    let alone: Vec<(BrokerId, Vec<PartitionId>)> =
        brokers.iter().map(|&id| (id, held_alone(context, id))).filter(|(_, held)| !held.is_empty()).collect();
    let known = !context.facts.partitions.is_empty();
    let (who, it) = match brokers {
        [one] => (format!("broker {one} is not"), "it"),
        many => (format!("none of {} is", words::brokers(many)), "one of them"),
    };
    let held: Vec<_> = alone
        .iter()
        .map(|(id, held)| match brokers {
            [_] => format!("it is of {}", words::list(held)),
            _ => format!("broker {id} is of {}", words::list(held)),
        })
        .collect();
    let held = if held.is_empty() { String::new() } else { format!(" ({})", held.join("; ")) };
    Remedy::new(title, why)
        .danger(Risk::Pause, "What it leads moves or stops until it is back, and its groups rebalance.")
        .given(
            format!("{who} the last in-sync replica of any partition of {OFFSETS_TOPIC}{held}"),
            known.then_some(alone.is_empty()),
        )
        .given(
            format!(
                "nor of any other topic: no line of `{}` has {it} alone as Isr",
                context.commands().describe_topics()
            ),
            None,
        )
        .undo("Cannot be undone, and need not be: leaders come back by a preferred election.")
}
