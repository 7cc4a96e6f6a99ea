//! What steps do.

use unstuck_diagnosis::OFFSETS_TOPIC;

use super::Check;
use crate::scenario::action::{Action, Coordinators, CreateTopic, LogDir, Reassign};
use crate::scenario::model::Coordinator;
use crate::scenario::problem::{did_you_mean, list};
use crate::scenario::value::MOST_PARTITIONS;

impl Check<'_> {
    /// `faults`: the names of those that there have been until now.
    pub(super) fn action(&mut self, path: &str, action: &Action, faults: &[&str]) {
        let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match action {
            Action::Stop(id) => self.node(&at("stop"), *id),
            Action::Start(id) => self.node(&at("start"), *id),
            Action::ShutDown(id) => self.broker(&at("shut-down"), *id),
            Action::Pause(id) => self.broker(&at("pause"), *id),
            Action::Resume(id) => self.broker(&at("resume"), *id),
            Action::CutOff(id) => self.broker(&at("cut-off"), *id),
            Action::Reconnect(id) => self.broker(&at("reconnect"), *id),
            Action::Elect(elect) => self.some(&at("elect"), elect.topic.as_deref(), &elect.partitions),
            Action::Set(set) => self.set(&at("set"), set, false),
            Action::WriteZookeeper(set) => {
                if self.kraft() {
                    self.wrong(at("write-zookeeper"), "with KRaft there is no ZooKeeper; `set` changes what is true");
                }
                self.set(&at("write-zookeeper"), set, false);
            }
            Action::MoveController(id) => self.voter(&at("move-controller"), *id),
            Action::NoController(_) => {
                if self.kraft() {
                    let what = "only with ZooKeeper; with KRaft stop the majority of the controllers instead";
                    self.wrong(at("no-controller"), what);
                }
            }
            Action::Reassign(reassign) => self.reassign(&at("reassign"), reassign),
            Action::AddPartitions(add) => {
                let path = at("add-partitions");
                self.topic_name(&format!("{path}.topic"), &add.topic);
                let before = if self.by_hand {
                    self.topics.get(add.topic.as_str()).map_or(0, |topic| topic.partitions)
                } else {
                    self.scenario.topic.get(&add.topic).map_or(0, |topic| topic.partitions)
                };
                if add.to <= before || add.to > MOST_PARTITIONS {
                    let what = format!("{} has {before} partitions; allowed: more, up to {MOST_PARTITIONS}", add.topic);
                    self.wrong(format!("{path}.to"), what);
                }
            }
            Action::DeleteTopic(topic) => self.topic_name(&at("delete-topic"), topic),
            Action::Configure(configure) => {
                let path = at("configure");
                if let Some(topic) = &configure.topic {
                    self.topic_name(&format!("{path}.topic"), topic);
                }
                if let Some(id) = configure.broker {
                    self.broker(&format!("{path}.broker"), id);
                    if configure.topic.is_some() {
                        self.wrong(
                            format!("{path}.broker"),
                            "a setting is a topic's or a broker's: leave one of the two out",
                        );
                    }
                }
                if configure.topic.is_none() {
                    self.broker_configs(&format!("{path}.set"), configure.set.keys());
                }
                if configure.set.is_empty() && configure.delete.is_empty() {
                    self.wrong(path, "it changes nothing: say `set` or `delete`");
                }
            }
            Action::Coordinators(coordinators) => self.coordinators(&at("coordinators"), coordinators),
            Action::Fault(fault) => self.fault(&at("fault"), fault),
            Action::EndFault(name) => {
                if !faults.contains(&name.as_str()) {
                    let nearest = did_you_mean(name, faults.iter().copied());
                    let known = if faults.is_empty() { "none".to_owned() } else { list(faults) };
                    let what = format!("until here there is no fault with the name `{name}`{nearest} (named: {known})");
                    self.wrong(at("end-fault"), what);
                }
            }
            Action::View(view) => self.view(&at("view"), view),
            Action::EndView(id) => self.broker(&at("end-view"), *id),
            Action::Acl(acl) => self.acl(&at("acl"), acl),
            Action::Group(group) => self.group(&at("group"), group),
            Action::DeleteGroup(_) => {}
            Action::FailLogDir(log_dir) => self.log_dir(&at("fail-log-dir"), log_dir),
            Action::RepairLogDir(log_dir) => self.log_dir(&at("repair-log-dir"), log_dir),
            Action::CreateTopic(create) => self.create_topic(&at("create-topic"), create),
            Action::Advertise(advertise) => {
                let path = at("advertise");
                self.broker(&format!("{path}.broker"), advertise.broker);
                if !advertise.address.is_empty() {
                    self.address(format!("{path}.address"), &advertise.address);
                }
            }
        }
    }

    fn some(&mut self, path: &str, topic: Option<&str>, partitions: &crate::scenario::value::Partitions) {
        let topic = topic.unwrap_or(OFFSETS_TOPIC);
        self.topic_name(&format!("{path}.topic"), topic);
        self.partitions(&format!("{path}.partitions"), topic, partitions);
    }

    fn reassign(&mut self, path: &str, reassign: &Reassign) {
        self.some(path, reassign.topic.as_deref(), &reassign.partitions);
        if reassign.replicas.is_empty() {
            self.wrong(format!("{path}.replicas"), "a partition has at least one replica");
        }
        self.broker_list(&format!("{path}.replicas"), &reassign.replicas);
    }

    fn log_dir(&mut self, path: &str, log_dir: &LogDir) {
        self.broker(&format!("{path}.broker"), log_dir.broker);
        self.partitions(&format!("{path}.partitions"), OFFSETS_TOPIC, &log_dir.partitions);
    }

    fn create_topic(&mut self, path: &str, create: &CreateTopic) {
        self.legal_topic_name(&format!("{path}.topic"), &create.topic);
        self.partition_count(format!("{path}.partitions"), create.partitions);
        self.replication_factor(&format!("{path}.replication-factor"), create.replication_factor);
        if self.by_hand && self.topics.contains_key(create.topic.as_str()) {
            self.wrong(format!("{path}.topic"), format!("there is a topic `{}` already", create.topic));
        }
    }

    fn coordinators(&mut self, path: &str, coordinators: &Coordinators) {
        self.partitions(&format!("{path}.partitions"), OFFSETS_TOPIC, &coordinators.partitions);
        if coordinators.r#for.is_some() && coordinators.state != Coordinator::Loading {
            self.wrong(format!("{path}.for"), "only `loading` ends by itself");
        }
        self.time(format!("{path}.for"), coordinators.r#for);
    }
}
