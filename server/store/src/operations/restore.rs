//! Reading what was known before.

use serde::de::DeserializeOwned;
use unstuck_diagnosis::GroupId;

use super::{documents_of, group_id, incidents, number_of, parsed, time};
use crate::error::Fault;
use crate::kept::Restored;
use crate::sql::{Transaction, values};

/// What is known of a cluster; `None` if nothing was recorded of it.
pub(crate) async fn restore(transaction: &mut Transaction, cluster: &str) -> Result<Option<Restored>, Fault> {
    let Some(cluster) = number_of(transaction, cluster).await? else { return Ok(None) };
    let looks = "SELECT watching_since, looked_until FROM looks WHERE cluster = $1";
    let rows = transaction.rows(looks, values![cluster]).await?;
    let Some(look) = rows.first() else { return Ok(None) };
    let rows = transaction.rows("SELECT document FROM memories WHERE cluster = $1", values![cluster]).await?;
    let memory = rows.first().map(|row| row.bytes(0)).transpose()?;
    let open = "SELECT document FROM findings WHERE cluster = $1 AND closed IS NULL ORDER BY opened, id";
    let open_findings = documents_of("findings", &transaction.rows(open, values![cluster]).await?)?;
    Ok(Some(Restored {
        watching_since: time(look.number(0)?)?,
        looked_until: time(look.number(1)?)?,
        memory,
        groups: by_id(transaction, "known_groups", cluster).await?,
        gone: by_id(transaction, "gone_groups", cluster).await?,
        members: by_id(transaction, "group_members", cluster).await?,
        open_findings,
        open_incidents: incidents::open(transaction, Some(cluster)).await?,
    }))
}

async fn by_id<T: DeserializeOwned>(
    transaction: &mut Transaction,
    table: &'static str,
    cluster: i64,
) -> Result<Vec<(GroupId, T)>, Fault> {
    let sql = format!("SELECT id, document FROM {table} WHERE cluster = $1 ORDER BY id");
    let rows = transaction.rows(&sql, values![cluster]).await?;
    rows.iter().map(|row| Ok((group_id(table, row.bytes(0)?)?, parsed(table, &row.text(1)?)?))).collect()
}
