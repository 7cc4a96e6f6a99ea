//! Writing what a look changed.

use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::SeenMembers;
use unstuck_diagnosis::memory::{GoneGroup, SeenGroup};

use super::{events, findings, incidents, json, last_of_each, lease, millis, number_for};
use crate::error::Fault;
use crate::kept::Batch;
use crate::sql::{Transaction, Value, values};

/// Writes a batch, if the token is the newest.
pub(crate) async fn write(
    transaction: &mut Transaction,
    cluster: &str,
    token: i64,
    batch: &Batch,
) -> Result<(), Fault> {
    let cluster = number_for(transaction, cluster).await?;
    lease::check(transaction, cluster, token).await?;
    let looks = "INSERT INTO looks (cluster, watching_since, looked_until) VALUES ($1, $2, $3) \
                 ON CONFLICT (cluster) DO UPDATE SET looked_until = excluded.looked_until";
    let (since, until) = (millis(batch.watching_since), millis(batch.looked_until));
    transaction.run(looks, values![cluster, since, until]).await?;
    if let Some(memory) = &batch.memory {
        let memories = "INSERT INTO memories (cluster, document) VALUES ($1, $2) \
                        ON CONFLICT (cluster) DO UPDATE SET document = excluded.document";
        transaction.run(memories, values![cluster, memory.as_slice()]).await?;
    }
    groups(transaction, cluster, &batch.groups).await?;
    gone(transaction, cluster, &batch.gone).await?;
    members(transaction, cluster, &batch.members).await?;
    events::insert(transaction, cluster, &batch.events).await?;
    findings::upsert(transaction, cluster, &batch.findings).await?;
    incidents::upsert(transaction, cluster, &batch.incidents).await?;
    incidents::put_documents(transaction, &batch.documents).await
}

async fn groups(transaction: &mut Transaction, cluster: i64, groups: &[(GroupId, SeenGroup)]) -> Result<(), Fault> {
    let mut rows: Vec<[Value; 6]> = Vec::new();
    let mut keys = Vec::new();
    for (key, (id, group)) in last_of_each(groups, |(id, _)| id.digest()) {
        let listed = i64::from(!group.listed_by.is_empty());
        keys.push(key.clone());
        rows.push(values![cluster, key, id.as_str().as_bytes(), listed, millis(group.last_seen), json(group)?]);
    }
    let there = "(cluster, key) DO UPDATE SET listed = excluded.listed, last_seen = excluded.last_seen, \
                 document = excluded.document";
    let columns = ["cluster", "key", "id", "listed", "last_seen", "document"];
    transaction.insert("known_groups", columns, there, rows).await?;
    Ok(transaction.delete("gone_groups", cluster, "key", &keys).await?)
}

async fn gone(transaction: &mut Transaction, cluster: i64, gone: &[(GroupId, GoneGroup)]) -> Result<(), Fault> {
    let mut rows: Vec<[Value; 5]> = Vec::new();
    let mut keys = Vec::new();
    for (key, (id, group)) in last_of_each(gone, |(id, _)| id.digest()) {
        keys.push(key.clone());
        rows.push(values![cluster, key, id.as_str().as_bytes(), millis(group.last_seen), json(group)?]);
    }
    let there = "(cluster, key) DO UPDATE SET last_seen = excluded.last_seen, document = excluded.document";
    let columns = ["cluster", "key", "id", "last_seen", "document"];
    transaction.insert("gone_groups", columns, there, rows).await?;
    Ok(transaction.delete("known_groups", cluster, "key", &keys).await?)
}

async fn members(transaction: &mut Transaction, cluster: i64, members: &[(GroupId, SeenMembers)]) -> Result<(), Fault> {
    let mut rows: Vec<[Value; 4]> = Vec::new();
    for (key, (id, seen)) in last_of_each(members, |(id, _)| id.digest()) {
        rows.push(values![cluster, key, id.as_str().as_bytes(), json(seen)?]);
    }
    let there = "(cluster, key) DO UPDATE SET document = excluded.document";
    transaction.insert("group_members", ["cluster", "key", "id", "document"], there, rows).await?;
    Ok(())
}
