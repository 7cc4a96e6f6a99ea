//! What to know before reading a chapter.

use serde::Serialize;

/// A heading and its text: paragraphs with an empty line between them; `` `code` ``; lines that begin with `- ` are a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// The heading.
    pub title: &'static str,
    /// The text.
    pub text: &'static str,
}

/// The introduction of the handbook.
pub const INTRODUCTION: &[Passage] = &[
    Passage {
        title: "What a finding is",
        text: "\
Unstuck looks at every broker of a cluster, each by itself, and draws conclusions from what they say. A *finding* is one \
conclusion that somebody should know: what is wrong, for whom, how firmly that stands, and the way out. It has a slug, a \
short name that never changes, so that runbooks and alerts can refer to it. It opens when its condition is seen and closes \
when the condition is gone; nobody has to acknowledge it, and none is kept open for the record.

Each piece of evidence says how firmly it stands: *seen* was observed just now, *likely* was concluded, *not seen* could not \
be looked at. What could not be looked at is always said. It is never counted as healthy, and never as missing.

Unstuck only looks. It never runs a remedy: commands are there to be read, judged and run by a person.",
    },
    Passage {
        title: "How bad",
        text: "\
- *outage*: groups stand still now, and it does not heal by itself, or not soon.
- *error*: something does not work, or is expected back within a bound that is shown.
- *warning*: everything works; the next failure hurts.
- *info*: good to know.

A finding may change its severity while it is open: a lost leader is an *error* while an election is due, and an *outage* \
when the time for the election has passed.",
    },
    Passage {
        title: "How the word of a verdict comes about",
        text: "\
Each group id hashes to one partition of `__consumer_offsets`; the broker that leads the partition is the group's \
coordinator. So the verdict on a group is the verdict on its partition, and all groups of a partition share it.

- *working*: the leader is known, every broker that answers names the same one, it answers as coordinator, enough in-sync \
replicas answer for commits to be accepted, and there is a controller. If one of the last facts is not known, the word is \
followed by \"writes not verified\".
- *at risk*: works, and the failure of one more broker would stop it.
- *recovering*: does not serve right now, and is expected back by itself; the time by which is shown, from the cluster's own \
settings where they could be read (\"assumed\" where not).
- *stuck*: does not serve, and will not heal by itself, or the time by which it should have healed has passed.
- *look at the group*: the coordinator is fine; the cause is in the group.
- *unknown*: could not be looked at well enough. Never a guess.

Hard evidence, such as a connection that is refused by a broker that answered before, counts at once. Soft evidence, such as \
silence, or brokers that contradict each other, is *recovering* until a bound has passed: a rolling restart is no alarm.",
    },
    Passage {
        title: "Which cause comes first",
        text: "\
One failure shows in many places: a dead disk takes away a leader, which fails the coordinator, which stops commits, which \
makes members leave. So causes are asked for in the order in which they hide one another, and the first that holds decides \
the verdict:

- what may be looked at (rights),
- whether the offsets topic is there,
- whether groups live where the hash says,
- whether brokers believe the same,
- whether there is a leader,
- whether the leader can be reached,
- whether it serves as coordinator,
- whether enough replicas are in sync,
- the state of the group,
- the partitions that the group reads,
- transactions.

A finding that merely follows from another one about the same partitions and brokers stays visible, folded under \"Follows \
from\". Work on the cause; what follows closes with it.",
    },
    Passage {
        title: "How to read a remedy",
        text: "\
Remedies are ordered by what they may cost: nothing, a pause, less safety while they last, data. One that loses data never \
stands before one that does not. Commands are made for the cluster's oldest release and its mode (ZooKeeper or KRaft), with \
real values filled in. They only need the directory of Kafka's tools in the path, and a login if the cluster wants one \
(`--command-config`).

Each says what it changes, what must hold before (*met*, *not met*, or *not known* where only you can look), what it may \
cost, how to see that it worked, and how to take it back. If a precondition is not met, do not run the command: take the next \
remedy. What not to do stands apart, because it is often advised elsewhere.",
    },
];
