//! Log directories and running reassignments.

use std::collections::BTreeMap;
use std::time::Duration;

use unstuck_diagnosis::OFFSETS_TOPIC;
use unstuck_diagnosis::snapshot::{LogDir, LogDirs, Reassignment, ReplicaSize, Why};
use unstuck_wire::messages::logs::{DescribeLogDirsAnswer, DescribeLogDirsRequest, ListPartitionReassignmentsRequest};
use unstuck_wire::{Api, Connection, WireError};

use super::{Look, keep};
use crate::why::miss;

impl Look<'_> {
    /// Space and errors of the directories, sizes of replicas of `__consumer_offsets`; nothing about other topics.
    pub(super) async fn log_dirs(&self, connection: &mut Connection) -> Result<Option<Duration>, WireError> {
        if self.too_old(connection, Api::DescribeLogDirs, |sight| &mut sight.log_dirs) {
            return Ok(None);
        }
        let request = DescribeLogDirsRequest { topic: OFFSETS_TOPIC.to_owned(), partitions: self.partitions() };
        let answer = connection.call(&request, self.deadline()).await?.answer;
        let why = match answer.error {
            // Every broker has a directory: none is told to an account without the right (up to version 2).
            0 if answer.dirs.is_empty() => Some(cluster_denied()),
            0 => None,
            31 => Some(cluster_denied()),
            code => Some(Why::ErrorCode(code)),
        };
        self.note(|sight, at| match why {
            Some(why) => miss(&mut sight.log_dirs, &why, at),
            None => keep(&mut sight.log_dirs, log_dirs(at, answer), |before, now| {
                let errors =
                    |told: &LogDirs| told.dirs.iter().map(|dir| (dir.path.clone(), dir.error)).collect::<Vec<_>>();
                errors(before) == errors(now)
            }),
        });
        Ok(None)
    }

    /// Which partitions of `__consumer_offsets` are being reassigned, from whom the controller's word comes.
    pub(super) async fn reassignments(&self, connection: &mut Connection) -> Result<Option<Duration>, WireError> {
        let cadence = &self.shared.config.cadence;
        if !self.shared.speaks_for_controller(self.id) {
            self.note(|sight, _| std::mem::take(&mut sight.reassignments).known().is_some());
            return Ok(Some(cadence.quorum));
        }
        if self.too_old(connection, Api::ListPartitionReassignments, |sight| &mut sight.reassignments) {
            return Ok(None);
        }
        let partitions = self.partitions();
        if partitions.is_empty() {
            self.note(|sight, now| miss(&mut sight.reassignments, &Why::NoOffsetsTopic, now));
            return Ok(None);
        }
        let timeout = self.deadline();
        let request = ListPartitionReassignmentsRequest { topic: OFFSETS_TOPIC.to_owned(), partitions, timeout };
        let answer = connection.call(&request, timeout).await?.answer;
        let running: BTreeMap<_, _> = answer
            .partitions
            .into_iter()
            .map(|(partition, told)| {
                let running = Reassignment { replicas: told.replicas, adding: told.adding, removing: told.removing };
                (partition, running)
            })
            .collect();
        let often = !running.is_empty();
        self.note(|sight, now| match answer.error {
            0 => keep(&mut sight.reassignments, running, PartialEq::eq),
            31 => miss(&mut sight.reassignments, &cluster_denied(), now),
            code => miss(&mut sight.reassignments, &Why::ErrorCode(code), now),
        });
        Ok(often.then_some(cadence.reassigning))
    }
}

fn cluster_denied() -> Why {
    Why::NotPermitted("DESCRIBE on CLUSTER".to_owned())
}

fn log_dirs(at: jiff::Timestamp, answer: DescribeLogDirsAnswer) -> LogDirs {
    let mut told = LogDirs { at, ..LogDirs::default() };
    for dir in answer.dirs {
        for replica in dir.replicas {
            let size = ReplicaSize {
                bytes: replica.bytes,
                offset_lag: replica.offset_lag,
                is_future: replica.is_future,
                dir: dir.path.clone(),
            };
            told.bytes = told.bytes.saturating_add(size.bytes.max(0));
            let current = told.offsets.get(&replica.partition).is_some_and(|before| !before.is_future);
            if !current {
                told.offsets.insert(replica.partition, size);
            }
        }
        told.dirs.push(LogDir {
            path: dir.path,
            error: dir.error,
            total_bytes: dir.total_bytes,
            usable_bytes: dir.usable_bytes,
        });
    }
    told
}

#[cfg(test)]
mod tests {
    use unstuck_wire::messages::logs::{LogDirAnswer, ReplicaAnswer};

    use super::*;

    fn dir(path: &str, error: i16, replicas: &[(i32, i64, bool)]) -> LogDirAnswer {
        let replicas = replicas
            .iter()
            .map(|(partition, bytes, is_future)| ReplicaAnswer {
                partition: *partition,
                bytes: *bytes,
                is_future: *is_future,
                ..ReplicaAnswer::default()
            })
            .collect();
        LogDirAnswer { path: path.to_owned(), error, replicas, ..LogDirAnswer::default() }
    }

    #[test]
    fn the_current_replica_is_kept_while_it_moves_to_another_directory() {
        for dirs in [
            vec![dir("/a", 0, &[(0, 10, false)]), dir("/b", 56, &[(0, 4, true), (1, 7, false)])],
            vec![dir("/b", 56, &[(0, 4, true), (1, 7, false)]), dir("/a", 0, &[(0, 10, false)])],
        ] {
            let told = log_dirs(jiff::Timestamp::UNIX_EPOCH, DescribeLogDirsAnswer { error: 0, dirs });
            let moving = told.offsets.get(&0).expect("told");
            assert_eq!((moving.bytes, moving.dir.as_str(), moving.is_future), (10, "/a", false));
            assert_eq!(told.bytes, 21);
            assert_eq!(told.dirs.iter().find(|dir| dir.path == "/b").map(|dir| dir.error), Some(56));
        }
    }
}
