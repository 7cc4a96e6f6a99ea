//! Who records a cluster.

use std::time::Duration;

use super::{number_for, number_of, time};
use crate::error::Fault;
use crate::kept::Lease;
use crate::sql::{Transaction, values};

/// Takes the lease, or renews it, or tells who has it. The clock is the database's, since those of servers differ.
pub(crate) async fn take_lease(
    transaction: &mut Transaction,
    cluster: &str,
    holder: &str,
    ttl: Duration,
) -> Result<Lease, Fault> {
    let cluster = number_for(transaction, cluster).await?;
    let now = transaction.dialect().now();
    let take = format!(
        "INSERT INTO leases (cluster, holder, until, token) VALUES ($1, $2, {now} + $3, 1) \
         ON CONFLICT (cluster) DO UPDATE SET holder = excluded.holder, until = excluded.until, \
         token = CASE WHEN leases.holder = excluded.holder THEN leases.token ELSE leases.token + 1 END \
         WHERE leases.holder = excluded.holder OR leases.until <= {now} RETURNING until, token"
    );
    let ttl = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX / 2);
    if let Some(row) = transaction.rows(&take, values![cluster, holder, ttl]).await?.first() {
        return Ok(Lease::Held { until: time(row.number(0)?)?, token: row.number(1)? });
    }
    let rows = transaction.rows("SELECT holder, until FROM leases WHERE cluster = $1", values![cluster]).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    Ok(Lease::HeldBy { holder: row.text(0)?, until: time(row.number(1)?)? })
}

/// Gives the lease back, if this one has it.
pub(crate) async fn release_lease(transaction: &mut Transaction, cluster: &str, holder: &str) -> Result<(), Fault> {
    let Some(cluster) = number_of(transaction, cluster).await? else { return Ok(()) };
    // The next holder gets another token, even if it has the same name.
    let release = "UPDATE leases SET holder = '', until = 0, token = token + 1 WHERE cluster = $1 AND holder = $2";
    transaction.run(release, values![cluster, holder]).await?;
    Ok(())
}

/// Ends every lease: the file is not the one that they were taken in.
pub(crate) async fn break_leases(transaction: &mut Transaction) -> Result<(), Fault> {
    transaction.run("UPDATE leases SET holder = '', until = 0, token = token + 1", []).await?;
    Ok(())
}

/// Refuses an old token; nobody can take the lease before the transaction ends. One that has run out is still good,
/// as long as nobody else has taken the lease.
pub(super) async fn check(transaction: &mut Transaction, cluster: i64, token: i64) -> Result<(), Fault> {
    let newest = format!("SELECT token FROM leases WHERE cluster = $1{}", transaction.dialect().lock());
    let rows = transaction.rows(&newest, values![cluster]).await?;
    match rows.first().map(|row| row.number(0)).transpose()? {
        Some(newest) if newest == token => Ok(()),
        _ => Err(Fault::NotHolder),
    }
}
