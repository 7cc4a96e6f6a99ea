//! FindCoordinator.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::{FindCoordinatorRequestData, FindCoordinatorResponseData};

use super::{Decoded, Request, malformed, unwritable};
use crate::decode::{owned, text};
use crate::{Api, WireError};

/// Asks which broker coordinates some groups. Always of type 0 (group): type 1 would create `__transaction_state`,
/// type 2 needs rights that nobody should give us. Below version 4 only one id fits.
///
/// On every release this creates `__consumer_offsets` where it does not exist: send it only after metadata has shown
/// that it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindCoordinatorRequest {
    /// The group ids.
    pub groups: Vec<String>,
}

/// Group id → the broker named, or the error code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindCoordinatorAnswer {
    /// The answers.
    pub coordinators: BTreeMap<String, Result<i32, i16>>,
}

impl Request for FindCoordinatorRequest {
    type Answer = FindCoordinatorAnswer;
    const API: Api = Api::FindCoordinator;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let mut request = FindCoordinatorRequestData::default();
        if version >= 4 {
            request.coordinator_keys = self.groups.iter().map(|group| text(group)).collect::<Result<_, _>>()?;
        } else {
            let [group] = self.groups.as_slice() else {
                return Err(WireError::Unwritable(format!("{} ids, but one fits", self.groups.len())));
            };
            request.key = text(group)?;
        }
        request.write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = FindCoordinatorResponseData::read(body, version).map_err(malformed)?;
        let named = |code: i16, node: i32| if code == 0 { Ok(node) } else { Err(code) };
        let coordinators = if version >= 4 {
            answer.coordinators.iter().map(|one| (owned(&one.key), named(one.error_code, one.node_id))).collect()
        } else {
            self.groups.iter().map(|group| (group.clone(), named(answer.error_code, answer.node_id))).collect()
        };
        Ok(Decoded { answer: FindCoordinatorAnswer { coordinators }, throttle_ms: answer.throttle_time_ms })
    }
}
