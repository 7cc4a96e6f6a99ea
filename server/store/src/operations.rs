//! What is done with the tables, each once for both databases, inside a transaction.

mod batch;
mod events;
mod findings;
mod incidents;
mod lease;
mod restore;
mod retention;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::Subject;

pub(crate) use batch::write;
pub(crate) use events::events;
pub(crate) use findings::findings;
pub(crate) use incidents::{acknowledge, add_note, document, incident, incidents, put_incident};
pub(crate) use lease::{break_leases, release_lease, take_lease};
pub(crate) use restore::restore;
pub(crate) use retention::{dropped_until, retain};

use crate::error::Fault;
use crate::sql::{Row, Transaction, values};

/// The number of a cluster, if it is known.
async fn number_of(transaction: &mut Transaction, cluster: &str) -> Result<Option<i64>, Fault> {
    let rows = transaction.rows("SELECT number FROM clusters WHERE name = $1", values![cluster]).await?;
    Ok(rows.first().map(|row| row.number(0)).transpose()?)
}

/// The number of a cluster, which gets one if it has none.
async fn number_for(transaction: &mut Transaction, cluster: &str) -> Result<i64, Fault> {
    if let Some(number) = number_of(transaction, cluster).await? {
        return Ok(number);
    }
    transaction.run("INSERT INTO clusters (name) VALUES ($1) ON CONFLICT DO NOTHING", values![cluster]).await?;
    number_of(transaction, cluster).await?.ok_or(Fault::Sql(sqlx::Error::RowNotFound))
}

/// As it is kept.
fn millis(time: Timestamp) -> i64 {
    time.as_millisecond()
}

/// As it was kept. What cannot be a time was not written by us.
fn time(millis: i64) -> Result<Timestamp, Fault> {
    Timestamp::from_millisecond(millis).map_err(|error| Fault::Sql(sqlx::Error::Decode(Box::new(error))))
}

/// The key of a subject in indexes.
fn key_of(subject: &Subject) -> String {
    match subject {
        Subject::Cluster => "cluster".to_owned(),
        Subject::Partition(partition) => format!("partition/{partition}"),
        Subject::Broker(broker) => format!("broker/{broker}"),
        Subject::Group(group) => format!("group/{}", group.digest()),
    }
}

fn json<T: Serialize>(value: &T) -> Result<String, Fault> {
    // Nothing that is kept has a map with keys other than text, the one thing that JSON cannot write.
    serde_json::to_string(value).map_err(|error| Fault::Sql(sqlx::Error::Encode(Box::new(error))))
}

fn parsed<T: DeserializeOwned>(table: &'static str, text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::Unreadable(table, error))
}

/// The documents in the first column.
fn documents_of<T: DeserializeOwned>(table: &'static str, rows: &[Row]) -> Result<Vec<T>, Fault> {
    rows.iter().map(|row| parsed(table, &row.text(0)?)).collect()
}

/// The last one of each key, since one statement must not change a row twice. In the order of keys: rows that go into the
/// same page one after the other are written several times as fast.
fn last_of_each<'a, K: Ord, T>(all: &'a [T], key: impl Fn(&'a T) -> K) -> impl Iterator<Item = (K, &'a T)> {
    let last: BTreeMap<K, &T> = all.iter().map(|one| (key(one), one)).collect();
    last.into_iter()
}

/// Ids are bytes in the store, and UTF-8.
fn group_id(table: &'static str, bytes: Vec<u8>) -> Result<GroupId, Fault> {
    let id = String::from_utf8(bytes).map_err(|error| Fault::Unreadable(table, serde::de::Error::custom(error)))?;
    Ok(GroupId(id))
}
