//! All moments of some files, in order of time.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use unstuck_diagnosis::history::Frozen;
use unstuck_diagnosis::memory::Memory;
use unstuck_diagnosis::snapshot::{Observed, Snapshot};
use unstuck_diagnosis::{Published, Seq};

use crate::{poller, text};

/// The longest name that a cluster can have.
const NAME_LENGTH: usize = 64;

/// A recording, or several at once.
pub(crate) struct Film {
    scenes: Vec<Scene>,
}

/// A moment of one cluster.
pub(super) struct Scene {
    /// When.
    pub(super) at: Timestamp,
    /// Of which cluster, as pages call it.
    pub(super) cluster: String,
    /// What was published then.
    pub(super) published: Arc<Published>,
}

impl Film {
    /// `None` if there is no moment.
    pub(crate) fn of(mut moments: Vec<Frozen>) -> Option<Self> {
        moments.sort_by_key(|frozen| frozen.at);
        // Two clusters of one name are told apart by Kafka's id.
        let mut names: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut scenes = Vec::new();
        for frozen in moments {
            let mut published = frozen.published();
            let id = published.report.cluster_id.clone();
            let cluster = name_for(&mut names, &published.report.cluster, id);
            published.report.cluster.clone_from(&cluster);
            Arc::make_mut(&mut published.snapshot).cluster.clone_from(&cluster);
            let same = |scene: &Scene| scene.at == frozen.at && scene.cluster == cluster;
            // The opening of an incident is often its worst moment too.
            if !scenes.last().is_some_and(same) {
                scenes.push(Scene { at: frozen.at, cluster, published: Arc::new(published) });
            }
        }
        (!scenes.is_empty()).then_some(Self { scenes })
    }

    /// How many moments there are: at least one.
    pub(crate) fn len(&self) -> usize {
        self.scenes.len()
    }

    /// The moment with this number, counted from 0; the last one if there are fewer.
    pub(super) fn scene(&self, number: usize) -> &Scene {
        &self.scenes[number.min(self.scenes.len() - 1)]
    }

    /// What was known of each cluster at a moment.
    pub(super) fn known_at(&self, number: usize) -> BTreeMap<&str, Arc<Published>> {
        let mut known: BTreeMap<&str, Arc<Published>> = BTreeMap::new();
        for scene in self.scenes.iter().take(number + 1) {
            known.insert(&scene.cluster, Arc::clone(&scene.published));
        }
        for scene in self.scenes.iter().skip(number + 1) {
            known.entry(&scene.cluster).or_insert_with(|| Arc::new(nothing_yet(&scene.cluster, self.scene(number).at)));
        }
        known
    }

    /// What it is, in a sentence.
    pub(crate) fn words(&self) -> String {
        let (first, last) = (self.scene(0), self.scene(usize::MAX));
        let mut names: Vec<&str> = self.scenes.iter().map(|scene| scene.cluster.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let names = names.join(", ");
        match self.len() {
            1 => format!("A recording of {names}: one moment, at {}", text::time(first.at)),
            count => {
                let (from, until) = (text::time(first.at), text::time(last.at));
                format!("A recording of {names}: {count} moments from {from} to {until}")
            }
        }
    }
}

/// What is said of a cluster before the recording of it begins.
fn nothing_yet(cluster: &str, at: Timestamp) -> Published {
    let snapshot = Snapshot {
        cluster: cluster.to_owned(),
        taken_at: at,
        bootstrap: BTreeMap::new(),
        client: Observed::NotAsked,
        brokers: BTreeMap::new(),
    };
    poller::next_value(Seq::default(), Arc::new(snapshot), Memory::new(at), at)
}

/// The name of a cluster in page addresses; a number behind it if another cluster has it already.
fn name_for(names: &mut BTreeMap<String, Option<String>>, told: &str, id: Option<String>) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let plain: String = told.chars().map(fits).take(NAME_LENGTH - 4).collect();
    let plain = if plain.trim_matches('.').is_empty() { "recording".to_owned() } else { plain };
    for n in 1.. {
        let name = if n == 1 { plain.clone() } else { format!("{plain}-{n}") };
        match names.get_mut(&name) {
            None => {
                names.insert(name.clone(), id);
                return name;
            }
            // What could not tell its id is taken for the one of the same name.
            Some(known) if *known == id || known.is_none() || id.is_none() => {
                if known.is_none() {
                    *known = id;
                }
                return name;
            }
            Some(_) => {}
        }
    }
    unreachable!("the numbers above do not end")
}
