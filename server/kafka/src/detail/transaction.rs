//! How the transaction of one transactional id stands, as its coordinator tells.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use unstuck_diagnosis::lookup::Assigned;
use unstuck_diagnosis::transactional::TransactionDetail;
use unstuck_diagnosis::{BrokerId, GroupId};
use unstuck_wire::WireError;
use unstuck_wire::messages::transactions::DescribeTransactionRequest;

use super::{DetailError, Timed};
use crate::shared::Shared;
use crate::why::why;

/// The coordinator knows no such id.
const TRANSACTIONAL_ID_NOT_FOUND: i16 = 105;

/// Asks the coordinator (DescribeTransactions, 3.0 and later).
pub(crate) async fn fetch(
    shared: &Shared,
    id: &GroupId,
    coordinator: BrokerId,
    deadline: Duration,
) -> Result<TransactionDetail, DetailError> {
    let until = Instant::now() + deadline;
    let address = shared.address(coordinator).ok_or(DetailError::NoAddress(coordinator))?;
    let failed = |error: WireError| DetailError::Broker { broker: coordinator, why: why(&error) };
    let mut asked = Timed::open(shared, coordinator, &address, until).await.map_err(failed)?;
    let answer = asked.call(&DescribeTransactionRequest { id: id.0.clone() }).await.map_err(failed)?;
    let other = || WireError::Malformed("DescribeTransactions answered for another id than was asked".to_owned());
    let told = answer.ok_or_else(|| failed(other()))?;
    let mut detail = TransactionDetail { at: shared.now(), answered_by: coordinator, ..TransactionDetail::default() };
    match told.error {
        TRANSACTIONAL_ID_NOT_FOUND => return Ok(detail),
        0 => {}
        code => return Err(DetailError::Code { broker: coordinator, code }),
    }
    detail.state = Some(told.state);
    detail.producer_id = told.producer_id;
    detail.producer_epoch = i32::from(told.producer_epoch);
    detail.timeout_ms = i64::from(told.timeout_ms);
    detail.started = (told.started_ms > 0).then(|| Timestamp::from_millisecond(told.started_ms).ok()).flatten();
    let partitions = told.partitions.into_iter();
    detail.partitions = partitions.map(|(topic, partitions)| Assigned { topic, partitions }).collect();
    Ok(detail)
}
