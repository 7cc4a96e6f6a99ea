//! Made-up names for groups, clients and hosts, the same one for the same name everywhere in a file.
//!
//! The made-up name of a group lives on the partition that the group lives on, so that what is said of it stays true.
//! Names of topics, clusters and racks, and what people wrote, stay as they are, but for such names in them.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;
use unstuck_diagnosis::history::Frozen;
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC};

use super::archive::{Archive, ArchiveError};

/// How many names are tried until one lives on the right partition.
const TRIES: u32 = 100_000;

/// The same archive with made-up names.
pub(super) fn hide(archive: &Archive) -> Result<Archive, ArchiveError> {
    let mut names = Names::default();
    names.learn(archive.documents.values());
    let failed = |error: serde_json::Error| ArchiveError::NoArchive(error.to_string());
    let mut value = serde_json::to_value(archive).map_err(failed)?;
    names.replace_in(&mut value);
    let hidden: Archive = serde_json::from_value(value).map_err(failed)?;
    Ok(Archive { pseudonyms: true, ..hidden })
}

/// The made-up names of one file. Moments may be added to it: a name keeps what it was called first.
#[derive(Default)]
pub(crate) struct Names {
    map: BTreeMap<String, String>,
    groups: usize,
    clients: usize,
    hosts: usize,
    made_up: Vec<String>,
    finder: Option<AhoCorasick>,
}

impl Names {
    /// The same moment with made-up names.
    ///
    /// # Errors
    /// It cannot be written as JSON and read again.
    pub(crate) fn hide(&mut self, frozen: &Frozen) -> Result<Frozen, serde_json::Error> {
        self.learn([frozen]);
        let mut value = serde_json::to_value(frozen)?;
        self.replace_in(&mut value);
        serde_json::from_value(value)
    }

    fn learn<'a>(&mut self, documents: impl IntoIterator<Item = &'a Frozen>) {
        let (mut groups, mut clients, mut hosts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut count = None;
        for frozen in documents {
            count = count.or(frozen.report.offsets_topic.partition_count);
            collect(frozen, &mut groups, &mut clients, &mut hosts);
        }
        // What is a group is called as one, whatever else it is.
        for group in groups {
            if is_new(&self.map, &group.0) {
                self.groups += 1;
                let made_up = made_up_group(&group, self.groups, count);
                self.map.insert(group.0, made_up);
            }
        }
        for client in clients {
            if is_new(&self.map, &client) {
                self.clients += 1;
                self.map.insert(client, format!("client-{}", self.clients));
            }
        }
        for host in hosts {
            if is_new(&self.map, &host) {
                self.hosts += 1;
                self.map.insert(host, format!("host-{}.example", self.hosts));
            }
        }
        let (real, made_up): (Vec<&String>, Vec<String>) = self.map.iter().map(|(a, b)| (a, b.clone())).unzip();
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&real);
        (self.made_up, self.finder) = (made_up, finder.ok());
    }

    fn replace_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.replaced(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.replace_in(value)),
            Value::Object(fields) => {
                let before = std::mem::take(fields);
                for (name, mut value) in before {
                    self.replace_in(&mut value);
                    fields.insert(self.replaced(&name), value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn replaced(&self, text: &str) -> String {
        let Some(finder) = &self.finder else { return text.to_owned() };
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        let mut from = 0;
        while let Some(found) = finder.find(&text[from..]) {
            let (start, end) = (from + found.start(), from + found.end());
            if stands_alone(text, start, end) {
                out.push_str(&text[done..start]);
                out.push_str(self.made_up.get(found.pattern().as_usize()).map_or("…", String::as_str));
                (done, from) = (end, end);
            } else {
                from = start + text[start..].chars().next().map_or(1, char::len_utf8);
            }
        }
        out.push_str(&text[done..]);
        out
    }
}

/// Whether a name has to be made up, and has not been yet.
fn is_new(map: &BTreeMap<String, String>, name: &str) -> bool {
    !name.is_empty() && name != OFFSETS_TOPIC && !map.contains_key(name)
}

/// Whether a name is not merely a part of a longer word.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let (before, after) = (text[..start].chars().next_back(), text[end..].chars().next());
    let (first, last) = (text[start..].chars().next(), text[..end].chars().next_back());
    let cut = |one: Option<char>, other: Option<char>| one.is_some_and(word) && other.is_some_and(word);
    !cut(before, first) && !cut(last, after)
}

fn collect(
    frozen: &Frozen,
    groups: &mut BTreeSet<GroupId>,
    clients: &mut BTreeSet<String>,
    hosts: &mut BTreeSet<String>,
) {
    let seen = &frozen.memory.groups;
    groups.extend(seen.by_id.keys().chain(seen.gone.keys()).chain(seen.members.keys()).cloned());
    groups.extend(frozen.memory.ghosts.keys().cloned());
    groups.extend(frozen.report.groups.stuck.iter().map(|named| named.group.clone()));
    for sight in frozen.snapshot.brokers.values() {
        groups.extend(sight.groups.known().into_iter().flat_map(|listing| listing.groups.keys().cloned()));
        let addresses = sight.metadata.known().into_iter().flat_map(|view| view.brokers.values());
        hosts.extend(addresses.chain(&sight.address).filter_map(|address| host(address)));
    }
    hosts.extend(frozen.memory.brokers_seen.values().filter_map(|seen| host(seen.address.as_deref()?)));
    hosts.extend(frozen.snapshot.bootstrap.keys().filter_map(|address| host(address)));
    for members in seen.members.values() {
        for (client, address) in &members.clients {
            clients.insert(client.clone());
            hosts.insert(address.trim_start_matches('/').to_owned());
        }
    }
}

/// The host of `host:port`.
fn host(address: &str) -> Option<String> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    (!host.is_empty()).then(|| host.to_owned())
}

fn made_up_group(group: &GroupId, number: usize, count: Option<i32>) -> String {
    let plain = format!("group-{number}");
    let Some(wanted) = count.and_then(|count| partition_for(group, count)) else { return plain };
    let fits = |name: &String| count.and_then(|count| partition_for(&GroupId(name.clone()), count)) == Some(wanted);
    (0..TRIES).map(|n| format!("group-{number}-{n:x}")).find(fits).unwrap_or(plain)
}

#[cfg(test)]
mod tests;
