//! A cluster in trouble, written by hand: broker 1 of three is gone, and the offsets topic has one replica.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use unstuck_diagnosis::history::{Event, Incident, Moment, Subject};
use unstuck_diagnosis::lookup::{Assigned, CommittedOffset, GroupDetail, GroupMember};
use unstuck_diagnosis::memory::{Memory, SeenGroup, SeenGroups};
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::report::{
    Avoid, BootstrapReport, BrokerReport, BrokerState, Consequence, CouldNotObserve, DataPartitionsReport, Evidence,
    Finding, GroupCounts, GroupSettings, Headline, IfItStops, NamedGroup, OffsetsTopicReport, PartitionReport,
    PlacementProof, RackReport, Remedy, Report, Risk, Severity, Shard, Status, Strength, TopicPresence, ViewReport,
};
use unstuck_diagnosis::snapshot::{LeaderlessPartition, Observed, Snapshot};
use unstuck_diagnosis::transactional::TransactionDetail;
use unstuck_diagnosis::{GroupId, Published, Seq};

use crate::model::DrillState;
use crate::source::{Answer, History, IncidentView, Source};

/// How the source answers for details.
#[derive(Clone, Copy)]
pub(super) enum Details {
    Known,
    Never,
}

/// Clusters made by hand.
pub(super) struct Fixture {
    pub(super) clusters: BTreeMap<String, Arc<Published>>,
    pub(super) details: Details,
    pub(super) drill: Option<DrillState>,
    pub(super) kept: Kept,
}

/// What the source answers of history and incidents.
#[derive(Clone)]
pub(super) enum Kept {
    /// Nothing is kept.
    Nothing,
    /// It is kept, and there is none.
    Empty,
    /// One incident, with its history.
    Here(Box<IncidentView>),
    /// It is kept, and cannot be read, as this says.
    Unreadable(&'static str),
    /// Reading never ends.
    Never,
}

impl Fixture {
    pub(super) fn new(names: &[&str]) -> Self {
        let clusters = names.iter().map(|&name| (name.to_owned(), Arc::new(published(name)))).collect();
        Self { clusters, details: Details::Known, drill: None, kept: Kept::Nothing }
    }

    /// The cluster `prod`, of which something is kept.
    pub(super) fn keeping(kept: Kept) -> Self {
        Self { kept, ..Self::new(&["prod"]) }
    }
}

impl Source for Fixture {
    fn clusters(&self) -> Vec<Arc<Published>> {
        self.clusters.values().cloned().collect()
    }

    fn published(&self, cluster: &str) -> Option<Arc<Published>> {
        self.clusters.get(cluster).cloned()
    }

    fn drill(&self) -> Option<DrillState> {
        self.drill.clone()
    }

    fn group_by_digest(&self, _cluster: &str, digest: &str) -> Option<GroupId> {
        let long = long_id();
        (long.digest() == digest).then_some(long)
    }

    fn group_detail(&self, _cluster: &str, group: &GroupId) -> Answer<'_, Result<GroupDetail, String>> {
        let detail = GroupDetail {
            at: at("2026-11-29T15:50:31Z"),
            answered_by: 2,
            group_type: Some("consumer".to_owned()),
            state: Some("Stable".to_owned()),
            member_count: 1,
            members: vec![GroupMember {
                member_id: format!("member of {group}"),
                client_id: "client".to_owned(),
                host: "/10.0.0.9".to_owned(),
                instance_id: Some("worker-9".to_owned()),
                assignment: Some(vec![Assigned { topic: "orders".to_owned(), partitions: vec![3, 4] }]),
                ..GroupMember::default()
            }],
            offsets: Ok(vec![CommittedOffset {
                topic: "orders".to_owned(),
                partition: 3,
                committed: 5,
                end: Some(1_209),
                lag: Some(1_204),
                without_leader: true,
                ..CommittedOffset::default()
            }]),
            committed_count: 1,
            ..GroupDetail::default()
        };
        match self.details {
            Details::Known => Box::pin(async move { Ok(detail) }),
            Details::Never => Box::pin(std::future::pending()),
        }
    }

    fn transaction_detail(&self, _cluster: &str, _id: &GroupId) -> Answer<'_, Result<TransactionDetail, String>> {
        let detail = TransactionDetail {
            at: at("2026-11-29T15:50:31Z"),
            answered_by: 2,
            state: Some("Ongoing".to_owned()),
            producer_id: 4_711,
            timeout_ms: 60_000,
            started: Some(at("2026-11-29T15:40:31Z")),
            ..TransactionDetail::default()
        };
        match self.details {
            Details::Known => Box::pin(async move { Ok(detail) }),
            Details::Never => Box::pin(std::future::pending()),
        }
    }

    fn keeps(&self) -> bool {
        !matches!(self.kept, Kept::Nothing)
    }

    fn not_remembered(&self, _cluster: &str) -> Option<String> {
        match self.kept {
            Kept::Unreadable(why) => Some(format!("Not being remembered since 15:50:00 UTC, because {why}")),
            _ => None,
        }
    }

    fn history(
        &self,
        _cluster: &str,
        subjects: &[Subject],
        before: Option<Timestamp>,
    ) -> Answer<'_, Result<History, String>> {
        let subjects = subjects.to_vec();
        self.kept_of(move |view| {
            let mine = |event: &&Event| subjects.contains(&event.subject);
            let earlier = |event: &&Event| before.is_none_or(|before| event.since.at < before);
            let mut events: Vec<Event> = view.events.iter().filter(mine).filter(earlier).cloned().collect();
            events.reverse();
            History { more: before.is_none() && events.len() > 3, events, ..History::default() }
        })
    }

    fn incidents(
        &self,
        _cluster: Option<&str>,
        before: Option<Timestamp>,
    ) -> Answer<'_, Result<Vec<Incident>, String>> {
        self.kept_of(move |view| {
            let earlier = before.is_none_or(|before| view.incident.opened.at < before);
            Some(view.incident.clone()).into_iter().filter(|_| earlier).collect()
        })
    }

    fn incident(&self, id: &str, moment: Option<Moment>) -> Answer<'_, Result<Option<IncidentView>, String>> {
        let id = id.to_owned();
        self.kept_of(move |view| {
            let mut view = Some(view.clone()).filter(|view| view.incident.id.0 == id)?;
            if let (Some(moment), Some((shown, _))) = (moment, &mut view.then) {
                *shown = moment;
            }
            Some(view)
        })
    }
}

impl Fixture {
    fn kept_of<T: Default + Send + 'static>(
        &self,
        read: impl FnOnce(&IncidentView) -> T,
    ) -> Answer<'static, Result<T, String>> {
        let answer = match &self.kept {
            Kept::Nothing | Kept::Empty => Ok(T::default()),
            Kept::Here(view) => Ok(read(view)),
            Kept::Unreadable(why) => Err((*why).to_owned()),
            Kept::Never => return Box::pin(std::future::pending()),
        };
        Box::pin(async move { answer })
    }
}

/// An id that does not fit an address.
pub(super) fn long_id() -> GroupId {
    GroupId("long".repeat(8_000))
}

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().expect("a literal timestamp")
}

fn broker(id: i32, state: BrokerState, sentence: &str) -> BrokerReport {
    BrokerReport {
        broker: id,
        address: Some(format!("b{id}:9092")),
        overridden_from: None,
        rack: None,
        state,
        sentence: sentence.to_owned(),
        since: (state == BrokerState::Gone).then(|| at("2026-11-29T15:48:31Z")),
        release: Some("4.1".to_owned()),
        live_for_cluster: Some(state == BrokerState::Answering),
        fenced: false,
        controller: None,
        sees_brokers: if state == BrokerState::Answering { vec![2, 3] } else { Vec::new() },
        coordinates: (0..50).filter(|partition| partition % 3 == id - 1).collect(),
        holds: (0..50).filter(|partition| partition % 3 == id - 1).collect(),
        group_count: 2,
        stuck_group_count: if state == BrokerState::Gone { 2 } else { 0 },
        last_answer: Some(at("2026-11-29T15:50:30Z")),
        if_it_stops: (state == BrokerState::Answering).then(|| if_it_stops(id)),
    }
}

fn if_it_stops(id: i32) -> IfItStops {
    IfItStops {
        title: format!("If broker {id} stops now"),
        sentences: vec!["2 partitions of __consumer_offsets lose their leader.".to_owned()],
        loses_leader: Consequence { partitions: vec![1, 4], groups: 2 },
        not_known: vec!["The quorum is not known.".to_owned()],
        ..IfItStops::default()
    }
}

fn partition(number: i32) -> PartitionReport {
    let leader = number % 3 + 1;
    let gone = leader == 1;
    let view = |asked: i32| ViewReport {
        broker: asked,
        leader: (!gone).then_some(leader),
        leader_epoch: Some(7),
        isr: if gone { Vec::new() } else { vec![leader] },
        controller: None,
        sees_brokers: vec![2, 3],
        answered_at: Some(at("2026-11-29T15:50:30Z")),
        shard: if asked == leader { Shard::Serving } else { Shard::NotServed },
        error: None,
    };
    let silent = ViewReport { answered_at: None, error: Some("connection refused".to_owned()), ..view(1) };
    PartitionReport {
        partition: number,
        status: if gone { Status::Stuck } else { Status::AtRisk },
        sentence: if gone {
            "it has no leader, and no other replica exists".to_owned()
        } else {
            format!("broker {leader} serves it, and holds the only replica")
        },
        since: gone.then(|| at("2026-11-29T15:48:31Z")),
        since_after: None,
        expected_by: None,
        outlook: gone.then(|| "It will not heal by itself: broker 1 holds the only replica.".to_owned()),
        leader: (!gone).then_some(leader),
        last_leader: gone.then_some(1),
        leader_epoch: Some(7),
        replicas: vec![leader],
        isr: if gone { Vec::new() } else { vec![leader] },
        eligible: if gone { vec![1] } else { Vec::new() },
        live_replicas: if gone { Vec::new() } else { vec![leader] },
        shard: if gone { Shard::Unknown } else { Shard::Serving },
        views_agree: Some(true),
        writes_verified: !gone,
        served_by: if gone { Vec::new() } else { vec![leader] },
        findings: vec!["no-leader-no-live-replica".to_owned()],
        group_count: usize::from(gone),
        views: vec![silent, view(2), view(3)],
    }
}

/// A cluster with broker 1 gone.
pub(super) fn published(name: &str) -> Published {
    let seen = at("2026-11-29T15:50:31Z");
    let watching_since = at("2026-11-29T12:00:00Z");
    let ids = ["billing-invoices-svc", "<script>alert(1)</script>", "crm ", "\u{202e}evil", "my-group"];
    let mut groups = SeenGroups { partition_count: Some(50), ..SeenGroups::default() };
    let mut stuck = Vec::new();
    for id in ids {
        let group = GroupId::from(id);
        let on = partition_for(&group, 50).expect("50 partitions");
        groups.by_partition.entry(on).or_default().insert(group.clone());
        groups.by_id.insert(
            group.clone(),
            SeenGroup {
                group_type: Some("classic".to_owned()),
                protocol_type: "consumer".to_owned(),
                state: Some("Stable".to_owned()),
                first_seen: watching_since,
                last_seen: at("2026-11-29T15:48:29Z"),
                ..SeenGroup::default()
            },
        );
        stuck.push(NamedGroup {
            group,
            partition: Some(on),
            status: Status::Stuck,
            group_type: Some("classic".to_owned()),
            protocol_type: "consumer".to_owned(),
            state: Some("Stable".to_owned()),
            last_seen: at("2026-11-29T15:48:29Z"),
            listed_now: false,
        });
    }
    let lost: Vec<i32> = (0..50).filter(|number| number % 3 == 0).collect();
    let report = Report {
        cluster: name.to_owned(),
        cluster_id: Some("MkU3OEVBNTcwNTJENDM2Qk".to_owned()),
        observed_at: seen,
        watching_since,
        pauses: Vec::new(),
        headline: Headline {
            status: Status::Stuck,
            sentence: "Broker 1 is gone: 5 groups are stuck".to_owned(),
            detail: "17 of 50 coordinators have no leader, and no other replica exists.".to_owned(),
            since: Some(at("2026-11-29T15:48:31Z")),
            since_after: None,
        },
        racks: vec![RackReport {
            rack: "a".to_owned(),
            brokers: vec![2],
            holds: vec![1, 4],
            if_it_stops: Some(if_it_stops(2)),
        }],
        bootstrap: vec![BootstrapReport {
            address: "b1:9092".to_owned(),
            ok: false,
            sentence: "connection refused".to_owned(),
        }],
        brokers: vec![
            broker(1, BrokerState::Gone, "refuses connections"),
            broker(2, BrokerState::Answering, "answers in 3 ms"),
            broker(3, BrokerState::Answering, "answers in 2 ms"),
        ],
        offsets_topic: OffsetsTopicReport {
            presence: TopicPresence::Present,
            sentence: "Each coordinator has a single copy.".to_owned(),
            partition_count: Some(50),
            replication_factor: Some(1),
            max_replication_factor: Some(1),
            registered_brokers: vec![1, 2, 3],
            wanted_replication_factor: 3,
            warning: Some("If a broker stops, the groups it coordinates stop.".to_owned()),
            min_insync_replicas: Some(1),
            without_leader: 17,
        },
        partitions: (0..50).map(partition).collect(),
        placement: PlacementProof::Certain { partition_count: 50 },
        group_settings: GroupSettings::default(),
        groups: GroupCounts {
            total: 643,
            by_status: BTreeMap::from([(Status::Stuck, 5), (Status::AtRisk, 638)]),
            stuck,
            complete: false,
            incomplete_because: Some("broker 1 did not list its groups".to_owned()),
        },
        data_partitions: DataPartitionsReport {
            without_leader: Some(1),
            named: vec![LeaderlessPartition {
                topic: "logs".to_owned(),
                partition: 101,
                replicas: vec![1],
                isr: vec![1],
            }],
            at: Some(seen),
        },
        findings: vec![
            Finding {
                slug: "no-leader-no-live-replica".to_owned(),
                severity: Severity::Outage,
                sentence: "17 partitions have no leader, and no live replica could become one".to_owned(),
                outlook: Some("It will not heal by itself.".to_owned()),
                evidence: vec![
                    Evidence { strength: Strength::Seen, text: "Brokers 2 and 3 say: no leader.".to_owned() },
                    Evidence { strength: Strength::NotSeen, text: "The disk of broker 1.".to_owned() },
                ],
                remedies: vec![
                    Remedy {
                        title: "Start broker 1".to_owned(),
                        why: "It holds the only replica.".to_owned(),
                        command: Some("kafka-server-start.sh config/server.properties".to_owned()),
                        danger: None,
                        ..Remedy::default()
                    },
                    Remedy::new("If its disk is lost", "The partitions begin anew.")
                        .danger(Risk::Loses, "committed offsets of 5 groups are lost")
                        .given("broker 1 is stopped", true)
                        .given("nobody has a copy of its disk", None)
                        .given("broker 2 has the data", false)
                        .file("raise.json", "new replicas", "{\"version\": 1, \"topics\": \"a&b#c\"}")
                        .command("kafka-reassign-partitions.sh --execute", "the replicas of 17 partitions")
                        .verify("kafka-topics.sh --describe")
                        .undo("Not possible: see `kafka-topics.sh`."),
                ],
                partitions: lost.clone(),
                brokers: vec![1],
                avoid: vec![Avoid {
                    what: "Do not delete __consumer_offsets".to_owned(),
                    why: "It deletes the offsets of the groups that work, too.".to_owned(),
                }],
                follows_from: None,
            },
            Finding {
                slug: "data-partition-without-leader".to_owned(),
                severity: Severity::Error,
                sentence: "1 partition of another topic has no leader".to_owned(),
                outlook: None,
                evidence: Vec::new(),
                remedies: Vec::new(),
                partitions: lost,
                brokers: vec![1],
                avoid: Vec::new(),
                follows_from: Some("no-leader-no-live-replica".to_owned()),
            },
        ],
        could_not_observe: vec![CouldNotObserve {
            what: "groups on broker 1".to_owned(),
            why: "connection refused".to_owned(),
            brokers: vec![1],
        }],
    };
    let mut memory = Memory::new(watching_since);
    memory.groups = Arc::new(groups);
    Published {
        seq: Seq { boot: "run".to_owned(), n: 1 },
        snapshot: Arc::new(Snapshot {
            cluster: name.to_owned(),
            taken_at: seen,
            bootstrap: BTreeMap::new(),
            client: Observed::NotAsked,
            brokers: BTreeMap::new(),
        }),
        report,
        memory,
    }
}
