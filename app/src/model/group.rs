//! One group: the verdict and the chain that leads to it.

use serde::{Deserialize, Serialize};
use unstuck_diagnosis::lookup::{GroupDetail, SamePartitionGroups, Verdict};
use unstuck_diagnosis::report::ViewReport;
use unstuck_diagnosis::{GroupId, PartitionId};
#[cfg(feature = "ssr")]
use {
    super::{Found, Missing},
    crate::text::{cluster_href, ids, or_dash},
    unstuck_diagnosis::Published,
    unstuck_diagnosis::lookup::{Coordinator, GroupLookup},
    unstuck_diagnosis::placement::kafka_abs,
    unstuck_diagnosis::report::{BrokerState, Finding, Shard, Status},
};

use super::{Evidence, Masthead, NextStep};

/// How a page names its group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GroupKey {
    /// By its id.
    Id(String),
    /// By its digest: the id does not fit a URL.
    Digest(String),
    /// Not at all.
    None,
}

/// The page of one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupModel {
    /// Which cluster, seen when.
    pub(crate) head: Masthead,
    /// Its id.
    pub(crate) group: GroupId,
    /// The answer in one word and one sentence.
    pub(crate) verdict: Verdict,
    /// Its partition; `None` where that is withheld or not known.
    pub(crate) partition: Option<PartitionId>,
    /// Others on the same partition.
    pub(crate) shared: SamePartitionGroups,
    /// How many other partitions are in the same trouble.
    pub(crate) also_hit_partitions: usize,
    /// Each broker's own view of the partition.
    pub(crate) views: Vec<ViewReport>,
    /// What is known of the group itself, in words.
    pub(crate) known: String,
    /// From the id to the coordinator's answer.
    pub(crate) chain: Vec<Link>,
    /// What to do now.
    pub(crate) next: Option<NextStep>,
    /// Findings and gaps.
    pub(crate) evidence: Evidence,
    /// Who was in the group when last asked, in a sentence; only of one that nobody lists now.
    pub(crate) members: Option<String>,
}

/// One link of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Link {
    /// What it is.
    pub(crate) title: String,
    /// What was found.
    pub(crate) value: String,
    /// What supports it, line by line.
    pub(crate) notes: Vec<String>,
    /// Whether it holds.
    pub(crate) state: LinkState,
}

/// Whether a link of the chain holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LinkState {
    /// It holds.
    Good,
    /// It holds for now, or is about to.
    Waiting,
    /// It is broken.
    Bad,
    /// It could not be observed.
    Unknown,
    /// The chain broke before it.
    NotReached,
}

/// What the group looks like from inside, or why that is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DetailsModel {
    /// The coordinator's answer, or a sentence; `None` if the page is about no group.
    pub(crate) answer: Option<Result<Inside, String>>,
}

/// A group from inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Inside {
    /// Which cluster, seen when.
    pub(crate) head: Masthead,
    /// What was told. Its findings are in `evidence`.
    pub(crate) detail: GroupDetail,
    /// What follows from it.
    pub(crate) evidence: Evidence,
}

#[cfg(feature = "ssr")]
impl Inside {
    pub(crate) fn of(published: &Published, mut detail: GroupDetail) -> Self {
        let findings = std::mem::take(&mut detail.findings);
        Self { head: Masthead::of(published), detail, evidence: Evidence::of(findings.iter(), std::iter::empty()) }
    }
}

#[cfg(feature = "ssr")]
impl GroupModel {
    pub(crate) fn of(published: &Published, group: &GroupId) -> Self {
        let lookup = published.lookup_one(group);
        let findings: Vec<Finding> = lookup.all_findings().into_iter().cloned().collect();
        let members = lookup.known.members.as_ref().filter(|_| lookup.known.remembered);
        Self {
            head: Masthead::of(published),
            chain: chain(&lookup, leader_state(published, &lookup)),
            next: NextStep::among(&findings),
            evidence: Evidence::of(findings.iter(), lookup.could_not_observe.iter()),
            members: members
                .map(|members| crate::written::history::remembered_members(members, published.report.observed_at)),
            partition: lookup.placement.map(|placement| placement.partition),
            group: lookup.group,
            verdict: lookup.verdict,
            shared: lookup.same_partition_groups,
            also_hit_partitions: lookup.also_hit_partitions,
            views: lookup.views,
            known: lookup.known.sentence,
        }
    }
}

/// How the broker stands that leads a group's partition, or led it last.
#[cfg(feature = "ssr")]
fn leader_state(published: &Published, lookup: &GroupLookup) -> Option<BrokerState> {
    let coordinator = lookup.coordinator.as_ref()?;
    published.report.broker(coordinator.leader.or(coordinator.last_leader)?).map(|broker| broker.state)
}

/// Why there is nobody who could tell more about a group; `None` if there is somebody to ask.
#[cfg(feature = "ssr")]
pub(crate) fn nobody_to_ask(published: &Published, group: &GroupId) -> Option<String> {
    let lookup = published.lookup_one(group);
    match &lookup.coordinator {
        None => Some("Its coordinator is not known, so nobody can be asked about its members.".to_owned()),
        Some(coordinator) => match (coordinator.leader, leader_state(published, &lookup)) {
            (None, _) => Some("Its partition has no leader, so nobody can be asked about its members.".to_owned()),
            (Some(leader), Some(BrokerState::Gone | BrokerState::Hung | BrokerState::Late)) => {
                Some(format!("Broker {leader} does not answer, so nobody can be asked about its members."))
            }
            (Some(_), _) => None,
        },
    }
}

/// An address that names no group, or one by a digest that nobody asked for since the server started.
#[cfg(feature = "ssr")]
pub(crate) fn unknown_group(published: &Published, key: &GroupKey) -> Found<GroupModel> {
    let cluster = &published.report.cluster;
    let (heading, sentence) = match key {
        GroupKey::Id(_) | GroupKey::None => ("Which group?", "Paste its id into the box above."),
        GroupKey::Digest(_) => ("Paste the group id again", DIGEST_UNKNOWN),
    };
    Found::Missing(Missing {
        seqs: Masthead::of(published).seqs(),
        heading: heading.to_owned(),
        sentence: sentence.to_owned(),
        links: vec![(format!("cluster {cluster}"), cluster_href(cluster))],
        unreadable: false,
    })
}

#[cfg(feature = "ssr")]
const DIGEST_UNKNOWN: &str = "This link names a group by the digest of its id, because the id is too long for an address. \
     Unstuck has not seen that id since it started, and a digest cannot be turned back into it.";

#[cfg(feature = "ssr")]
fn chain(lookup: &GroupLookup, leader_state: Option<BrokerState>) -> Vec<Link> {
    let units = lookup.group.as_str().encode_utf16().count();
    let id = Link {
        title: "group id".to_owned(),
        value: lookup.group.visible(),
        notes: vec![crate::text::count(units, "UTF-16 unit")],
        state: LinkState::Good,
    };
    let hash = lookup.group.java_hash();
    let Some(placement) = &lookup.placement else {
        let why = lookup.placement_note.clone().unwrap_or_else(|| lookup.verdict.sentence.clone());
        return vec![
            id,
            link("Java hashCode", hash.to_string(), [format!("abs {}", kafka_abs(hash))], LinkState::Good),
            link("__consumer_offsets", "partition not known", [why], LinkState::Unknown),
            link("leader", "–", ["not reached".to_owned()], LinkState::NotReached),
            link("coordinator", "–", ["not reached".to_owned()], LinkState::NotReached),
        ];
    };
    let arithmetic = [format!("abs {}", kafka_abs(placement.java_hash)), format!("mod {}", placement.partition_count)];
    let mut links = vec![id, link("Java hashCode", placement.java_hash.to_string(), arithmetic, LinkState::Good)];
    let mut notes = Vec::new();
    if let Some(coordinator) = &lookup.coordinator {
        notes.push(format!("replicas {}", ids(&coordinator.replicas)));
        notes.push(format!("ISR {} · min in-sync {}", ids(&coordinator.isr), or_dash(coordinator.min_insync_replicas)));
        if !coordinator.eligible.is_empty() {
            notes.push(format!("eligible {}", ids(&coordinator.eligible)));
        }
    }
    notes.extend(lookup.placement_note.clone());
    let state = match &lookup.coordinator {
        _ if !placement.proven => LinkState::Unknown,
        Some(one) if one.leader.is_some() && one.min_insync_replicas.is_some_and(|min| one.isr.len() < min) => {
            LinkState::Bad
        }
        _ => LinkState::Good,
    };
    links.push(link("__consumer_offsets", format!("partition {}", placement.partition), notes, state));
    match &lookup.coordinator {
        None => {
            links.push(link("leader", "not known", [], LinkState::Unknown));
            links.push(link("coordinator", "–", ["not reached".to_owned()], LinkState::NotReached));
        }
        Some(coordinator) => {
            let leader = leader_link(lookup, coordinator, leader_state);
            let answer = answer_link(lookup, coordinator, leader.state);
            links.extend([leader, answer]);
        }
    }
    links
}

#[cfg(feature = "ssr")]
fn link(title: &str, value: impl Into<String>, notes: impl IntoIterator<Item = String>, state: LinkState) -> Link {
    Link { title: title.to_owned(), value: value.into(), notes: notes.into_iter().collect(), state }
}

#[cfg(feature = "ssr")]
fn leader_link(lookup: &GroupLookup, coordinator: &Coordinator, leader_state: Option<BrokerState>) -> Link {
    let recovering = lookup.verdict.status == Status::Recovering;
    let mut notes: Vec<String> = coordinator.leader_sentence.iter().cloned().collect();
    if let Some(epoch) = coordinator.leader_epoch {
        notes.push(format!("leader epoch {epoch}"));
    }
    let Some(leader) = coordinator.leader else {
        if let Some(last) = coordinator.last_leader {
            notes.insert(0, format!("last was broker {last}"));
        }
        let state = if recovering { LinkState::Waiting } else { LinkState::Bad };
        return link("leader", "none", notes, state);
    };
    notes.extend(coordinator.address.clone());
    let state = match leader_state {
        Some(BrokerState::Answering) => LinkState::Good,
        Some(BrokerState::Late) => LinkState::Waiting,
        Some(BrokerState::Gone | BrokerState::Hung | BrokerState::NotLive) if recovering => LinkState::Waiting,
        Some(BrokerState::Gone | BrokerState::Hung | BrokerState::NotLive) => LinkState::Bad,
        Some(BrokerState::NeverReached | BrokerState::Unreadable | BrokerState::NotTried) | None => LinkState::Unknown,
    };
    link("leader", format!("broker {leader}"), notes, state)
}

#[cfg(feature = "ssr")]
fn answer_link(lookup: &GroupLookup, coordinator: &Coordinator, leader: LinkState) -> Link {
    let writes = if coordinator.writes_verified { "commits are accepted" } else { "writes not verified" };
    let (value, note, state) = match coordinator.shard {
        Shard::Serving => ("serves", writes, LinkState::Good),
        Shard::Loading => ("loading", "reads the partition into memory", LinkState::Waiting),
        Shard::Failed => ("failed to load", "leads the partition, and does not serve it", LinkState::Bad),
        Shard::NotServed if lookup.verdict.status == Status::Stuck => {
            ("does not serve", "says: not coordinator", LinkState::Bad)
        }
        Shard::NotServed => ("does not serve yet", "says: not coordinator", LinkState::Waiting),
        Shard::Denied => ("may not be asked", "needs DESCRIBE on the group", LinkState::Unknown),
        Shard::Unknown if matches!(leader, LinkState::Bad | LinkState::Waiting) => {
            ("nobody to ask", "the chain broke before it", LinkState::NotReached)
        }
        Shard::Unknown => ("no answer", "not observed yet", LinkState::Unknown),
    };
    // An answer from before the leader was lost proves nothing now.
    let (value, note, state) = if leader == LinkState::Bad && state == LinkState::Good {
        ("nobody to ask", "the chain broke before it", LinkState::NotReached)
    } else {
        (value, note, state)
    };
    link("coordinator", value, [note.to_owned()], state)
}
