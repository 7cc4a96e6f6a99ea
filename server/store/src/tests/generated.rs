//! Whatever is written comes back.

use std::cell::Cell;
use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::SeenMembers;

use super::made::{at, seen};
use super::place::{Place, postgres, sqlite};
use crate::Batch;

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let members = (any::<u16>(), vec((".*", "\\PC*"), 0..3));
    let batch = (btree_map(any::<String>(), members, 0..40), any::<Option<Vec<u8>>>(), any::<u16>());
    vec(batch, 1..4).prop_map(|all| {
        all.into_iter()
            .map(|(groups, memory, when)| Batch {
                looked_until: at(when.into()),
                memory,
                groups: groups.keys().map(|id| (GroupId(id.clone()), seen(when.into()))).collect(),
                members: groups
                    .into_iter()
                    .map(|(id, (count, clients))| {
                        (GroupId(id), SeenMembers { at: at(3), count: count.into(), clients })
                    })
                    .collect(),
                ..Batch::default()
            })
            .collect()
    })
}

/// Writes the batches one after the other, and compares with what a map would hold.
async fn check(place: &Place, number: usize, batches: &[Batch]) -> anyhow::Result<()> {
    let cluster = format!("cluster {number}");
    let token = place.token(&cluster).await?;
    let (mut groups, mut members, mut memory) = (BTreeMap::new(), BTreeMap::new(), None);
    for batch in batches {
        place.store.write(&cluster, token, batch).await?;
        groups.extend(batch.groups.iter().cloned());
        members.extend(batch.members.iter().cloned());
        memory = batch.memory.clone().or(memory);
    }
    let restored = place.store.restore(&cluster).await?.expect("a record");
    assert_eq!(restored.groups, groups.into_iter().collect::<Vec<_>>());
    assert_eq!(restored.members, members.into_iter().collect::<Vec<_>>());
    assert_eq!(restored.memory, memory);
    Ok(())
}

#[test]
fn whatever_is_written_comes_back() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut places = vec![runtime.block_on(sqlite())?];
    places.extend(runtime.block_on(postgres())?);
    let number = Cell::new(0);
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(batches in batches())| {
        number.set(number.get() + 1);
        for place in &places {
            runtime.block_on(check(place, number.get(), &batches)).map_err(|error| TestCaseError::fail(error.to_string()))?;
        }
    });
    Ok(())
}
