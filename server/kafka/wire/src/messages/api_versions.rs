//! ApiVersions.

use bytes::{Bytes, BytesMut};
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::{ApiVersionsRequestData, ApiVersionsResponseData};

use super::{Decoded, Request, malformed, unwritable};
use crate::decode::int16;
use crate::{Api, VersionTable, WireError};

/// Asks what the broker offers.
#[derive(Clone, Copy, Debug)]
pub struct ApiVersionsRequest;

/// What the broker offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiVersionsAnswer {
    /// Error code; 35 if the broker does not know the version of the request.
    pub error: i16,
    /// The offer.
    pub versions: VersionTable,
}

impl Request for ApiVersionsRequest {
    type Answer = ApiVersionsAnswer;
    const API: Api = Api::ApiVersions;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let mut request = ApiVersionsRequestData::default();
        if version >= 3 {
            request.client_software_name = KafkaString::from_static("unstuck");
            request.client_software_version = KafkaString::from_static(env!("CARGO_PKG_VERSION"));
        }
        request.write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        // A broker that does not know our version answers in version 0, whatever we asked in (KIP-511).
        if int16(&mut body.clone())? == 35 {
            body.clear();
            return Ok(Decoded {
                answer: ApiVersionsAnswer { error: 35, versions: VersionTable::default() },
                throttle_ms: 0,
            });
        }
        let answer = ApiVersionsResponseData::read(body, version).map_err(malformed)?;
        let versions =
            VersionTable(answer.api_keys.iter().map(|key| (key.api_key, (key.min_version, key.max_version))).collect());
        Ok(Decoded {
            answer: ApiVersionsAnswer { error: answer.error_code, versions },
            throttle_ms: answer.throttle_time_ms,
        })
    }
}
