//! Groups from inside, and transactional ids, for a terminal.

use unstuck_diagnosis::lookup::GroupDetail;
use unstuck_diagnosis::report::Shard;
use unstuck_diagnosis::transactional::{TransactionDetail, TransactionalAnswer, TransactionalLookup};
use unstuck_diagnosis::visible;

use super::{Lines, count, evidence, first_line, ids, steps, time};
use crate::lookup::Told;

/// How many members and offsets are shown; the rest is on the page and in the JSON.
const ROWS: usize = 20;

/// What a group's coordinator told.
pub(crate) fn detail(told: &Told<GroupDetail>) -> String {
    let mut lines = Lines { text: format!("\n{} from inside\n", super::safe(&told.id.visible())) };
    match &told.told {
        Err(why) => lines.add(&format!("Not known: {why}")),
        Ok(detail) => inside(&mut lines, detail),
    }
    lines.text
}

fn inside(lines: &mut Lines, detail: &GroupDetail) {
    let state = detail.state.as_deref().map_or_else(|| "the coordinator does not know it".to_owned(), visible);
    let kind = detail.group_type.as_deref().map(|kind| format!(" · type {}", visible(kind))).unwrap_or_default();
    let epoch = detail.group_epoch.map(|epoch| format!(" · epoch {epoch}")).unwrap_or_default();
    let members = count(detail.member_count, "member");
    lines.add(&format!(
        "State {state}{kind}{epoch} · {members} · broker {} at {}",
        detail.answered_by,
        time(detail.at)
    ));
    for finding in &detail.findings {
        evidence(lines, finding);
        steps(lines, finding);
    }
    for member in detail.members.iter().take(ROWS) {
        let instance = member.instance_id.as_ref().map(|id| format!(" · instance {}", visible(id))).unwrap_or_default();
        let has = match &member.assignment {
            None => "assignment not known".to_owned(),
            Some(topics) if topics.is_empty() => "no partition".to_owned(),
            Some(topics) => {
                let each = topics.iter().map(|topic| format!("{} {}", visible(&topic.topic), ids(&topic.partitions)));
                each.collect::<Vec<_>>().join(", ")
            }
        };
        let behind = if member.behind(detail.group_epoch) { " · behind" } else { "" };
        lines.add_below(&format!(
            "{} at {}{instance}: {has}{behind}",
            visible(&member.client_id),
            visible(&member.host)
        ));
    }
    rest(lines, detail.member_count, "member");
    match &detail.offsets {
        Err(why) => lines.add(&format!("Committed offsets are not known: {why}")),
        Ok(offsets) if offsets.is_empty() => lines.add("No offsets are committed"),
        Ok(offsets) => {
            for one in offsets.iter().take(ROWS) {
                let lag = match (one.without_leader, one.end, one.lag) {
                    (true, ..) => "no leader".to_owned(),
                    (false, Some(end), Some(lag)) => format!("end {end}, lag {lag}"),
                    (false, ..) => "end not known".to_owned(),
                };
                let held = if one.unstable { " · held back by an open transaction" } else { "" };
                lines.add_below(&format!(
                    "{}-{}: committed {}, {lag}{held}",
                    visible(&one.topic),
                    one.partition,
                    one.committed
                ));
            }
            rest(lines, detail.committed_count, "committed offset");
        }
    }
    if !detail.uncommitted.is_empty() {
        let number = count(detail.uncommitted.len(), "assigned partition");
        lines.add_below(&format!("{number} without a committed offset"));
    }
}

fn rest(lines: &mut Lines, total: usize, noun: &str) {
    if let Some(more @ 1..) = total.checked_sub(ROWS) {
        lines.add_below(&format!("and {}", count(more, &format!("more {noun}"))));
    }
}

/// The answer for transactional ids, one block each.
pub(crate) fn transactional(lookup: &TransactionalLookup, colours: bool) -> String {
    let blocks: Vec<String> = lookup.results.iter().map(|answer| block(answer, colours)).collect();
    blocks.join("\n")
}

fn block(answer: &TransactionalAnswer, colours: bool) -> String {
    let verdict = &answer.verdict;
    let mut lines = Lines::default();
    lines.text.push_str(&first_line(&answer.transactional_id, &verdict.sentence, verdict.status, colours));
    if let Some(placement) = &answer.placement {
        lines.add(&placement.sentence);
    }
    if let Some(one) = &answer.coordinator {
        let leader = match (one.leader, &one.address) {
            (Some(leader), Some(address)) => format!("leader {leader} ({address})"),
            (Some(leader), None) => format!("leader {leader}"),
            (None, _) => "no leader".to_owned(),
        };
        let says = match one.shard {
            Shard::Serving => "coordinator serves it",
            Shard::Loading => "coordinator is loading it",
            Shard::Failed | Shard::NotServed => "coordinator does not serve it",
            Shard::Denied => "asking the coordinator is not permitted",
            Shard::Unknown => "no answer from a coordinator",
        };
        lines.add(&format!("{leader} · replicas {} · ISR {} · {says}", ids(&one.replicas), ids(&one.isr)));
    }
    lines.add_since(verdict.since, verdict.since_after);
    verdict.outlook.iter().for_each(|outlook| lines.add(outlook));
    if let Some(open) = &answer.open {
        lines.add(&format!(
            "Its transaction is open: state {}, producer id {}",
            visible(&open.state),
            open.producer_id
        ));
    }
    for finding in &answer.findings {
        evidence(&mut lines, finding);
        steps(&mut lines, finding);
    }
    lines.text
}

/// How a transaction stands.
pub(crate) fn transaction(told: &Told<TransactionDetail>) -> String {
    let mut lines = Lines::default();
    match &told.told {
        Err(why) => lines.add(&format!("The transaction of {} is not known: {why}", told.id.visible())),
        Ok(detail) => {
            lines.add(&detail.sentence());
            if detail.state.is_some() {
                lines.add_below(&format!("producer id {}, epoch {}", detail.producer_id, detail.producer_epoch));
            }
            for topic in &detail.partitions {
                lines.add_below(&format!("{} {}", visible(&topic.topic), ids(&topic.partitions)));
            }
        }
    }
    lines.text
}
