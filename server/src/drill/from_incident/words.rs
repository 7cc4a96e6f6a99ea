//! The scenario as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use unstuck_diagnosis::report::BrokerState;
use unstuck_diagnosis::{BrokerId, OFFSETS_TOPIC, PartitionId, visible};

use super::rebuild::{Fate, Placed, Rebuilt, Way};
use super::{Expected, WELL};

/// The requests that a coordinator answers.
const COORDINATOR: &str =
    r#"["DescribeGroups", "OffsetCommit", "OffsetFetch", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"]"#;

impl Rebuilt<'_> {
    /// How many steps it takes until the worst moment.
    pub(super) fn steps(&self, way: Way) -> usize {
        1 + usize::from(way.set && !self.set.is_empty() && !self.actions(way).is_empty())
    }

    /// The file.
    pub(super) fn text(&self, way: Way, expected: &Expected) -> String {
        let incident = &self.archive.incident;
        let mut out = String::new();
        let _ = writeln!(out, "# Made by `unstuck drill --from-incident` of incident {}.", comment(&incident.id.0));
        for note in self.notes.iter().chain(&expected.notes) {
            let _ = writeln!(out, "# {}", comment(note));
        }
        let _ = writeln!(out, "\ntitle = {}", quoted(&incident.title));
        let _ = writeln!(out, "story = {}", quoted(&self.story()));
        self.cluster(&mut out);
        self.topics(&mut out);
        for group in &self.groups {
            let _ = writeln!(out, "\n[[group]]\nid = {}", quoted(&group.id));
            if group.kind != "classic" {
                let _ = writeln!(out, "type = {}", quoted(group.kind));
            }
            if let Some(state) = &group.state {
                let _ = writeln!(out, "state = {}", quoted(state));
            }
            if group.members > 0 {
                let _ = writeln!(out, "members = {}", group.members);
            }
        }
        if self.groups_hidden {
            out.push_str("\n[acl]\ngroups-hidden = true\n");
        }
        self.happens(way, expected, &mut out);
        self.recovers(way, expected, &mut out);
        out
    }

    fn story(&self) -> String {
        format!(
            "What happened to {} at {}, as far as Unstuck saw it. At its worst: {}",
            self.archive.incident.cluster,
            crate::text::time(self.at),
            self.archive.incident.title
        )
    }

    fn cluster(&self, out: &mut String) {
        let mode = if self.kraft { "kraft" } else { "zookeeper" };
        let _ = writeln!(out, "\n[cluster]\nmode = {}\nrelease = {}", quoted(mode), quoted(self.release));
        let _ = writeln!(out, "brokers = {:?}", self.brokers);
        if !self.controllers.is_empty() {
            let _ = writeln!(out, "controllers = {:?}", self.controllers);
        }
        if let Some(id) = &self.cluster_id {
            let _ = writeln!(out, "id = {}", quoted(id));
        }
        if let Some(milliseconds) = self.session_timeout_ms {
            let _ = writeln!(out, "session-timeout = \"{milliseconds}ms\"");
        }
        configs(&self.configs, out);
        for broker in &self.brokers {
            let (rack, stopped) = (self.racks.get(broker), self.stopped.contains(broker));
            if rack.is_none() && !stopped {
                continue;
            }
            let _ = writeln!(out, "\n[broker.{broker}]");
            if let Some(rack) = rack {
                let _ = writeln!(out, "rack = {}", quoted(rack));
            }
            if stopped {
                out.push_str("# It was never seen.\nstate = \"stopped\"\n");
            }
        }
    }

    fn topics(&self, out: &mut String) {
        for (name, topic) in &self.topics {
            let name = quoted(name);
            let _ = writeln!(out, "\n[topic.{name}]\npartitions = {}", topic.partitions);
            let told: usize = topic.placed.values().map(Vec::len).sum();
            // Partitions that nobody told of are like the first that somebody did.
            let usual = topic.placed.iter().max_by_key(|(placed, ids)| (is_plain(placed), ids.len()));
            let usual = usual.map(|(placed, _)| placed);
            let replicas = usual.map_or(&[][..], |usual| &usual.replicas);
            if !replicas.is_empty() {
                let _ = writeln!(out, "replicas = {replicas:?}");
            }
            if let Some(factor) = topic.replication_factor {
                let _ = writeln!(out, "replication-factor = {factor}");
            }
            configs(&topic.configs, out);
            let whole = usize::try_from(topic.partitions).unwrap_or(0) == told;
            for (placed, ids) in &topic.placed {
                if Some(placed) == usual && is_plain(placed) && (whole || told < ids.len() + 1) {
                    continue;
                }
                let _ = writeln!(out, "\n[[topic.{name}.partition]]\nid = {}", ranges(ids));
                let _ = writeln!(out, "replicas = {:?}", placed.replicas);
                if placed.isr.len() != placed.replicas.len() {
                    let _ = writeln!(out, "isr = {:?}", placed.isr);
                }
                if placed.leader.is_some() && placed.leader != placed.isr.first().copied() {
                    let _ = writeln!(out, "leader = {}", placed.leader.unwrap_or(-1));
                }
            }
        }
    }

    /// What happens to brokers, the controller and coordinators.
    fn actions(&self, way: Way) -> Vec<String> {
        let mut actions = Vec::new();
        for (id, fate) in &self.fates {
            actions.push(match fate {
                Fate::Gone if way.refused => {
                    format!("{{ fault = {{ name = \"refused-{id}\", brokers = [{id}], do = \"refuse\" }} }}")
                }
                Fate::Gone => format!("{{ stop = {id} }}"),
                Fate::Hung if way.threads => {
                    format!("{{ fault = {{ name = \"hangs-{id}\", brokers = [{id}], do = \"hang\" }} }}")
                }
                Fate::Hung => format!("{{ pause = {id} }}"),
                Fate::CutOff => format!("{{ cut-off = {id} }}"),
                Fate::Locked => format!(
                    "{{ fault = {{ name = \"locked-{id}\", brokers = [{id}], do = \"hang\", apis = {COORDINATOR} }} }}"
                ),
            });
        }
        if self.controller_lost {
            if self.kraft {
                let majority = self.controllers.len() / 2 + 1;
                actions.extend(self.controllers.iter().take(majority).map(|id| format!("{{ stop = {id} }}")));
            } else {
                actions.push("{ no-controller = true }".to_owned());
            }
        }
        if self.topic_lost {
            actions.push(format!("{{ delete-topic = \"{OFFSETS_TOPIC}\" }}"));
        }
        for (state, ids) in &self.coordinators {
            actions.push(format!("{{ coordinators = {{ partitions = {}, state = \"{state}\" }} }}", ranges(ids)));
        }
        actions
    }

    fn happens(&self, way: Way, expected: &Expected, out: &mut String) {
        let actions = self.actions(way);
        let sets = if way.set { sets(&self.set) } else { Vec::new() };
        let two = !sets.is_empty() && !actions.is_empty();
        let say = format!("{} Look at the dashboard, and find out what to do.", self.what_happened());
        let first = if actions.is_empty() { &sets } else { &actions };
        step("it happens", &say, Some(WELL.as_secs()), first, out);
        if two {
            let say = "Leaders and in-sync replicas are as they were seen then.";
            step("as it was seen", say, Some(30), &sets, out);
        }
        if let Some((after, status, slug)) = &expected.at_worst {
            let _ = writeln!(out, "\n[[step.expect]]\nafter = \"{after}\"\nworst = {}", quoted(status.slug()));
            if let Some(slug) = slug {
                let _ = writeln!(out, "findings = [{}]", quoted(slug));
            }
        }
    }

    fn what_happened(&self) -> String {
        let named = |wanted: Fate, words: &str| {
            let ids: Vec<String> =
                self.fates.iter().filter(|(_, fate)| **fate == wanted).map(|(id, _)| id.to_string()).collect();
            let brokers = if ids.len() == 1 { "Broker" } else { "Brokers" };
            (!ids.is_empty()).then(|| format!("{brokers} {} {words}.", ids.join(", ")))
        };
        let mut told: Vec<String> = [
            named(Fate::Gone, "stopped"),
            named(Fate::Hung, "stopped answering"),
            named(Fate::CutOff, "lost touch with the others"),
            named(Fate::Locked, "went on, but its coordinator answered nothing"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if self.controller_lost {
            told.push("There was no controller.".to_owned());
        }
        if self.topic_lost {
            told.push(format!("{OFFSETS_TOPIC} was deleted, and every committed offset with it."));
        }
        if told.is_empty() {
            told.push("It is as it was at the worst moment.".to_owned());
        }
        told.join(" ")
    }

    /// How it was when it was over.
    fn recovers(&self, way: Way, expected: &Expected, out: &mut String) {
        let Some(closing) = self.closing else { return };
        let mut actions = Vec::new();
        for (id, fate) in &self.fates {
            let back = closing.report.broker(*id).is_some_and(|broker| broker.state == BrokerState::Answering);
            if !back {
                continue;
            }
            actions.push(match fate {
                Fate::Gone if way.refused => format!("{{ end-fault = \"refused-{id}\" }}"),
                Fate::Gone => format!("{{ start = {id} }}"),
                Fate::Hung if way.threads => format!("{{ end-fault = \"hangs-{id}\" }}"),
                Fate::Hung => format!("{{ resume = {id} }}"),
                Fate::CutOff => format!("{{ reconnect = {id} }}"),
                Fate::Locked => format!("{{ end-fault = \"locked-{id}\" }}"),
            });
        }
        if self.controller_lost && closing.memory.no_controller_since.is_none() {
            if self.kraft {
                let majority = self.controllers.len() / 2 + 1;
                actions.extend(self.controllers.iter().take(majority).map(|id| format!("{{ start = {id} }}")));
            } else {
                let answering = |id: &&BrokerId| {
                    closing.report.broker(**id).is_some_and(|broker| broker.state == BrokerState::Answering)
                };
                actions.extend(self.brokers.iter().find(answering).map(|id| format!("{{ move-controller = {id} }}")));
            }
        }
        if self.topic_lost && !closing.report.partitions.is_empty() {
            let factor = closing.report.offsets_topic.replication_factor.unwrap_or(1);
            let count = closing.report.partitions.len();
            actions.push(format!(
                "{{ create-topic = {{ topic = \"{OFFSETS_TOPIC}\", partitions = {count}, replication-factor = {factor} }} }}"
            ));
        }
        let mut placed: BTreeMap<Placed, Vec<PartitionId>> = BTreeMap::new();
        for report in &closing.report.partitions {
            let (id, now) = (report.partition, report);
            let now = Placed { replicas: now.replicas.clone(), isr: now.isr.clone(), leader: now.leader };
            let touched = way.set && self.set.values().any(|ids| ids.contains(&id));
            let moved = self.topics.get(OFFSETS_TOPIC).is_some_and(|topic| {
                topic.placed.iter().any(|(before, ids)| ids.contains(&id) && before.replicas != now.replicas)
            });
            if !self.topic_lost
                && (touched || moved)
                && now.replicas.iter().all(|id| self.brokers.contains(id))
                && !now.replicas.is_empty()
            {
                placed.entry(now).or_default().push(id);
            }
        }
        actions.extend(sets(&placed));
        for ids in self.coordinators.values() {
            actions.push(format!("{{ coordinators = {{ partitions = {}, state = \"serving\" }} }}", ranges(ids)));
        }
        step(
            "it is over",
            "This is how it was when it was over. Was it the way out that you would have taken?",
            None,
            &actions,
            out,
        );
        if let Some((after, status)) = &expected.at_closing {
            let _ = writeln!(out, "\n[[step.expect]]\nafter = \"{after}\"\nworst = {}", quoted(status.slug()));
        }
    }
}

fn step(name: &str, say: &str, after: Option<u64>, actions: &[String], out: &mut String) {
    let _ = writeln!(out, "\n[[step]]\nname = {}\nsay = {}", quoted(name), quoted(say));
    if let Some(after) = after {
        let _ = writeln!(out, "after = \"{after}s\"");
    }
    if !actions.is_empty() {
        out.push_str("do = [\n");
        for action in actions {
            let _ = writeln!(out, "    {action},");
        }
        out.push_str("]\n");
    }
}

/// What the controller held, as actions.
fn sets(placed: &BTreeMap<Placed, Vec<PartitionId>>) -> Vec<String> {
    let action = |(placed, ids): (&Placed, &Vec<PartitionId>)| {
        format!(
            "{{ set = {{ partitions = {}, leader = {}, isr = {:?}, replicas = {:?} }} }}",
            ranges(ids),
            placed.leader.unwrap_or(-1),
            placed.isr,
            placed.replicas
        )
    };
    placed.iter().map(action).collect()
}

/// Whether nothing has to be said but the replicas.
fn is_plain(placed: &Placed) -> bool {
    placed.isr.len() == placed.replicas.len() && placed.leader == placed.replicas.first().copied()
}

fn configs(configs: &[(&str, String)], out: &mut String) {
    if configs.is_empty() {
        return;
    }
    let pairs: Vec<String> = configs.iter().map(|(key, value)| format!("{} = {value}", quoted(key))).collect();
    let _ = writeln!(out, "configs = {{ {} }}", pairs.join(", "));
}

/// `"0-3, 7"`.
fn ranges(ids: &[PartitionId]) -> String {
    let mut parts: Vec<(PartitionId, PartitionId)> = Vec::new();
    for &id in ids {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == id => *last = id,
            _ => parts.push((id, id)),
        }
    }
    let words: Vec<String> =
        parts.iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") }).collect();
    quoted(&words.join(", "))
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A text that stays on its line.
fn comment(text: &str) -> String {
    visible(text).replace(['\n', '\r'], " ")
}
