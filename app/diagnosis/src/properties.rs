//! What holds for any cluster, however broken: made-up clusters, broken at random.

use proptest::prelude::*;

use crate::GroupId;
use crate::report::{Finding, PartitionReport, Report, Risk, Status};
use crate::sample::Sample;
use crate::snapshot::{Observed, SHARE_GROUP_STATE, TRANSACTION_STATE, Unavailable, Why};

#[derive(Clone, Debug)]
enum Blow {
    Gone(i32),
    Hung(i32, i64),
    NeverReached(i32),
    Unreachable(i32),
    /// TLS or the login keep us out.
    KeptOut(i32, Why),
    NoLeader(i32, Vec<i32>),
    Isr(i32, Vec<i32>),
    View(i32, i32, Option<i32>, i32),
    Canary(i32, i32, i16),
    NoCanary(i32, i32),
    CanariesUnanswered(i32, i64),
    MinIsr(i32),
    NoConfigs,
    NoQuorumLeader,
    QuorumDenied,
    Noticed(i32),
    Later(i64),
    Release(&'static str),
    CoordinatorsUse(i32),
    Absent,
    Hidden,
    LogDirFails(i32),
    DiskFull(i32),
    OfflineReplica(i32, i32),
    Large(i32, i32),
    StateTopic(&'static str, usize),
    StateNoLeader(&'static str, i32, Vec<i32>),
    StateIsr(&'static str, i32, Vec<i32>),
    TransactionCanary(i32, i32, i16),
    Reassigning(i32, Vec<i32>, Vec<i32>),
    NoReassignments,
    UncleanElection(i32, i32, i32),
    UncleanAllowed,
    Eligible(i32, Vec<i32>),
    ProducerOpen(i32, i64),
    OpenTransaction(i32),
    NoTransactions,
    Compaction(&'static str),
    NamesController(i32, Option<i32>),
    Isolated(i32),
    Fenced(i32),
    DataWithoutLeader(Vec<i32>),
    OnlyCopy(&'static str, i32),
}

const STATES: [&str; 2] = [TRANSACTION_STATE, SHARE_GROUP_STATE];

/// Disks, reassignments, transactions, other coordinators, and elections that lose something.
fn further() -> impl Strategy<Value = Blow> {
    let broker = || 1..4_i32;
    let partition = || 0..6_i32;
    let brokers = || proptest::collection::vec(1..6_i32, 0..4);
    let state = || proptest::sample::select(&STATES[..]);
    prop_oneof![
        broker().prop_map(Blow::LogDirFails),
        broker().prop_map(Blow::DiskFull),
        (partition(), broker()).prop_map(|(id, broker)| Blow::OfflineReplica(id, broker)),
        (broker(), partition()).prop_map(|(broker, id)| Blow::Large(broker, id)),
        (state(), 1..4_usize).prop_map(|(topic, replicas)| Blow::StateTopic(topic, replicas)),
        (state(), partition(), brokers()).prop_map(|(topic, id, isr)| Blow::StateNoLeader(topic, id, isr)),
        (state(), partition(), brokers()).prop_map(|(topic, id, isr)| Blow::StateIsr(topic, id, isr)),
        (broker(), partition(), prop_oneof![Just(14_i16), Just(15), Just(16), Just(53), Just(105)])
            .prop_map(|(broker, id, code)| Blow::TransactionCanary(broker, id, code)),
        (partition(), brokers(), brokers()).prop_map(|(id, adding, removing)| Blow::Reassigning(id, adding, removing)),
        Just(Blow::NoReassignments),
        (partition(), broker(), broker()).prop_map(|(id, before, after)| Blow::UncleanElection(id, before, after)),
        Just(Blow::UncleanAllowed),
        (partition(), brokers()).prop_map(|(id, brokers)| Blow::Eligible(id, brokers)),
        (partition(), 1..20_000_i64).prop_map(|(id, seconds)| Blow::ProducerOpen(id, seconds)),
        broker().prop_map(Blow::OpenTransaction),
        Just(Blow::NoTransactions),
        prop_oneof![Just("delete"), Just("compact,delete"), Just("compact")].prop_map(Blow::Compaction),
        (broker(), proptest::option::of(broker())).prop_map(|(broker, named)| Blow::NamesController(broker, named)),
        broker().prop_map(Blow::Isolated),
        broker().prop_map(Blow::Fenced),
        brokers().prop_map(Blow::DataWithoutLeader),
        (proptest::sample::select(&["logs", TRANSACTION_STATE][..]), broker())
            .prop_map(|(topic, broker)| Blow::OnlyCopy(topic, broker)),
    ]
}

fn keeps_out() -> impl Strategy<Value = Why> {
    prop_oneof![
        Just(Why::SpeaksPlaintext),
        Just(Why::NoLoginHere),
        Just(Why::TlsRefused("alert 42, bad certificate".to_owned())),
        Just(Why::CertificateExpired("long ago".to_owned())),
        Just(Why::LoginRefused("no".to_owned())),
        Just(Why::NoToken("no".to_owned())),
        Just(Why::NoTicket("no".to_owned())),
    ]
}

fn common() -> impl Strategy<Value = Blow> {
    let broker = 1..4_i32;
    let partition = 0..6_i32;
    let brokers = proptest::collection::vec(1..6_i32, 0..4);
    prop_oneof![
        broker.clone().prop_map(Blow::Gone),
        (broker.clone(), 1..60_i64).prop_map(|(id, seconds)| Blow::Hung(id, seconds)),
        broker.clone().prop_map(Blow::NeverReached),
        broker.clone().prop_map(Blow::Unreachable),
        (broker.clone(), keeps_out()).prop_map(|(id, why)| Blow::KeptOut(id, why)),
        (partition.clone(), brokers.clone()).prop_map(|(id, isr)| Blow::NoLeader(id, isr)),
        (partition.clone(), brokers).prop_map(|(id, isr)| Blow::Isr(id, isr)),
        (broker.clone(), partition.clone(), proptest::option::of(1..6_i32), 0..9_i32)
            .prop_map(|(broker, id, leader, epoch)| Blow::View(broker, id, leader, epoch)),
        (broker.clone(), partition.clone(), prop_oneof![Just(0_i16), Just(14), Just(15), Just(16), Just(30), Just(99)])
            .prop_map(|(broker, id, code)| Blow::Canary(broker, id, code)),
        (broker.clone(), partition).prop_map(|(broker, id)| Blow::NoCanary(broker, id)),
        (broker.clone(), 1..60_i64).prop_map(|(id, seconds)| Blow::CanariesUnanswered(id, seconds)),
        (-1..5_i32).prop_map(Blow::MinIsr),
        Just(Blow::NoConfigs),
        Just(Blow::NoQuorumLeader),
        Just(Blow::QuorumDenied),
        broker.prop_map(Blow::Noticed),
        (1..200_i64).prop_map(Blow::Later),
        prop_oneof![Just("1.0"), Just("2.3"), Just("3.6"), Just("4.1"), Just("odd")].prop_map(Blow::Release),
        (0..100_i32).prop_map(Blow::CoordinatorsUse),
        Just(Blow::Absent),
        Just(Blow::Hidden),
    ]
}

fn blow() -> impl Strategy<Value = Blow> {
    prop_oneof![common(), further()]
}

fn strike(sample: Sample, blow: &Blow) -> Sample {
    match blow {
        Blow::Gone(id) => sample.gone(*id),
        Blow::Hung(id, seconds) => sample.hung(*id, *seconds),
        Blow::NeverReached(id) => sample.never_reached(*id),
        Blow::KeptOut(id, why) => sample.trouble(*id, why.clone()),
        Blow::Unreachable(id) => sample.trouble(*id, Why::Unreachable("no route to host".to_owned())),
        Blow::NoLeader(id, isr) => sample.no_leader(*id, isr),
        Blow::Isr(id, isr) => sample.isr(*id, isr),
        Blow::View(broker, id, leader, epoch) => sample.view(*broker, *id, *leader, *epoch),
        Blow::Canary(broker, id, code) => sample.canary(*broker, *id, *code),
        Blow::NoCanary(broker, id) => sample.no_canary(*broker, *id),
        Blow::CanariesUnanswered(id, seconds) => sample.canaries_unanswered(*id, *seconds),
        Blow::MinIsr(min) => sample.min_isr(*min),
        Blow::NoConfigs => sample.no_configs(),
        Blow::NoQuorumLeader => sample.no_quorum_leader(),
        Blow::QuorumDenied => sample.quorum_denied(),
        Blow::Noticed(id) => sample.leaderless_after(*id),
        Blow::Later(seconds) => sample.later(*seconds),
        Blow::Release(release) => sample.release(release),
        Blow::CoordinatorsUse(count) => sample.coordinators_use(*count),
        Blow::Absent => sample.absent(),
        Blow::Hidden => sample.hidden(),
        further => strike_further(sample, further),
    }
}

fn strike_further(sample: Sample, blow: &Blow) -> Sample {
    let why = || Why::NotPermitted("DESCRIBE on CLUSTER".to_owned());
    match blow {
        Blow::LogDirFails(id) => sample.log_dir_error(*id, 56),
        Blow::DiskFull(id) => sample.log_dir_space(*id, 1_000_000_000, 1_000),
        Blow::OfflineReplica(id, broker) => sample.offline_replica(*id, *broker),
        Blow::Large(broker, id) => sample.offsets_size(*broker, *id, 20_000_000_000),
        Blow::StateTopic(topic, replicas) => sample.state_topic(topic, 6, *replicas),
        Blow::StateNoLeader(topic, id, isr) => sample.state_no_leader(topic, *id, isr),
        Blow::StateIsr(topic, id, isr) => sample.state_isr(topic, *id, isr),
        Blow::TransactionCanary(broker, id, code) => sample.transaction_canary(*broker, *id, *code),
        Blow::Reassigning(id, adding, removing) => sample.reassigning(*id, adding, removing),
        Blow::NoReassignments => sample.no_reassignments(why()),
        Blow::UncleanElection(id, before, after) => {
            let sample = sample.isr(*id, &[*before]).later(1).gone(*before).no_leader(*id, &[*before]).later(20);
            let sample = (1..4).fold(sample.isr(*id, &[*after]), |sample, b| sample.view(b, *id, Some(*after), 9));
            sample.later(1)
        }
        Blow::UncleanAllowed => sample.topic_configs(|configs| configs.unclean_leader_election = Some(true)),
        Blow::Eligible(id, brokers) => sample.eligible(*id, brokers),
        Blow::ProducerOpen(id, seconds) => sample.producer_open(*id, 7, *seconds),
        Blow::OpenTransaction(broker) => sample.open_transaction(*broker, "payments-1", 7),
        Blow::NoTransactions => sample.no_transactions(why()).no_producers(why()),
        Blow::Compaction(policy) => sample.cleanup_policy(policy),
        Blow::NamesController(broker, named) => sample.names_controller(*broker, *named),
        Blow::Isolated(id) => sample.isolated(*id),
        Blow::Fenced(id) => sample.fenced(*id),
        Blow::DataWithoutLeader(replicas) => sample.leaderless_data("logs", 3, replicas),
        Blow::OnlyCopy(topic, broker) => sample.only_copy(topic, 0, *broker),
        common => unreachable!("{common:?} is struck above"),
    }
}

/// What must hold for every report (`verdict-rules`).
fn check(sample: &Sample, report: &Report) {
    for partition in &report.partitions {
        let what = format!("{partition:#?}\n{:#?}", sample.snapshot.brokers);
        if matches!(partition.status, Status::Working | Status::AtRisk) {
            let leader = partition.leader.expect("a working partition has a leader");
            let sight = &sample.snapshot.brokers[&leader];
            let silent = sight.contact.trouble.as_ref().is_some_and(|trouble| trouble.why != Why::Silent);
            assert!(!silent, "works although its leader does not answer: {what}");
            assert_eq!(partition.views_agree, Some(true), "works although brokers disagree: {what}");
            if let Some(min) = report.offsets_topic.min_insync_replicas.filter(|_| partition.replicas.len() >= 3) {
                assert!(partition.isr.len() >= min, "works below min ISR: {what}");
            }
        }
        if partition.status == Status::Stuck
            && let Some(leader) = partition.leader
            && let Some(sight) = sample.snapshot.brokers.get(&leader)
        {
            let never = sight.contact.first_answer.is_none();
            assert!(!never, "stuck, because of a leader that was never reached: {what}");
        }
        if partition.status == Status::Recovering && partition.expected_by.is_none() {
            assert!(!partition.findings.is_empty(), "recovering without bound or explanation: {what}");
        }
        if matches!(partition.status, Status::Stuck) {
            assert!(!partition.findings.is_empty(), "stuck without an explanation: {what}");
        }
        assert!(!partition.sentence.is_empty());
    }
    report.findings.iter().for_each(check_finding);
}

/// What a command may leave to whoever runs it, each of which a precondition has to explain.
const PLACEHOLDERS: [&str; 7] = ["BOOTSTRAP", "ZOOKEEPER", "UNSTUCK", "GROUP", "TOPIC", "HOST", "PORT"];

/// What must hold for every finding: no danger goes unsaid, nothing lossy comes before what is not, and every command
/// says what it changes, how to see that it worked and how to take it back.
pub(crate) fn check_finding(finding: &Finding) {
    assert!(finding.sentence.ends_with(['.', '?']), "{finding:#?}");
    let lossy = finding.remedies.iter().position(|remedy| remedy.risk == Risk::Loses);
    for (at, remedy) in finding.remedies.iter().enumerate() {
        let what = format!("{}: {remedy:#?}", finding.slug);
        assert!(!remedy.title.is_empty() && !remedy.why.is_empty(), "{what}");
        assert!(lossy.is_none_or(|lossy| at < lossy || remedy.risk == Risk::Loses), "after what loses data: {what}");
        assert_eq!(
            remedy.risk > Risk::None,
            remedy.danger.is_some(),
            "a risk without a danger, or the reverse: {what}"
        );
        assert!(!remedy.title.starts_with("Do not"), "what not to do is no way out: {what}");
        assert!(remedy.changes.is_none() || remedy.command.is_some(), "{what}");
        assert!(!remedy.mutates() || (remedy.verify.is_some() && remedy.undo.is_some()), "{what}");
        let command = remedy.command.as_deref().unwrap_or_default();
        let shouted = |word: &&str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
        let words = command.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '=').filter(shouted);
        for word in words {
            assert!(PLACEHOLDERS.contains(&word), "what is {word}? {what}");
            let said = remedy.preconditions.iter().any(|given| given.text.contains(word));
            assert!(said, "{word} is not explained: {what}");
        }
    }
    assert!(lossy.is_none() || !finding.avoid.is_empty(), "what not to do is missing: {finding:#?}");
    for avoid in &finding.avoid {
        assert!(avoid.what.starts_with("Do not") && avoid.why.ends_with('.'), "{avoid:?}");
    }
}

/// A fact that is taken away.
#[derive(Clone, Copy, Debug)]
enum Fact {
    Metadata,
    Canary(i32),
    Coordinators,
    Groups,
    Configs,
    TopicConfigs,
    Quorum,
    Elr,
    ClusterPermission,
    LogDirs,
    Reassignments,
    Transactions,
    Producers,
    TransactionCanaries,
    StateTopicConfigs,
    Release,
    Mode,
    Client,
}

fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        Just(Fact::Metadata),
        (0..6_i32).prop_map(Fact::Canary),
        Just(Fact::Coordinators),
        Just(Fact::Groups),
        Just(Fact::Configs),
        Just(Fact::TopicConfigs),
        Just(Fact::Quorum),
        Just(Fact::Elr),
        Just(Fact::ClusterPermission),
        Just(Fact::LogDirs),
        Just(Fact::Reassignments),
        Just(Fact::Transactions),
        Just(Fact::Producers),
        Just(Fact::TransactionCanaries),
        Just(Fact::StateTopicConfigs),
        Just(Fact::Release),
        Just(Fact::Mode),
        Just(Fact::Client),
    ]
}

/// The cluster with a fact of one broker taken away: never asked, or asked in vain.
fn without(mut sample: Sample, broker: i32, fact: Fact, asked: bool) -> Sample {
    fn gone<T>(fact: &mut Observed<T>, unavailable: Option<&Unavailable>) {
        *fact = unavailable.map_or(Observed::NotAsked, |unavailable| Observed::Unavailable(unavailable.clone()));
    }
    let why = Why::NotPermitted("DESCRIBE on CLUSTER".to_owned());
    let unavailable = Unavailable { why, since: sample.now() };
    let unavailable = asked.then_some(&unavailable);
    if let Fact::Client = fact {
        gone(&mut sample.snapshot.client, unavailable);
    }
    let Some(sight) = sample.snapshot.brokers.get_mut(&broker) else { return sample };
    match fact {
        Fact::Metadata => gone(&mut sight.metadata, unavailable),
        Fact::Canary(partition) => drop(sight.canaries.remove(&partition)),
        Fact::Coordinators => gone(&mut sight.coordinators, unavailable),
        Fact::Groups => gone(&mut sight.groups, unavailable),
        Fact::Configs => gone(&mut sight.configs, unavailable),
        Fact::TopicConfigs => gone(&mut sight.topic_configs, unavailable),
        Fact::Quorum => gone(&mut sight.quorum, unavailable),
        Fact::Elr => gone(&mut sight.elr, unavailable),
        Fact::ClusterPermission => gone(&mut sight.describe_cluster_permitted, unavailable),
        Fact::LogDirs => gone(&mut sight.log_dirs, unavailable),
        Fact::Reassignments => gone(&mut sight.reassignments, unavailable),
        Fact::Transactions => gone(&mut sight.open_transactions, unavailable),
        Fact::Producers => gone(&mut sight.producers, unavailable),
        Fact::TransactionCanaries => sight.transaction_canaries.clear(),
        Fact::StateTopicConfigs => gone(&mut sight.state_topic_configs, unavailable),
        Fact::Release => sight.release = None,
        Fact::Mode => sight.kraft = None,
        Fact::Client => {}
    }
    sample
}

/// What a verdict may become when a fact is taken away. Every word may become a weaker one, and `unknown` above all; but
/// `stuck` never becomes `works`, nor the reverse.
///
/// One exception: where commits are refused and reads work, what is left without the setting or the quorum is "its
/// coordinator serves; whether commits are accepted is not verified", which the rules call `working`.
fn check_weaker(before: &PartitionReport, after: &PartitionReport, what: &str) {
    let works = |one: &PartitionReport| matches!(one.status, Status::Working | Status::AtRisk);
    let unverified = works(after) && !after.writes_verified;
    let about_commits = |slug: &String| matches!(slug.as_str(), "isr-below-min" | "commits-wait");
    let excused = unverified && before.findings.iter().any(about_commits);
    assert!(!(before.status == Status::Stuck && works(after)) || excused, "stuck became {:?}: {what}", after.status);
    assert!(!(works(before) && after.status == Status::Stuck), "{:?} became stuck: {what}", before.status);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_cluster_is_too_broken(
        kraft in any::<bool>(),
        brokers in 1..4_i32,
        replicas in 1..4_usize,
        blows in proptest::collection::vec(blow(), 0..8),
        group in any::<String>(),
    ) {
        let healthy = if kraft { Sample::kraft(brokers, 6, replicas) } else { Sample::zookeeper(brokers, 6, replicas) };
        let mut sample = healthy.group_on(0, "orders");
        for blow in &blows {
            sample = strike(sample, blow);
            let report = sample.report();
            prop_assert_eq!(&report, &sample.report(), "equal input, equal output");
            check(&sample, &report);
            let published = sample.published();
            let lookup = published.lookup(&[GroupId(group.clone())]);
            prop_assert_eq!(lookup.results.len(), 1);
            prop_assert!(lookup.results[0].verdict.sentence.chars().all(|c| !c.is_control()), "not safe");
            // The group that is listed, and one that nobody has seen.
            let known = published.memory.groups.by_id.keys().cloned();
            for id in known.chain([GroupId::from("orders-of-nobody")]) {
                let lookup = crate::lookup::lookup(&published.report, &published.memory, &id);
                lookup.group_findings.iter().for_each(check_finding);
            }
        }
    }

    #[test]
    fn taking_a_fact_away_never_turns_a_verdict_round(
        kraft in any::<bool>(),
        replicas in 1..4_usize,
        blows in proptest::collection::vec(blow(), 0..6),
        removals in proptest::collection::vec((1..4_i32, fact(), any::<bool>()), 1..12),
    ) {
        let healthy = if kraft { Sample::kraft(3, 6, replicas) } else { Sample::zookeeper(3, 6, replicas) };
        let whole = blows.iter().fold(healthy.group_on(0, "orders"), strike);
        let before = whole.report();
        let mut less = whole;
        for &(broker, fact, asked) in &removals {
            // Where brokers contradict each other, the view that is taken away may be the right one.
            let contradicted = before.partitions.iter().any(|one| one.views_agree != Some(true));
            if !(contradicted && matches!(fact, Fact::Metadata)) {
                less = without(less, broker, fact, asked);
            }
        }
        let after = less.report();
        for one in &after.partitions {
            let Some(was) = before.partitions.iter().find(|was| was.partition == one.partition) else { continue };
            let what = format!("partition {}, {removals:?}\n{was:#?}\n{one:#?}", one.partition);
            check_weaker(was, one, &what);
        }
        check(&less, &after);
        // A group that could not be looked for is never said not to exist.
        let lookup = less.lookup("nobody-has-seen-me");
        let mut said = vec![lookup.verdict.sentence.clone(), lookup.known.sentence.clone()];
        said.extend(lookup.verdict.outlook.clone());
        said.extend(lookup.findings.iter().map(|finding| finding.sentence.clone()));
        let said = said.join("\n").replace("__consumer_offsets does not exist", "");
        if !after.groups.complete {
            prop_assert!(!said.contains("does not exist") && !said.contains("check the spelling"), "{said}");
            let known = lookup.known.sentence;
            prop_assert!(known != "no broker lists it", "{known}: the list is not complete");
        }
    }

    #[test]
    fn visible_text_is_one_safe_line(text in any::<String>()) {
        let shown = crate::visible(&text);
        prop_assert!(!shown.is_empty());
        prop_assert!(shown.chars().all(|c| !c.is_control() && !matches!(c, '\u{202e}' | '\u{200b}')), "not safe");
        prop_assert!(shown.len() < 2_500);
    }
}
