//! What to look at, and how often.

use std::collections::BTreeMap;
use std::time::Duration;

use unstuck_diagnosis::BrokerId;
use unstuck_security::Security;

/// One cluster to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConfig {
    /// The name that people give the cluster.
    pub name: String,
    /// Ways in, each `host:port`. They may be load balancers; none of them is taken for a broker.
    pub bootstrap: Vec<String>,
    /// Addresses (`host:port`) to use instead of the advertised ones, by broker id: for containers and tunnels.
    pub broker_addresses: BTreeMap<BrokerId, String>,
    /// TLS and login, for both eyes.
    pub security: Security,
    /// Further librdkafka properties for the client's eye alone. `bootstrap.servers`, `client.id`, `group.id` and
    /// `allow.auto.create.topics` are set by us and ignored here.
    pub properties: BTreeMap<String, String>,
    /// How the made-up group ids begin; an account with rights on a prefix needs one below that prefix.
    pub canary_prefix: String,
    /// Deadline of one request of the probe; the throttle time that a broker announces is added to it.
    pub request_timeout: Duration,
    /// How often which look is taken.
    pub cadence: Cadence,
}

impl ClusterConfig {
    /// A cluster with all defaults: canary prefix `unstuck-canary`, 1 s per request, the default [`Cadence`].
    #[must_use]
    pub fn new(name: impl Into<String>, bootstrap: Vec<String>) -> Self {
        Self {
            name: name.into(),
            bootstrap,
            broker_addresses: BTreeMap::new(),
            security: Security::default(),
            properties: BTreeMap::new(),
            canary_prefix: "unstuck-canary".to_owned(),
            request_timeout: Duration::from_secs(1),
            cadence: Cadence::default(),
        }
    }
}

/// How often which look is taken, per broker. The reasons for the defaults: cost and noise on the broker,
/// where a denied canary writes one line into the authorizer's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cadence {
    /// Metadata of brokers and `__consumer_offsets`; also canaries of partitions under suspicion. Default 1 s.
    pub metadata: Duration,
    /// All canaries. Default 15 s; besides, at once after any change of metadata or connection.
    pub canaries: Duration,
    /// Canaries that were answered "not permitted" (30). Default 10 min. It is the longest pause of everything else that
    /// is not permitted, too, which is asked again after 30 s at first, and then more and more rarely.
    pub denied_canaries: Duration,
    /// Quorum, registered brokers, eligible leader replicas. Default 3 s.
    pub quorum: Duration,
    /// Group listings, settings, placement proof. Default 15 s; besides, soon after a broker (re)appears.
    pub wide: Duration,
    /// Log directories. Default 60 s.
    pub log_dirs: Duration,
    /// Running reassignments of `__consumer_offsets`. Default 15 s; besides, soon after its replicas changed, and every
    /// [`reassigning`](Self::reassigning) while one runs.
    pub reassignments: Duration,
    /// Running reassignments while there are some. Default 5 s.
    pub reassigning: Duration,
    /// Open transactions and producers. Default 60 s.
    pub transactions: Duration,
    /// Metadata as an ordinary client sees it. Default 5 s.
    pub client: Duration,
    /// Bootstrap addresses that answered are tried again. Default 30 s.
    pub bootstrap: Duration,
    /// Deadline of one request of the wide look, whose answers can be large, and of what is looked at further.
    /// Default 5 s.
    pub wide_timeout: Duration,
}

impl Default for Cadence {
    fn default() -> Self {
        Self {
            metadata: Duration::from_secs(1),
            canaries: Duration::from_secs(15),
            denied_canaries: Duration::from_secs(600),
            quorum: Duration::from_secs(3),
            wide: Duration::from_secs(15),
            log_dirs: Duration::from_secs(60),
            reassignments: Duration::from_secs(15),
            reassigning: Duration::from_secs(5),
            transactions: Duration::from_secs(60),
            client: Duration::from_secs(5),
            bootstrap: Duration::from_secs(30),
            wide_timeout: Duration::from_secs(5),
        }
    }
}
