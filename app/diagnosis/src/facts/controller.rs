//! Who can elect leaders and change ISRs: the quorum's leader (KRaft), or the controller that brokers name (ZooKeeper).

use std::collections::{BTreeMap, BTreeSet};

use super::{Controller, Facts, metadata};
use crate::BrokerId;
use crate::report::BrokerState;
use crate::snapshot::Why;
use crate::time::millis_between;

/// How long a quorum without a leader is taken for an election.
const CONTROLLER_GRACE_MS: i64 = 5_000;
/// How long DescribeQuorum may stay unanswered everywhere before that means that there is no quorum.
const QUORUM_SILENCE_MS: i64 = 45_000;

impl Facts<'_> {
    pub(super) fn find_controller(&self) -> Controller {
        if self.answering.is_empty() {
            return Controller::NotKnown("no broker answers".to_owned());
        }
        match self.kraft {
            None => Controller::NotKnown("no broker told its mode yet".to_owned()),
            Some(true) => self.quorum(),
            Some(false) => self.zookeeper_controller(),
        }
    }

    /// KRaft: the newest DescribeQuorum answer decides, unless at least half of the voters are known to be lost.
    fn quorum(&self) -> Controller {
        let told = self.answering.iter().filter_map(|id| self.snapshot.brokers.get(id)?.quorum.known());
        let newest = told.max_by_key(|quorum| quorum.at);
        let voters = newest.map_or(&self.memory.voters, |quorum| &quorum.voters);
        let lost = voters.iter().filter(|&&voter| self.lost_voter(voter)).count();
        if lost > 0 && lost * 2 >= voters.len() {
            let verb = if lost == 1 { "does" } else { "do" };
            return Controller::Gone(format!("{lost} of {} quorum voters {verb} not answer", voters.len()));
        }
        // Without a leader told by anybody for a while. Mere silence needs longer: a broker that asked a controller which
        // then hung does not answer for up to 30 s, although another one has been elected meanwhile.
        let patience = if newest.is_some() { CONTROLLER_GRACE_MS } else { QUORUM_SILENCE_MS };
        let since = self.memory.no_controller_since.filter(|&since| millis_between(since, self.now) >= patience);
        if let Some(since) = since {
            let since = crate::time::clock(since);
            return Controller::Gone(format!("no broker could name a quorum leader since {since}"));
        }
        match newest {
            Some(quorum) => match quorum.leader {
                Some(leader) if matches!(self.state(leader), BrokerState::Gone) => Controller::Electing,
                Some(leader) => Controller::Known(leader),
                None => Controller::Electing,
            },
            None => Controller::NotKnown(self.why_no_quorum()),
        }
    }

    /// Hard evidence, or silence past the session time-out. A controller that is no broker is never judged: it is not
    /// looked at.
    fn lost_voter(&self, voter: BrokerId) -> bool {
        match self.state(voter) {
            BrokerState::Gone => true,
            BrokerState::Hung => self.past(&self.election_bound(self.silent_since(voter))),
            _ => false,
        }
    }

    fn why_no_quorum(&self) -> String {
        self.answering
            .iter()
            .filter_map(|id| self.snapshot.brokers.get(id)?.quorum.unavailable())
            .map(|unavailable| unavailable.why.to_string())
            .next()
            .unwrap_or_else(|| "DescribeQuorum not asked yet".to_owned())
    }

    /// ZooKeeper mode: the controller that the answering brokers name.
    fn zookeeper_controller(&self) -> Controller {
        let named: BTreeSet<Option<BrokerId>> =
            self.answering.iter().filter_map(|&id| Some(metadata(self.snapshot, id)?.controller)).collect();
        let live = named
            .iter()
            .flatten()
            .copied()
            .find(|&id| !matches!(self.state(id), BrokerState::Gone | BrokerState::Hung | BrokerState::NotLive));
        if let Some(id) = live {
            return Controller::Known(id);
        }
        match self.memory.no_controller_since {
            Some(since) if self.past(&self.election_bound(since)) => {
                Controller::Gone(match named.iter().flatten().next() {
                    Some(id) => format!("the controller that brokers name, broker {id}, does not answer"),
                    None => "no broker names a controller".to_owned(),
                })
            }
            _ => Controller::Electing,
        }
    }

    /// Whether, in this snapshot, nobody can name a live controller or quorum leader although somebody was asked.
    /// The memory turns this into "since when".
    pub(crate) fn no_controller_now(&self) -> bool {
        if self.answering.is_empty() {
            return false;
        }
        match self.kraft {
            None => false,
            Some(false) => !matches!(self.zookeeper_controller(), Controller::Known(_)),
            Some(true) => {
                let asked: Vec<_> = self
                    .answering
                    .iter()
                    .filter_map(|id| self.snapshot.brokers.get(id))
                    .map(|sight| &sight.quorum)
                    .collect();
                let told = |quorum: &crate::snapshot::Observed<crate::snapshot::Quorum>| {
                    quorum.known().is_some_and(|quorum| quorum.leader.is_some())
                };
                let in_vain = |quorum: &crate::snapshot::Observed<crate::snapshot::Quorum>| {
                    quorum.known().is_some_and(|quorum| quorum.leader.is_none())
                        || quorum.unavailable().is_some_and(|unavailable| {
                            matches!(unavailable.why, Why::Silent | Why::Closed | Why::ErrorCode(_))
                        })
                };
                asked.iter().any(|quorum| in_vain(quorum)) && !asked.iter().any(|quorum| told(quorum))
            }
        }
    }

    /// Who names whom as controller, of the brokers that answer. ZooKeeper only: in KRaft the id is fiction.
    pub(crate) fn controllers_named(&self) -> BTreeMap<BrokerId, Vec<BrokerId>> {
        let mut named: BTreeMap<BrokerId, Vec<BrokerId>> = BTreeMap::new();
        if self.kraft == Some(false) {
            for &id in &self.answering {
                if let Some(controller) = metadata(self.snapshot, id).and_then(|view| view.controller) {
                    named.entry(controller).or_default().push(id);
                }
            }
        }
        named
    }

    /// The brokers that are named as controller and take themselves for it, where there are two of them or more. A
    /// broker with an old view names a controller that knows better: that is no second one.
    pub(crate) fn two_controllers(&self) -> Vec<BrokerId> {
        let named = self.controllers_named();
        let acting: Vec<_> = named.iter().filter(|(id, by)| by.contains(id)).map(|(&id, _)| id).collect();
        if acting.len() > 1 { acting } else { Vec::new() }
    }

    pub(crate) fn controllers_differ(&self) -> bool {
        !self.two_controllers().is_empty()
    }
}
