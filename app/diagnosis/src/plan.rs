//! Plans: reassignments of `__consumer_offsets`, worked out and written down as `kafka-reassign-partitions.sh` reads
//! them, with the way back. Unstuck never runs one.
//!
//! Plans move as little as possible: what is there stays where it is wanted, and only live, unfenced brokers get anything.
//! Equal facts give equal plans.

mod draft;
mod layout;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::draft::Draft;
use self::layout::Layout;
use crate::facts::Facts;
use crate::remedy::{Remedy, RemedyFile};
use crate::{BrokerId, PartitionId, Published};

/// What a plan is to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// More copies: replication factor min(3, registered brokers). What there is stays, present leaders included.
    Raise,
    /// The same, and leaders spread over the brokers: coordinators move.
    RaiseBalanced,
    /// Nothing on this broker any more, before it is stopped for long or taken away. The replication factor stays.
    Evacuate(BrokerId),
    /// Replicas and leaders spread over all brokers and racks. The replication factor stays.
    Spread,
}

impl Wish {
    /// The words that name plans in addresses and commands.
    pub const SLUGS: [&str; 4] = ["raise", "raise-balanced", "evacuate", "spread"];

    /// The wish that a word names; `evacuate` needs a broker, the others take none.
    #[must_use]
    pub fn from_slug(slug: &str, broker: Option<BrokerId>) -> Option<Self> {
        match (slug, broker) {
            ("raise", None) => Some(Self::Raise),
            ("raise-balanced", None) => Some(Self::RaiseBalanced),
            ("evacuate", Some(broker)) => Some(Self::Evacuate(broker)),
            ("spread", None) => Some(Self::Spread),
            _ => None,
        }
    }

    /// Its word.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::RaiseBalanced => "raise-balanced",
            Self::Evacuate(_) => "evacuate",
            Self::Spread => "spread",
        }
    }

    /// The name of the file that the command reads.
    #[must_use]
    pub fn file(self) -> String {
        match self {
            Self::Evacuate(broker) => format!("evacuate-{broker}.json"),
            other => format!("{}.json", other.slug()),
        }
    }
}

/// The name of the file that leads back.
pub const ROLLBACK: &str = "rollback.json";

/// A reassignment, ready to use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Its word: `raise`, `raise-balanced`, `evacuate` or `spread`.
    pub plan: String,
    /// What it reaches, in sentences.
    pub sentences: Vec<String>,
    /// How to carry it out: command, preconditions, danger, how to verify and to undo, and both files.
    pub remedy: Remedy,
    /// What moves the leaders once it is complete, where that takes another step.
    pub then: Option<Remedy>,
    /// Partitions that get another list of replicas, by number.
    pub changes: Vec<Change>,
    /// Every broker that holds, gets or loses something, by id.
    pub brokers: Vec<BrokerMoves>,
    /// How many replicas are copied.
    pub copies: usize,
    /// How many bytes that is; `None` if the size of any of them is not known.
    pub bytes: Option<u64>,
    /// The limit for the copying that is advised, in bytes per second; `None` where the tool would refuse one.
    pub throttle: Option<u64>,
    /// Partitions that it leaves as they are, because no reassignment can change them now.
    pub left_out: Vec<LeftOut>,
}

impl Plan {
    /// One of its files by name.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&RemedyFile> {
        self.remedy.files.iter().find(|file| file.name == name)
    }
}

/// A partition whose list of replicas changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its number.
    pub partition: PartitionId,
    /// Replicas now, preferred leader first.
    pub from: Vec<BrokerId>,
    /// Replicas afterwards, preferred leader first.
    pub to: Vec<BrokerId>,
}

/// What a plan means for one broker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerMoves {
    /// Its id.
    pub broker: BrokerId,
    /// Replicas that are copied to it.
    pub gets: usize,
    /// Bytes of these; `None` if not known.
    pub gets_bytes: Option<u64>,
    /// Replicas that are copied from it, because it leads their partitions.
    pub sends: usize,
    /// Bytes of these; `None` if not known.
    pub sends_bytes: Option<u64>,
    /// Replicas that it no longer holds afterwards.
    pub loses: usize,
    /// Replicas that it holds now.
    pub holds_before: usize,
    /// Replicas that it holds afterwards.
    pub holds_after: usize,
    /// Partitions that it leads now.
    pub leads_before: usize,
    /// Partitions of which it is the preferred leader afterwards.
    pub leads_after: usize,
}

/// A partition that a plan leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its number.
    pub partition: PartitionId,
    /// Why.
    pub why: String,
}

/// Why there is no such plan now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What is in the way, or that there is nothing to do.
    pub why: String,
    /// What to do about it.
    pub advice: String,
}

impl Refusal {
    fn new(why: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { why: why.into(), advice: advice.into() }
    }
}

impl Published {
    /// A plan for the offsets topic, from the facts of this publication.
    ///
    /// # Errors
    ///
    /// Refuses with the reason in words if there is nothing to do, or if a plan would be wrong now.
    pub fn plan(&self, wish: Wish) -> Result<Plan, Refusal> {
        make(&Facts::draw(&self.snapshot, &self.memory, self.report.observed_at), wish)
    }
}

/// A plan from facts.
pub(crate) fn make(facts: &Facts<'_>, wish: Wish) -> Result<Plan, Refusal> {
    let layout = Layout::of(facts)?;
    let draft = match wish {
        Wish::Raise => raise(&layout, wanted(facts), false)?,
        Wish::RaiseBalanced => raise(&layout, wanted(facts), true)?,
        Wish::Evacuate(broker) => evacuate(&layout, broker)?,
        Wish::Spread => spread(&layout)?,
    };
    let changes: Vec<Change> = draft
        .lists
        .iter()
        .filter_map(|(&partition, to)| {
            let from = layout.lists.get(&partition)?;
            (from != to).then(|| Change { partition, from: from.clone(), to: to.clone() })
        })
        .collect();
    if changes.is_empty() {
        return Err(nothing_to_do(&layout, wish));
    }
    Ok(words::describe(&layout, wish, changes, &draft))
}

/// The replication factor that the offsets topic should have: three survive two failures.
pub(crate) fn wanted(facts: &Facts<'_>) -> usize {
    facts.registered.len().min(3)
}

fn nothing_to_do(layout: &Layout<'_, '_>, wish: Wish) -> Refusal {
    let advice = match layout.left_out.len() {
        0 => "Nothing has to be done.".to_owned(),
        n => format!(
            "{} without a live leader cannot be reassigned before it has one.",
            crate::words::count(n, "partition")
        ),
    };
    let why = match wish {
        Wish::Raise => format!("Every partition that can be reassigned has {} replicas already.", wanted(layout.facts)),
        Wish::RaiseBalanced => format!(
            "Every partition that can be reassigned has {} replicas already, and preferred leaders are balanced.",
            wanted(layout.facts)
        ),
        Wish::Evacuate(broker) => format!("Broker {broker} holds no replica of __consumer_offsets that can be moved."),
        Wish::Spread => {
            "Replicas and preferred leaders are spread over brokers and racks already, as far as it goes.".to_owned()
        }
    };
    Refusal::new(why, advice)
}

/// Adds replicas until each partition has the factor. Nothing is taken away, and whoever leads goes on leading.
fn raise(layout: &Layout<'_, '_>, factor: usize, balanced: bool) -> Result<Draft, Refusal> {
    let usable = layout.usable.len();
    let missing = layout.lists.values().any(|list| list.len() < factor);
    if missing && usable < factor {
        return Err(Refusal::new(
            format!(
                "Replication factor {factor} needs {factor} live brokers, and {usable} {} live{}.",
                if usable == 1 { "is" } else { "are" },
                layout.why_so_few()
            ),
            "Start the missing brokers first, or add one.",
        ));
    }
    let mut draft = layout.draft();
    for (&partition, present) in &layout.lists {
        if let (Some(first), Some(list)) = (layout.first(partition), draft.lists.get_mut(&partition))
            && list.first() != Some(&first)
            && present.len() < factor
        {
            list.retain(|&broker| broker != first);
            list.insert(0, first);
        }
        for _ in present.len()..factor {
            draft.add(partition);
        }
    }
    let added = |partition: PartitionId, broker: BrokerId| {
        layout.lists.get(&partition).is_some_and(|present| !present.contains(&broker))
    };
    draft.level(&added);
    draft.order_added(&added);
    if balanced {
        draft.level_leaders(&|partition, broker| added(partition, broker) || layout.in_sync(partition, broker));
    }
    Ok(draft)
}

/// Gives each replica of a broker to another one.
fn evacuate(layout: &Layout<'_, '_>, broker: BrokerId) -> Result<Draft, Refusal> {
    let facts = layout.facts;
    if !facts.registered.contains(&broker) {
        return Err(Refusal::new(
            format!("There is no broker {broker}."),
            format!("The brokers there are: {}.", crate::words::list(&facts.registered.iter().collect::<Vec<_>>())),
        ));
    }
    let held: Vec<_> = layout.lists.iter().filter(|(_, list)| list.contains(&broker)).map(|(&id, _)| id).collect();
    let most = held.iter().filter_map(|id| layout.lists.get(id)).map(Vec::len).max().unwrap_or(0);
    let others = layout.usable.iter().filter(|&&id| id != broker).count();
    if others < most {
        return Err(Refusal::new(
            format!(
                "Partitions on broker {broker} have {most} replicas, and without it {others} live brokers remain{}: the \
                 replication factor cannot be kept.",
                layout.why_so_few()
            ),
            format!(
                "Add a broker first. To restart broker {broker}, nothing has to be moved as long as other replicas are \
                 in sync: its page says what stops."
            ),
        ));
    }
    let mut draft = layout.draft_without(broker);
    let mut free = BTreeSet::new();
    for &partition in &held {
        draft.remove(partition, broker);
        draft.add(partition);
        let leads = layout.leaders.get(&partition) == Some(&broker);
        let was_first = layout.lists.get(&partition).and_then(|list| list.first()) == Some(&broker);
        if let Some(list) = draft.lists.get_mut(&partition) {
            // Whoever leads goes on leading; else a replica that is in sync takes over at once, or the copy leads.
            let heir = layout.leaders.get(&partition).copied().filter(|_| !leads);
            let in_sync = || list.iter().copied().find(|&id| layout.in_sync(partition, id));
            let live = || list.iter().copied().find(|id| layout.usable.contains(id));
            if was_first && let Some(first) = heir.or_else(in_sync).or_else(live) {
                list.retain(|&id| id != first);
                list.insert(0, first);
            }
            if leads || was_first {
                free.insert(partition);
            }
        }
    }
    let added = |partition: PartitionId, id: BrokerId| {
        layout.lists.get(&partition).is_some_and(|present| !present.contains(&id))
    };
    draft.level(&added);
    draft.level_leaders(&|partition, id| {
        let leads = layout.leaders.get(&partition) == Some(&broker);
        free.contains(&partition) && leads && (layout.in_sync(partition, id) || added(partition, id))
    });
    Ok(draft)
}

/// Spreads replicas over brokers and racks, then leaders over the replicas.
fn spread(layout: &Layout<'_, '_>) -> Result<Draft, Refusal> {
    if layout.usable.len() < 2 {
        return Err(Refusal::new(
            format!("There is one live broker to spread over{}.", layout.why_so_few()),
            "Start or add other brokers first.",
        ));
    }
    let mut draft = layout.draft();
    draft.spread_racks();
    draft.level(&|partition, broker| layout.first(partition) != Some(broker));
    draft.level(&|_, _| true);
    draft.level_leaders(&|_, _| true);
    Ok(draft)
}

/// Partitions of the offsets topic with their replicas, as `kafka-reassign-partitions.sh` reads them; one line each, so that
/// people can read them too.
pub(crate) fn reassignment<L: AsRef<[BrokerId]>>(lists: impl IntoIterator<Item = (PartitionId, L)>) -> String {
    let lines: Vec<_> = lists
        .into_iter()
        .map(|(partition, replicas)| {
            let replicas: Vec<_> = replicas.as_ref().iter().map(ToString::to_string).collect();
            format!(
                "{{\"topic\":\"{}\",\"partition\":{partition},\"replicas\":[{}]}}",
                crate::OFFSETS_TOPIC,
                replicas.join(",")
            )
        })
        .collect();
    format!("{{\"version\":1,\"partitions\":[\n{}\n]}}\n", lines.join(",\n"))
}

/// What a plan means for each broker, and how many bytes are copied.
fn moves(layout: &Layout<'_, '_>, changes: &[Change], draft: &Draft) -> (Vec<BrokerMoves>, Option<u64>) {
    let mut brokers: BTreeMap<BrokerId, BrokerMoves> = BTreeMap::new();
    let mut entry = |broker: BrokerId, change: &mut dyn FnMut(&mut BrokerMoves)| {
        let blank = || BrokerMoves { broker, gets_bytes: Some(0), sends_bytes: Some(0), ..BrokerMoves::default() };
        change(brokers.entry(broker).or_insert_with(blank));
    };
    for (partition, list) in &layout.lists {
        list.iter().for_each(|&broker| entry(broker, &mut |moves| moves.holds_before += 1));
        layout.leaders.get(partition).iter().for_each(|&&leader| entry(leader, &mut |moves| moves.leads_before += 1));
    }
    for list in draft.lists.values() {
        list.iter().for_each(|&broker| entry(broker, &mut |moves| moves.holds_after += 1));
        list.first().iter().for_each(|&&first| entry(first, &mut |moves| moves.leads_after += 1));
    }
    let mut bytes = Some(0_u64);
    for change in changes {
        let size = layout.size(change.partition);
        let plus = |sum: Option<u64>| sum.zip(size).map(|(sum, size)| sum.saturating_add(size));
        for &broker in change.to.iter().filter(|broker| !change.from.contains(broker)) {
            bytes = plus(bytes);
            entry(broker, &mut |moves| {
                moves.gets += 1;
                moves.gets_bytes = plus(moves.gets_bytes);
            });
            if let Some(&leader) = layout.leaders.get(&change.partition) {
                entry(leader, &mut |moves| {
                    moves.sends += 1;
                    moves.sends_bytes = plus(moves.sends_bytes);
                });
            }
        }
        for &broker in change.from.iter().filter(|broker| !change.to.contains(broker)) {
            entry(broker, &mut |moves| moves.loses += 1);
        }
    }
    (brokers.into_values().collect(), bytes)
}
