//! DescribeLogDirs: what lies on a broker's disks.

use std::collections::BTreeMap;

use unstuck_wire::schema::DescribeLogDirsResponseData;
use unstuck_wire::schema::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};

use super::words::code::{CLUSTER_DENIED, STORAGE_ERROR};
use super::words::text;
use super::{Answer, Question, read, say};
use crate::scenario::model::Release;
use crate::world::World;

/// The size of each file system.
const DISK: i64 = 1 << 40;

/// Tells the sizes of replicas, by log directory. A directory that failed is there with an error and without replicas.
pub(super) fn describe(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, DescribeLogDirsRequestData);
    let denied = world.acl().cluster_hidden.then_some(CLUSTER_DENIED);
    if let Some(code) = question.forced.or(denied) {
        // Below version 3 nothing can be said but that there is nothing.
        return say!(question, DescribeLogDirsResponseData { error_code: code, ..Default::default() });
    }
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    let asked = |topic: &str, number: i32| match &request.topics {
        None => true,
        Some(topics) => topics.iter().any(|one| one.topic.as_str() == topic && one.partitions.contains(&number)),
    };
    // A topic of which nothing is asked or hosted is mentioned all the same by 2.8 (seen), by no other release.
    let mentions_all = node.release == Release::V2_8;
    let mut works: Vec<BTreeMap<&str, Vec<DescribeLogDirsPartition>>> = Vec::new();
    let (mut used, mut hosted, mut failed) = (Vec::new(), 0_usize, false);
    let working = working_dirs(world, question.broker);
    for _ in &working.0 {
        works.push(BTreeMap::new());
        used.push(0_i64);
    }
    for (name, topic) in &node.seen().topics {
        for (number, partition) in (0..).zip(&topic.partitions) {
            if !partition.replicas.contains(&question.broker) {
                continue;
            }
            if partition.offline_on.contains(&question.broker) {
                failed = true;
                continue;
            }
            if working.0.is_empty() {
                continue;
            }
            let at = hosted % working.0.len();
            hosted += 1;
            let size = i64::try_from(partition.bytes).unwrap_or(i64::MAX);
            used[at] = used[at].saturating_add(size);
            if mentions_all {
                works[at].entry(name).or_default();
            }
            if asked(name, number) {
                works[at].entry(name).or_default().push(DescribeLogDirsPartition {
                    partition_index: number,
                    partition_size: size,
                    ..Default::default()
                });
            }
        }
    }
    let mut results: Vec<DescribeLogDirsResult> = working
        .0
        .iter()
        .zip(works)
        .zip(used)
        .map(|((dir, topics), used)| DescribeLogDirsResult {
            log_dir: text(dir),
            topics: topics
                .into_iter()
                .map(|(name, partitions)| DescribeLogDirsTopic { name: text(name), partitions, ..Default::default() })
                .collect(),
            total_bytes: DISK,
            usable_bytes: (DISK - used).max(0),
            ..Default::default()
        })
        .collect();
    if failed {
        results.push(DescribeLogDirsResult {
            error_code: STORAGE_ERROR,
            log_dir: text(&working.1),
            total_bytes: -1,
            usable_bytes: -1,
            ..Default::default()
        });
    }
    say!(question, DescribeLogDirsResponseData { results, ..Default::default() })
}

/// Which directories of a broker work, and which one it is that fails if one does: the last. A broker whose only
/// directory failed would be gone, so one that goes on with other replicas has a second one.
fn working_dirs(world: &World, broker: i32) -> (Vec<String>, String) {
    let Some(node) = world.node(broker) else { return Default::default() };
    let partitions = || {
        let all = node.seen().topics.values().flat_map(|topic| &topic.partitions);
        all.filter(|partition| partition.replicas.contains(&broker))
    };
    let mut dirs = node.log_dirs.clone();
    if !partitions().any(|partition| partition.offline_on.contains(&broker)) {
        return (dirs, String::new());
    }
    let failed = match dirs.len() {
        0 | 1 if partitions().all(|partition| partition.offline_on.contains(&broker)) => dirs.pop().unwrap_or_default(),
        0 | 1 => format!("{}-2", dirs.first().map_or("/var/lib/kafka", String::as_str)),
        _ => dirs.pop().unwrap_or_default(),
    };
    (dirs, failed)
}
