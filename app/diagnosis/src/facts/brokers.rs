//! How each broker stands, from here (`verdict-rules`: hard evidence speaks at once, silence needs time).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::BrokerId;
use crate::report::BrokerState;
use crate::snapshot::{BrokerSight, MetadataView, Snapshot, Why};
use crate::time::millis_between;

/// How long a broker that is listed as live again may take to be reached: attempts are at most a second apart.
const RELISTED_MS: i64 = 3_000;

/// Brokers that some other broker that answers lists as live; or a bootstrap address, where no broker answers.
pub(crate) fn listed_live(snapshot: &Snapshot, now: Timestamp) -> BTreeSet<BrokerId> {
    let mut live = BTreeSet::new();
    for (&id, sight) in &snapshot.brokers {
        if matches!(state_of(sight, true, now), BrokerState::Answering | BrokerState::Late) {
            let listed = sight.metadata.known().into_iter().flat_map(|view| view.brokers.keys().copied());
            live.extend(listed.filter(|&other| other != id));
        }
    }
    if live.is_empty() {
        // Where no advertised address works from here, the bootstrap addresses alone tell which brokers live.
        let told = snapshot.bootstrap.values().filter_map(|way| way.answer.known()).flat_map(|answer| &answer.brokers);
        let never_answered =
            |id: &&BrokerId| snapshot.brokers.get(id).is_some_and(|sight| sight.contact.first_answer.is_none());
        live.extend(told.filter(never_answered));
    }
    live
}

/// Error 72 says that the leader lives and has no address on this listener (`MetadataCache.getAliveEndpoint`). It does
/// not say who that is; where only one member of the ISR has no address, it can be no other.
pub(super) fn off_listener(views: &BTreeMap<BrokerId, &MetadataView>) -> BTreeSet<BrokerId> {
    const LISTENER_NOT_FOUND: i16 = 72;
    let mut found = BTreeSet::new();
    for view in views.values() {
        let partitions = view.offsets_topic.iter().flat_map(|topic| topic.partitions.values());
        for partition in partitions.filter(|partition| partition.error == LISTENER_NOT_FOUND) {
            let hidden: Vec<_> = partition.isr.iter().filter(|id| !view.brokers.contains_key(id)).collect();
            if let [only] = hidden.as_slice() {
                found.insert(**only);
            }
        }
    }
    found
}

/// A refusal that is older than the cluster's word that the broker lives again is old news: the next attempt is under way.
pub(super) fn unless_back(
    state: BrokerState,
    sight: &BrokerSight,
    relisted: Option<Timestamp>,
    now: Timestamp,
) -> BrokerState {
    let older = |at: Timestamp| sight.contact.trouble.as_ref().is_some_and(|trouble| trouble.since < at);
    match relisted {
        Some(at) if state == BrokerState::Gone && older(at) && millis_between(at, now) < RELISTED_MS => {
            BrokerState::Late
        }
        _ => state,
    }
}

/// How a broker stands, from its contact (`verdict-rules`: hard evidence speaks at once, silence needs time).
pub(super) fn state_of(sight: &BrokerSight, listed_live: bool, now: Timestamp) -> BrokerState {
    let contact = &sight.contact;
    let Some(trouble) = &contact.trouble else {
        return match contact.last_answer {
            Some(_) => BrokerState::Answering,
            // Named by replica lists only: no broker that answers holds it for live, or it would have told the address.
            None if sight.address.is_none() && !listed_live => BrokerState::NotLive,
            None => BrokerState::NotTried,
        };
    };
    match &trouble.why {
        // Somebody lives there, and TLS or the login keep us from seeing more.
        why if why.keeps_out() => BrokerState::Unreadable,
        Why::SpeaksHttp
        | Why::Malformed(_)
        | Why::OtherBroker(_)
        | Why::OtherCluster(_)
        | Why::TooOld(_)
        | Why::NotPermitted(_)
        | Why::ErrorCode(_) => BrokerState::Unreadable,
        _ if contact.first_answer.is_none() && listed_live => BrokerState::NeverReached,
        _ if contact.first_answer.is_none() => BrokerState::NotLive,
        Why::Refused | Why::Unreachable(_) => BrokerState::Gone,
        // Silence of one kind or another.
        _ => {
            let patience = 2 * i64::from(contact.deadline_ms.max(1));
            if millis_between(trouble.since, now) > patience { BrokerState::Hung } else { BrokerState::Late }
        }
    }
}
