//! Why Unstuck says so, and what it could not look at.

use leptos::prelude::*;
use unstuck_diagnosis::report::{Finding, Severity, Strength};

use super::{avoided, broker_links, card, coded, remedies};
use crate::model::{Evidence, Masthead, Told};
use crate::text::{amount, count, finding_href};

/// All findings with their evidence and ways out; nothing if there are none.
pub(crate) fn why_card(head: &Masthead, evidence: &Evidence) -> Option<AnyView> {
    findings_of(head, evidence).map(|findings| card("Why Unstuck says so", findings))
}

/// The same without a frame of its own.
pub(crate) fn findings_of(head: &Masthead, evidence: &Evidence) -> Option<AnyView> {
    if evidence.findings.is_empty() {
        return None;
    }
    let shown: usize = evidence.findings.iter().map(|told| 1 + told.follows.len()).sum();
    let more = (evidence.finding_count > shown).then(|| {
        let words = format!("The {} worst of {} findings are shown.", amount(shown), amount(evidence.finding_count));
        view! { <p class="soft">{words}</p> }
    });
    let findings = evidence.findings.iter().map(|told| told_finding(head, told));
    let all = view! {
        {findings.collect_view()}
        {more}
    };
    Some(all.into_any())
}

/// A finding, and what merely follows from it, folded.
fn told_finding(head: &Masthead, told: &Told) -> AnyView {
    let number = told.follows.len();
    let follows = (number > 0).then(|| {
        let all = told
            .follows
            .iter()
            .map(|finding| view! { <article class="finding">{one_finding(head, finding)}</article> });
        view! {
            <details class="follows">
                <summary>{format!("Follows from this: {}", count(number, "finding"))}</summary>
                {all.collect_view()}
            </details>
        }
    });
    view! {
        <article class="finding">
            {one_finding(head, &told.finding)}
            {follows}
        </article>
    }
    .into_any()
}

fn one_finding(head: &Masthead, finding: &Finding) -> AnyView {
    let (tone, word) = match finding.severity {
        Severity::Outage => ("s-stuck", "outage"),
        Severity::Error => ("s-stuck", "error"),
        Severity::Warning => ("s-risk", "warning"),
        Severity::Info => ("s-look", "good to know"),
    };
    let evidence = finding.evidence.iter().map(|piece| {
        let class = match piece.strength {
            Strength::Seen => "tag seen",
            Strength::Likely => "tag likely",
            Strength::NotSeen => "tag not-seen",
        };
        view! { <li><span class=class>{piece.strength.words()}</span><span>{coded(&piece.text)}</span></li> }
    });
    let brokers = (!finding.brokers.is_empty()).then(|| {
        view! { <p class="soft">"Brokers: "{broker_links(&head.cluster, &finding.brokers)}</p> }
    });
    let summary = if finding.remedies.is_empty() { "What not to do" } else { "Ways out, safest first" };
    let ways = (!finding.remedies.is_empty() || !finding.avoid.is_empty()).then(|| {
        view! {
            <details>
                <summary>{summary}</summary>
                {(!finding.remedies.is_empty()).then(|| remedies(finding.remedies.clone()))}
                {avoided(finding.avoid.clone())}
            </details>
        }
    });
    view! {
        <h3><span class=format!("tag {tone}")>{word}</span>" "{finding.sentence.clone()}</h3>
        {finding.outlook.clone().map(|outlook| view! { <p>{outlook}</p> })}
        <ul class="evidence">{evidence.collect_view()}</ul>
        {brokers}
        {ways}
        <p class="slug">
            <a href=finding_href(&finding.slug)>"What is this?"</a>
            " "
            {finding.slug.clone()}
        </p>
    }
    .into_any()
}

/// What could not be looked at, and why. Said even when there is nothing: it is part of the answer.
pub(crate) fn could_not_card(evidence: &Evidence) -> AnyView {
    let gaps = evidence.could_not.iter().map(|gap| {
        view! { <div><dt>{gap.what.clone()}</dt><dd>{gap.why.clone()}</dd></div> }
    });
    let shown = evidence.could_not.len();
    let more = (evidence.could_not_count > shown).then(|| {
        let words = format!("The first {} of {}.", amount(shown), amount(evidence.could_not_count));
        view! { <p class="soft">{words}</p> }
    });
    let body = if shown == 0 {
        view! { <p class="soft">"Everything asked for was answered."</p> }.into_any()
    } else {
        view! {
            <dl class="gaps">{gaps.collect_view()}</dl>
            {more}
        }
        .into_any()
    };
    card("Could not look", body)
}
