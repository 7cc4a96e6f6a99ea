//! Causes that cannot be seen from outside the brokers.

use serde::Serialize;

use super::Passage;

/// A cause that nobody sees from outside the brokers, and how to look for it by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ByHand {
    /// The stable name: the anchor in the handbook.
    pub slug: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// What it does to groups, and why it cannot be seen from outside.
    pub means: &'static str,
    /// What makes one suspect it: what Unstuck or clients show meanwhile.
    pub suspect: &'static str,
    /// How to look: a line of a log, a metric, a command.
    pub look: &'static str,
    /// The way out, safest first.
    pub way_out: &'static str,
    /// Releases concerned.
    pub versions: &'static str,
    /// Where the facts come from.
    pub sources: &'static [&'static str],
}

impl ByHand {
    /// The texts with their headings, in the order of reading; those that say nothing are left out.
    #[must_use]
    pub fn passages(&self) -> Vec<Passage> {
        let all = [
            ("What it means", self.means),
            ("When to suspect it", self.suspect),
            ("How to look", self.look),
            ("The way out, safest first", self.way_out),
        ];
        all.into_iter().filter(|(_, text)| !text.is_empty()).map(|(title, text)| Passage { title, text }).collect()
    }
}

/// All of them.
pub const BY_HAND: &[ByHand] = &[CLASSIC_LOAD_FAILED, ZOOKEEPER_DIFFERS, CLEANER_DEAD, POLL_TOO_SLOW, CLIENTS_ROUTE];

const CLASSIC_LOAD_FAILED: ByHand = ByHand {
    slug: "classic-load-failed",
    title: "A classic coordinator whose load failed, and that answers as if all were well",
    means: "\
A coordinator of 3.9 and older that fails to read its partition logs the error, keeps what it had read until then, and serves. \
Groups, or the newest offsets of groups, are missing from its memory. It answers every request normally, so nothing differs \
from a coordinator that has read all.",
    suspect: "\
After the leader of a partition changed, several groups of that one partition are gone or start from the beginning, and groups \
of other partitions are not.",
    look: "Search the log of the leader's broker for `Error loading offsets from __consumer_offsets-N`.",
    way_out: "\
Make another in-sync replica leader, or restart the broker, so that the partition is read anew. If the error comes back, its \
segments are damaged there: another replica has them whole.",
    versions: "all with the classic coordinator (3.9 and older)",
    sources: &["core/src/main/scala/kafka/coordinator/group/GroupMetadataManager.scala, loadGroupsAndOffsets"],
};

const ZOOKEEPER_DIFFERS: ByHand = ByHand {
    slug: "zookeeper-differs-from-controller",
    title: "ZooKeeper holds another leader than the controller remembers",
    means: "\
The controller elects from its own memory. If something else wrote the state of a partition to ZooKeeper, such as a controller \
that did not know it was replaced, the memory is wrong, and the controller sees no reason to elect. Brokers only know what the \
controller tells them, so no answer of a broker shows it.",
    suspect: "`no-leader-live-replica` stays open although an in-sync replica lives and there is a controller.",
    look: "\
Compare `zookeeper-shell.sh ZOOKEEPER:2181 get /brokers/topics/__consumer_offsets/partitions/N/state` with what Unstuck shows \
of the partition, and `get /controller` with the controller that brokers name. Add the chroot to the paths, if the cluster has \
one.",
    way_out: "\
The ways out of `no-leader-live-replica`: an election, or a new controller, which reads the true state from ZooKeeper. Then \
upgrade to 2.1 or newer.",
    versions: "with ZooKeeper, mostly below 2.1 (KAFKA-6082)",
    sources: &["KAFKA-6082"],
};

const CLEANER_DEAD: ByHand = ByHand {
    slug: "log-cleaner-dead",
    title: "The log cleaner of a broker has stopped",
    means: "\
`__consumer_offsets` is kept small by compaction. If the cleaner's thread dies, or gives a partition up, the partition grows \
without end. Nothing shows until the coordinator moves: then the new leader reads for minutes or hours before it serves. \
That a partition is large can be seen from outside, why it is so cannot.",
    suspect: "Partitions of `__consumer_offsets` with gigabytes; coordinators that load for minutes after every restart.",
    look: "\
On the broker: `log-cleaner.log` for an exception; the metrics `kafka.log:type=LogCleaner,name=DeadThreadCount` and \
`kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count` in JMX. A transaction that hangs on the partition holds \
the cleaner up, too.",
    way_out: "\
Restart the broker whose cleaner has died, one broker at a time, and wait until the partitions are small before you stop the \
next one. Never delete segments by hand: replicas then differ.",
    versions: "all; known causes: KAFKA-5413 (fixed in 0.10.2.2 and 0.11), KAFKA-8335 (fixed in 2.2.1 and 2.3)",
    sources: &["KIP-346", "KAFKA-5413", "KAFKA-8335"],
};

const POLL_TOO_SLOW: ByHand = ByHand {
    slug: "poll-interval-exceeded",
    title: "Members take longer than max.poll.interval.ms over what they have read",
    means: "\
A consumer that does not call poll in time leaves its group by itself and joins again when it is done. The group rebalances \
each time. The coordinator only sees members that come and go; that it was the clock of the client is written in the client's \
log alone.",
    suspect: "A group that rebalances again and again with a coordinator that works, and lag that does not shrink.",
    look: "\
In the logs of the clients: `consumer poll timeout has expired` (Java), `Application maximum poll interval (…ms) exceeded by \
…ms` (librdkafka).",
    way_out: "\
Find what takes so long: a slow database, a retry that waits. Until then lower `max.poll.records`, or raise \
`max.poll.interval.ms`; a member that really hangs is then noticed later.",
    versions: "all",
    sources: &["KIP-62"],
};

const CLIENTS_ROUTE: ByHand = ByHand {
    slug: "coordinator-unreachable-for-clients",
    title: "The coordinator can be reached from here, and not from where the clients are",
    means: "\
Clients go to the address that a broker advertises. A firewall, a name that resolves otherwise in their network, or a load \
balancer in between can keep them from one broker only, so from one part of the groups. Unstuck looks from where it runs.",
    suspect: "\
Unstuck says that a group works, and its members wait. Groups on the partitions of one broker are hit, all others are not.",
    look: "\
On a machine of the clients: resolve the name and connect to the port that Unstuck shows for the coordinator. The logs of Java \
clients repeat `Discovered group coordinator` and `isDisconnected: true`.",
    way_out: "Correct the name, the route or the firewall; or `advertised.listeners` of that broker, and restart it.",
    versions: "all",
    sources: &[],
};
