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
    let alone = held_alone(context, broker);
    let known = !context.facts.partitions.is_empty();
    let text = match alone.as_slice() {
        [] => format!("broker {broker} is not the last in-sync replica of any partition of {OFFSETS_TOPIC}"),
        many => format!(
            "broker {broker} is not the last in-sync replica of any partition of {OFFSETS_TOPIC} (it is of {})",
            words::list(many)
        ),
    };
    Remedy::new(title, why)
        .danger(Risk::Pause, "What it leads moves or stops until it is back, and its groups rebalance.")
        .given(text, known.then_some(alone.is_empty()))
        .given(
            format!(
                "nor of any other topic: no line of `{}` has it alone as Isr",
                context.commands().describe_topics()
            ),
            None,
        )
        .verify(format!("Broker {broker} answers, is in the ISR of its partitions again, and this finding is gone."))
        .undo("Cannot be undone, and need not be: leaders come back by a preferred election.")
}
