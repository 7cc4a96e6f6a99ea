//! Which findings are open since when, and which of them are one incident.
//!
//! One step per report, in order of time. A finding is recognised from report to report by its slug and by what it
//! concerns. A severe one (groups stand still) opens an incident, or joins the open one that it shares a partition or a
//! broker with: one dead broker with seventeen partitions is one incident. Partitions of other topics without a leader
//! are severe once that lasts longer than a restart: their consumers stand still, although every coordinator works.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{FindingRecord, Incident, IncidentId, Moment, OpenedBy, OpeningId, Since};
use crate::finding::{Finding, Severity};
use crate::findings::DATA_PARTITION_WITHOUT_LEADER;
use crate::report::{BrokerState, Report, Status};
use crate::time::millis_between;

/// How many milliseconds a finding has to be away until it is another one when it comes back.
const SAME_FINDING_MS: i64 = 60_000;
/// How many milliseconds an incident has to be calm until it is over, unless configured otherwise.
pub const SETTLING_MS: i64 = 300_000;
/// How many milliseconds partitions of other topics have to be without a leader until that is more than a broker's restart,
/// in which a topic with one copy has none.
const RESTART_MS: i64 = 60_000;
/// How many milliseconds pass at least before a worse moment is kept instead of the one before.
const WORSE_MS: i64 = 10_000;

/// What is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// Findings that are open, or were a moment ago.
    findings: Vec<FindingRecord>,
    /// Incidents that are not over.
    incidents: Vec<Open>,
    /// When the last report was made that was taken in.
    last: Option<Timestamp>,
    /// How many milliseconds an incident has to be calm; [`SETTLING_MS`] if not told.
    settling_ms: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    incident: Incident,
    /// When its worst moment was kept, and how bad that was.
    worst: Option<(Timestamp, Badness)>,
}

/// How bad a moment is: severity first, then groups.
type Badness = (Severity, usize, usize);

/// What a report changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Findings that opened, changed for the worse, or closed.
    pub findings: Vec<FindingRecord>,
    /// Incidents that opened, changed, or closed.
    pub incidents: Vec<Incident>,
    /// Moments of incidents that this report is.
    pub moments: Vec<(IncidentId, Moment)>,
}

impl Book {
    /// What an earlier run left open.
    #[must_use]
    pub fn of(findings: Vec<FindingRecord>, incidents: Vec<Incident>, looked_until: Option<Timestamp>) -> Self {
        // What was kept of the worst moment is not read again: only something worse takes its place.
        let open = |incident: Incident| {
            let worst = (incident.severity, incident.stuck_groups, incident.partitions.len());
            Open { worst: Some((incident.opened.at, worst)), incident }
        };
        Self { findings, incidents: incidents.into_iter().map(open).collect(), last: looked_until, settling_ms: None }
    }

    /// The same, but an incident is over when it has been calm for so many milliseconds.
    #[must_use]
    pub fn settling_after(self, milliseconds: i64) -> Self {
        Self { settling_ms: Some(milliseconds), ..self }
    }

    /// The open incidents.
    pub fn incidents(&self) -> impl Iterator<Item = &Incident> {
        self.incidents.iter().map(|open| &open.incident)
    }

    /// Somebody acknowledged an incident, or took that back.
    pub fn acknowledge(&mut self, incident: &Incident) {
        for open in self.incidents.iter_mut().filter(|open| open.incident.id == incident.id) {
            open.incident.acknowledged.clone_from(&incident.acknowledged);
        }
    }

    /// Takes in a report. `name` makes names that nobody can guess.
    pub fn step(&mut self, report: &Report, name: &mut dyn FnMut() -> String) -> Changes {
        let now = report.observed_at;
        // Whoever sees nothing cannot say that anything is over.
        if !report.brokers.iter().any(|broker| broker.state == BrokerState::Answering) {
            return Changes::default();
        }
        let mut changes = Changes::default();
        let since = Since { at: now, after: self.last };
        let pairs = self.pairs(report);
        self.close(report, &pairs, since, &mut changes);
        self.open(report, &pairs, since, name, &mut changes);
        self.findings.retain(|record| match &record.closed {
            Some(closed) => millis_between(closed.at, now) < SAME_FINDING_MS,
            None => true,
        });
        self.judge(report, &mut changes);
        self.last = Some(now);
        changes
    }

    /// Which report's finding each record goes on as.
    fn pairs(&self, report: &Report) -> Vec<Option<usize>> {
        let mut taken = BTreeSet::new();
        let mut pairs = vec![None; self.findings.len()];
        // Records that are open take first, then the one that shares most.
        let mut order: Vec<usize> = (0..self.findings.len()).collect();
        order.sort_by_key(|&at| self.findings[at].closed.is_some());
        for at in order {
            let record = &self.findings[at];
            let last = record.last.as_ref().unwrap_or(&record.at_worst);
            let candidates = report.findings.iter().enumerate().filter(|(n, finding)| {
                finding.slug == record.slug && !taken.contains(n) && (shared(last, finding) > 0 || alone(last, finding))
            });
            if let Some((n, _)) = candidates.max_by_key(|(n, finding)| (shared(last, finding), usize::MAX - n)) {
                taken.insert(n);
                pairs[at] = Some(n);
            }
        }
        pairs
    }

    fn close(&mut self, report: &Report, pairs: &[Option<usize>], since: Since, changes: &mut Changes) {
        for (record, pair) in self.findings.iter_mut().zip(pairs) {
            match pair.and_then(|n| report.findings.get(n)) {
                Some(finding) => {
                    let again = record.closed.take().is_some();
                    let worse = badness(finding) > badness(&record.at_worst);
                    if worse {
                        record.at_worst = finding.clone();
                        record.worst_at = since.at;
                    }
                    record.last = Some(finding.clone());
                    if again || worse {
                        changes.findings.push(record.clone());
                    }
                }
                // What cannot be seen is not over.
                None if record.closed.is_none() && !in_doubt(record, report) => {
                    record.closed = Some(since);
                    changes.findings.push(record.clone());
                }
                None => {}
            }
        }
    }

    fn open(
        &mut self,
        report: &Report,
        pairs: &[Option<usize>],
        since: Since,
        name: &mut dyn FnMut() -> String,
        changes: &mut Changes,
    ) {
        let known: BTreeSet<usize> = pairs.iter().flatten().copied().collect();
        // Causes before what follows from them, the severe ones first: so each finds the incident it belongs to.
        let mut new: Vec<&Finding> = report
            .findings
            .iter()
            .enumerate()
            .filter(|(n, _)| !known.contains(n))
            .map(|(_, finding)| finding)
            .collect();
        new.sort_by_key(|finding| (!severe(finding, report), finding.follows_from.is_some()));
        for finding in new {
            let incident = self.incident_of(finding, report, since, name);
            let record = FindingRecord {
                id: OpeningId(name()),
                slug: finding.slug.clone(),
                opened: since,
                closed: None,
                at_opening: finding.clone(),
                at_worst: finding.clone(),
                worst_at: since.at,
                last: Some(finding.clone()),
                incident,
            };
            self.findings.push(record.clone());
            changes.findings.push(record);
        }
        // What was a warning may have become severe since it opened, and what would have passed has lasted.
        for at in 0..self.findings.len() {
            let record = &self.findings[at];
            let (Some(last), None, None) = (&record.last, &record.closed, &record.incident) else { continue };
            let opened = match lasts(record, report) {
                true => record.opened,
                false if severe(last, report) => since,
                false => continue,
            };
            let last = last.clone();
            let incident = self.incident_for(&last, report, opened, name);
            let record = &mut self.findings[at];
            record.incident = Some(incident);
            changes.findings.retain(|changed| changed.id != record.id);
            changes.findings.push(record.clone());
        }
    }

    /// The incident that a new finding belongs to: an open one, or a new one if it is severe. What is no fault, and what
    /// merely warns of later, belongs to none.
    fn incident_of(
        &mut self,
        finding: &Finding,
        report: &Report,
        since: Since,
        name: &mut dyn FnMut() -> String,
    ) -> Option<IncidentId> {
        if severe(finding, report) {
            return Some(self.incident_for(finding, report, since, name));
        }
        if finding.severity == Severity::Info {
            return None;
        }
        let open = self.incidents.iter_mut().find(|open| open.incident.concerns(finding))?;
        open.incident.take_in(finding);
        Some(open.incident.id.clone())
    }

    /// The incident of a severe finding: an open one that concerns the same, else a new one.
    fn incident_for(
        &mut self,
        finding: &Finding,
        report: &Report,
        since: Since,
        name: &mut dyn FnMut() -> String,
    ) -> IncidentId {
        let everywhere = finding.partitions.is_empty() && finding.brokers.is_empty();
        if let Some(open) = self.incidents.iter_mut().find(|open| everywhere || open.incident.concerns(finding)) {
            open.incident.take_in(finding);
            return open.incident.id.clone();
        }
        let mut incident = Incident {
            id: IncidentId(name()),
            cluster: report.cluster.clone(),
            opened: since,
            calm_since: None,
            closed: None,
            by: OpenedBy::Unstuck,
            title: report.headline.sentence.clone(),
            severity: finding.severity,
            stuck_groups: 0,
            slugs: Vec::new(),
            partitions: Vec::new(),
            brokers: Vec::new(),
            acknowledged: None,
        };
        incident.take_in(finding);
        let id = incident.id.clone();
        self.incidents.push(Open { incident, worst: None });
        id
    }

    /// How the incidents stand after this report.
    fn judge(&mut self, report: &Report, changes: &mut Changes) {
        let now = report.observed_at;
        let settling = self.settling_ms.unwrap_or(SETTLING_MS);
        let stuck = report.groups.by_status.get(&Status::Stuck).copied().unwrap_or_default();
        for open in &mut self.incidents {
            let mine = self.findings.iter().filter(|record| record.incident.as_ref() == Some(&open.incident.id));
            let going_on: Vec<&Finding> = mine
                .filter(|record| record.closed.is_none())
                .filter_map(|record| Some((record, record.last.as_ref()?)))
                .filter(|(record, finding)| severe(finding, report) || lasts(record, report))
                .map(|(_, finding)| finding)
                .collect();
            let before = open.incident.clone();
            if going_on.is_empty() {
                let calm = *open.incident.calm_since.get_or_insert(now);
                if millis_between(calm, now) >= settling {
                    open.incident.closed = Some(calm);
                    changes.moments.push((before.id.clone(), Moment::Closing));
                }
            } else {
                open.incident.calm_since = None;
                let severity = going_on.iter().map(|finding| finding.severity).max().unwrap_or(before.severity);
                let partitions: BTreeSet<_> = going_on.iter().flat_map(|finding| &finding.partitions).collect();
                let here: Badness = (severity, stuck, partitions.len());
                let worse = match open.worst {
                    None => true,
                    Some((at, worst)) => here > worst && (millis_between(at, now) >= WORSE_MS || severity > worst.0),
                };
                if worse {
                    let moment = if open.worst.is_none() { Moment::Opening } else { Moment::Worst };
                    open.worst = Some((now, here));
                    open.incident.title.clone_from(&report.headline.sentence);
                    open.incident.severity = severity;
                    open.incident.stuck_groups = stuck;
                    changes.moments.push((before.id.clone(), moment));
                }
            }
            let touched = changes.findings.iter().any(|record| record.incident.as_ref() == Some(&before.id));
            if open.incident != before || touched {
                changes.incidents.push(open.incident.clone());
            }
        }
        self.incidents.retain(|open| open.incident.closed.is_none());
    }
}

impl Incident {
    /// Whether a finding shares its cause, a partition or a broker with what belongs to the incident already.
    fn concerns(&self, finding: &Finding) -> bool {
        finding.follows_from.as_ref().is_some_and(|cause| self.slugs.contains(cause))
            || finding.partitions.iter().any(|partition| self.partitions.contains(partition))
            || finding.brokers.iter().any(|broker| self.brokers.contains(broker))
    }

    /// Takes in what a finding concerns.
    pub fn take_in(&mut self, finding: &Finding) {
        if !self.slugs.contains(&finding.slug) {
            self.slugs.push(finding.slug.clone());
        }
        for &partition in &finding.partitions {
            if let Err(at) = self.partitions.binary_search(&partition) {
                self.partitions.insert(at, partition);
            }
        }
        for &broker in &finding.brokers {
            if let Err(at) = self.brokers.binary_search(&broker) {
                self.brokers.insert(at, broker);
            }
        }
    }
}

/// Whether a finding makes an incident: groups stand still, or those of a partition that is stuck do.
fn severe(finding: &Finding, report: &Report) -> bool {
    let stuck = |partition: &i32| report.partition(*partition).is_some_and(|one| one.status == Status::Stuck);
    finding.severity == Severity::Outage || finding.severity == Severity::Error && finding.partitions.iter().any(stuck)
}

/// Whether partitions of other topics are without a leader for longer than a restart takes.
fn lasts(record: &FindingRecord, report: &Report) -> bool {
    record.slug == DATA_PARTITION_WITHOUT_LEADER && millis_between(record.opened.at, report.observed_at) >= RESTART_MS
}

/// Whether what a finding concerned cannot be seen now.
fn in_doubt(record: &FindingRecord, report: &Report) -> bool {
    let last = record.last.as_ref().unwrap_or(&record.at_worst);
    let unknown = |partition: &i32| report.partition(*partition).is_some_and(|one| one.status == Status::Unknown);
    last.partitions.iter().any(unknown)
}

/// How much two findings concern the same.
fn shared(one: &Finding, other: &Finding) -> usize {
    let partitions = one.partitions.iter().filter(|partition| other.partitions.contains(partition)).count();
    partitions + one.brokers.iter().filter(|broker| other.brokers.contains(broker)).count()
}

/// Whether one of them says nothing of what it concerns: then the slug has to do.
fn alone(one: &Finding, other: &Finding) -> bool {
    let nothing = |finding: &Finding| finding.partitions.is_empty() && finding.brokers.is_empty();
    nothing(one) || nothing(other)
}

fn badness(finding: &Finding) -> Badness {
    (finding.severity, finding.partitions.len(), finding.brokers.len())
}
