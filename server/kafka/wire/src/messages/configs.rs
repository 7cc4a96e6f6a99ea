//! DescribeConfigs.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::describe_configs_request::DescribeConfigsResource;
use kacrab_protocol::generated::{DescribeConfigsRequestData, DescribeConfigsResponseData};

use super::{Decoded, Request, malformed, unwritable};
use crate::decode::{owned, text};
use crate::{Api, WireError};

/// Whose settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A topic. Asking creates nothing; one that does not exist gets error 3 from Kafka 2.0 on.
    Topic(String),
    /// The broker that is asked; its id must be right, or the answer is error 42.
    Broker(i32),
}

/// Asks for some settings of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeConfigsRequest {
    /// Whose settings.
    pub resource: Resource,
    /// Their names.
    pub names: Vec<String>,
}

/// Settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeConfigsAnswer {
    /// Error code of the resource.
    pub error: i16,
    /// The broker's words about the error.
    pub message: Option<String>,
    /// Values by name; null values are left out.
    pub values: BTreeMap<String, String>,
    /// Whether a value is the resource's own, set for this topic or this broker alone; by name, from v1 on.
    pub own: BTreeMap<String, bool>,
}

/// ConfigSource: `TOPIC_CONFIG` and `DYNAMIC_BROKER_CONFIG`.
const OWN: [i8; 2] = [1, 2];

impl Request for DescribeConfigsRequest {
    type Answer = DescribeConfigsAnswer;
    const API: Api = Api::DescribeConfigs;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        // ConfigResource.Type: 2 topic, 4 broker.
        let (kind, name) = match &self.resource {
            Resource::Topic(name) => (2, name.clone()),
            Resource::Broker(id) => (4, id.to_string()),
        };
        let keys = self.names.iter().map(|name| text(name)).collect::<Result<_, _>>()?;
        let resource = DescribeConfigsResource::default()
            .with_resource_type(kind)
            .with_resource_name(text(&name)?)
            .with_configuration_keys(Some(keys));
        DescribeConfigsRequestData::default().with_resources(vec![resource]).write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = DescribeConfigsResponseData::read(body, version).map_err(malformed)?;
        let result = answer
            .results
            .first()
            .ok_or_else(|| WireError::Malformed("DescribeConfigs answered for no resource".to_owned()))?;
        let values = result
            .configs
            .iter()
            .filter_map(|config| Some((owned(&config.name), owned(config.value.as_ref()?))))
            .collect();
        let own = result
            .configs
            .iter()
            .filter(|_| version >= 1)
            .map(|config| (owned(&config.name), OWN.contains(&config.config_source)))
            .collect();
        Ok(Decoded {
            answer: DescribeConfigsAnswer {
                error: result.error_code,
                message: result.error_message.as_ref().map(owned),
                values,
                own,
            },
            throttle_ms: answer.throttle_time_ms,
        })
    }
}
