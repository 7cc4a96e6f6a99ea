-- What is known of clusters, and what happened to them.
-- Times are milliseconds since 1970. {bytes}, {numbered} and {clustered} are filled in for each database (src/sql.rs).
-- Group ids are bytes: they may hold NUL, and be longer than an index of PostgreSQL takes. Keys are their digests.

-- Clusters by their names in the configuration, so that rows need not repeat them.
CREATE TABLE clusters (
  number {numbered},
  name TEXT NOT NULL UNIQUE
);

-- Since when and until when a cluster was looked at; until when history was dropped.
CREATE TABLE looks (
  cluster BIGINT PRIMARY KEY,
  watching_since BIGINT NOT NULL,
  looked_until BIGINT NOT NULL
);

CREATE TABLE dropped (
  cluster BIGINT PRIMARY KEY,
  until BIGINT NOT NULL
);

-- Who records. The row stays when the lease is given back: tokens only grow.
CREATE TABLE leases (
  cluster BIGINT PRIMARY KEY,
  holder TEXT NOT NULL,
  until BIGINT NOT NULL,
  token BIGINT NOT NULL
);

-- Everything remembered but the groups.
CREATE TABLE memories (
  cluster BIGINT PRIMARY KEY,
  document {bytes} NOT NULL
);

CREATE TABLE known_groups (
  cluster BIGINT NOT NULL,
  key TEXT NOT NULL,
  id {bytes} NOT NULL,
  listed BIGINT NOT NULL,
  last_seen BIGINT NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (cluster, key)
) {clustered};

CREATE TABLE gone_groups (
  cluster BIGINT NOT NULL,
  key TEXT NOT NULL,
  id {bytes} NOT NULL,
  last_seen BIGINT NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (cluster, key)
) {clustered};

CREATE TABLE group_members (
  cluster BIGINT NOT NULL,
  key TEXT NOT NULL,
  id {bytes} NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (cluster, key)
) {clustered};

-- The digest tells an event that is written again from another one to the same subject in the same millisecond.
CREATE TABLE events (
  number {numbered},
  cluster BIGINT NOT NULL,
  subject TEXT NOT NULL,
  at BIGINT NOT NULL,
  digest BIGINT NOT NULL,
  document TEXT NOT NULL,
  UNIQUE (cluster, subject, at, digest)
);

CREATE INDEX events_by_time ON events (cluster, at);

CREATE TABLE findings (
  id TEXT PRIMARY KEY,
  cluster BIGINT NOT NULL,
  slug TEXT NOT NULL,
  opened BIGINT NOT NULL,
  closed BIGINT,
  incident TEXT,
  document TEXT NOT NULL
);

CREATE INDEX findings_by_time ON findings (cluster, opened);

CREATE INDEX findings_by_incident ON findings (incident);

-- Which partitions and brokers a finding concerned at any time.
CREATE TABLE concerned (
  subject TEXT NOT NULL,
  finding TEXT NOT NULL,
  PRIMARY KEY (subject, finding)
) {clustered};

CREATE INDEX concerned_by_finding ON concerned (finding);

-- A batch never writes "acknowledged"; "notes" counts the notes there were. An imported one is never open.
CREATE TABLE incidents (
  id TEXT PRIMARY KEY,
  cluster BIGINT NOT NULL,
  opened BIGINT NOT NULL,
  ended BIGINT,
  imported BIGINT NOT NULL,
  notes BIGINT NOT NULL,
  acknowledged TEXT,
  document TEXT NOT NULL
);

CREATE INDEX incidents_by_time ON incidents (opened);

-- What came with an incident that was made by hand or imported: findings and events as JSON.
CREATE TABLE enclosed (
  incident TEXT PRIMARY KEY,
  findings TEXT NOT NULL,
  events TEXT NOT NULL
);

CREATE TABLE notes (
  incident TEXT NOT NULL,
  number BIGINT NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (incident, number)
);

CREATE TABLE documents (
  incident TEXT NOT NULL,
  moment TEXT NOT NULL,
  at BIGINT NOT NULL,
  format BIGINT NOT NULL,
  bytes {bytes} NOT NULL,
  PRIMARY KEY (incident, moment)
);
