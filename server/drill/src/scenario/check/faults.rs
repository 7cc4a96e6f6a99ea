//! Faults, views, and what may not be seen.

use super::Check;
use crate::scenario::action::{Fault, FaultKind, View};
use crate::scenario::apis::{APIS, api_key};
use crate::scenario::model::Acl;
use crate::scenario::problem::{did_you_mean, list};
use crate::scenario::value::{MOST_PARTITIONS, Partitions};
use unstuck_diagnosis::OFFSETS_TOPIC;

impl Check<'_> {
    pub(super) fn fault(&mut self, path: &str, fault: &Fault) {
        for (nth, id) in fault.brokers.iter().enumerate() {
            self.broker(&format!("{path}.brokers[{nth}]"), *id);
        }
        for (nth, api) in fault.apis.iter().enumerate().filter(|(_, api)| api_key(api).is_none()) {
            let nearest = match did_you_mean(api, APIS.iter().map(|(_, name)| *name)) {
                nearest if nearest.is_empty() => "; Kafka's names are like DescribeGroups, FindCoordinator".to_owned(),
                nearest => nearest,
            };
            self.wrong(format!("{path}.apis[{nth}]"), format!("Kafka has no request `{api}`{nearest}"));
        }
        self.partitions(&format!("{path}.partitions"), OFFSETS_TOPIC, &fault.partitions);
        let kind = fault.r#do;
        if matches!(kind, FaultKind::Refuse | FaultKind::Close) && !fault.apis.is_empty() {
            let what =
                "connections are refused or closed before any request is read; leave this out, or `do = \"reset\"`";
            self.wrong(format!("{path}.apis"), what);
        }
        match (kind, fault.delay) {
            (FaultKind::Delay, None) => self.wrong(format!("{path}.delay"), "`do = \"delay\"` must say for how long"),
            (FaultKind::Delay | FaultKind::Error, _) | (_, None) => {}
            (_, Some(_)) => {
                self.wrong(format!("{path}.delay"), "it goes with `do = \"delay\"` and `do = \"error\"` only")
            }
        }
        self.time(format!("{path}.delay"), fault.delay);
        match (kind, fault.code) {
            (FaultKind::Error, None) => self.wrong(format!("{path}.code"), "`do = \"error\"` must say which code"),
            (FaultKind::Error, Some(0)) => self.wrong(format!("{path}.code"), "0 means that there is no error"),
            (FaultKind::Error, _) | (_, None) => {}
            (_, Some(_)) => self.wrong(format!("{path}.code"), "it goes with `do = \"error\"` only"),
        }
        if kind != FaultKind::Error && fault.partitions != Partitions::All {
            self.wrong(format!("{path}.partitions"), "it goes with `do = \"error\"` only");
        }
    }

    pub(super) fn view(&mut self, path: &str, view: &View) {
        self.broker(&format!("{path}.broker"), view.broker);
        if let Some(controller) = view.controller.filter(|controller| *controller != -1) {
            self.node(&format!("{path}.controller"), controller);
        }
        self.broker_list(&format!("{path}.brokers"), view.brokers.as_deref().unwrap_or_default());
        for (nth, set) in view.partition.iter().enumerate() {
            self.set(&format!("{path}.partition[{nth}]"), set, true);
        }
        if view.partition_count.is_some_and(|count| !(0..=MOST_PARTITIONS).contains(&count)) {
            self.wrong(format!("{path}.partition-count"), format!("it must be 0 to {MOST_PARTITIONS}"));
        }
        for (nth, topic) in view.missing_topics.iter().enumerate() {
            self.topic_name(&format!("{path}.missing-topics[{nth}]"), topic);
        }
    }

    pub(super) fn acl(&mut self, path: &str, acl: &Acl) {
        for (nth, topic) in acl.hidden_topics.iter().enumerate() {
            self.topic_name(&format!("{path}.hidden-topics[{nth}]"), topic);
        }
        if !acl.groups_hidden && !acl.visible_groups.is_empty() {
            let what =
                format!("all groups are visible without `groups-hidden = true`, also {}", list(&acl.visible_groups));
            self.wrong(format!("{path}.visible-groups"), what);
        }
    }
}
