//! ApiVersions (key 18).

use bytes::BytesMut;
use unstuck_wire::schema::ApiVersionsResponseData;
use unstuck_wire::schema::api_versions_response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};

use super::words::{code, text};
use super::{Answer, Question, offered, read, say};
use crate::recorded::recorded;
use crate::scenario::model::Release;
use crate::world::{Node, World};

const KEY: i16 = 18;

pub(super) fn answer(world: &mut World, question: &Question<'_>) -> Answer {
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    let known = offered(world, node);
    let (lowest, highest) = known.iter().find(|(key, _)| *key == KEY).map_or((0, 0), |(_, range)| *range);
    if !(lowest..=highest).contains(&question.asked.version) {
        // In version 0, with the range that is known (KIP-511, from 2.4 on; before that with none).
        let range = ApiVersion { api_key: KEY, min_version: lowest, max_version: highest, ..ApiVersion::default() };
        let keys = if node.release >= Release::V2_8 { vec![range] } else { Vec::new() };
        let answer = ApiVersionsResponseData::default().with_error_code(code::UNSUPPORTED_VERSION).with_api_keys(keys);
        let mut body = BytesMut::new();
        return match answer.write(&mut body, 0) {
            Ok(()) => Answer::Body(body, std::time::Duration::ZERO),
            Err(_) => Answer::Close,
        };
    }
    let request = read!(question, ApiVersionsRequestData);
    let named = |name: &str| {
        let bytes = name.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        ends.iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric)) && bytes.iter().all(inner)
    };
    let version = question.asked.version;
    if version >= 3
        && !(named(request.client_software_name.as_str()) && named(request.client_software_version.as_str()))
    {
        return say!(question, ApiVersionsResponseData::default().with_error_code(code::INVALID_REQUEST));
    }
    let keys = known
        .into_iter()
        .map(|(key, (min, max))| ApiVersion {
            api_key: key,
            min_version: min,
            max_version: max,
            ..ApiVersion::default()
        })
        .collect();
    let mut answer =
        ApiVersionsResponseData::default().with_error_code(question.forced.unwrap_or(0)).with_api_keys(keys);
    if version >= 3 {
        features(world, node, version, &mut answer);
    }
    say!(question, answer)
}

fn features(world: &World, node: &Node, version: i16, answer: &mut ApiVersionsResponseData) {
    let recorded = recorded(node.release, world.mode());
    answer.finalized_features_epoch = recorded.finalized_epoch;
    answer.supported_features = recorded
        .supported
        .iter()
        // Below version 4 clients take a lowest level of 0 for an error (KAFKA-17011).
        .filter(|(_, min, _)| version >= 4 || *min > 0)
        .map(|(name, min, max)| SupportedFeatureKey {
            name: text(name),
            min_version: *min,
            max_version: *max,
            ..SupportedFeatureKey::default()
        })
        .collect();
    answer.finalized_features = recorded
        .finalized
        .iter()
        .filter(|(name, ..)| name != "eligible.leader.replicas.version" || world.keeps_elr())
        .map(|(name, min, max)| FinalizedFeatureKey {
            name: text(name),
            min_version_level: *min,
            max_version_level: *max,
            ..FinalizedFeatureKey::default()
        })
        .collect();
}
