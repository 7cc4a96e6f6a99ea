//! Why Unstuck says so, and what it could not look at.

use leptos::prelude::*;
use unstuck_diagnosis::report::{Finding, Severity, Strength};

use super::{broker_links, card, remedies};
use crate::model::{Evidence, Masthead};
use crate::text::amount;

/// All findings with their evidence and ways out; nothing if there are none.
pub(crate) fn why_card(head: &Masthead, evidence: &Evidence) -> Option<AnyView> {
    if evidence.findings.is_empty() {
        return None;
    }
    let shown = evidence.findings.len();
    let more = (evidence.finding_count > shown).then(|| {
        let words = format!("The {} worst of {} findings are shown.", amount(shown), amount(evidence.finding_count));
        view! { <p class="soft">{words}</p> }
    });
    let findings = evidence.findings.iter().map(|finding| one_finding(head, finding));
    let body = view! {
        {findings.collect_view()}
        {more}
    };
    Some(card("Why Unstuck says so", body))
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
        view! { <li><span class=class>{piece.strength.words()}</span><span>{piece.text.clone()}</span></li> }
    });
    let brokers = (!finding.brokers.is_empty()).then(|| {
        view! { <p class="soft">"Brokers: "{broker_links(&head.cluster, &finding.brokers)}</p> }
    });
    let ways = (!finding.remedies.is_empty()).then(|| {
        view! {
            <details>
                <summary>"Ways out, safest first"</summary>
                {remedies(finding.remedies.clone())}
            </details>
        }
    });
    view! {
        <article class="finding">
            <h3><span class=format!("tag {tone}")>{word}</span>" "{finding.sentence.clone()}</h3>
            {finding.outlook.clone().map(|outlook| view! { <p>{outlook}</p> })}
            <ul class="evidence">{evidence.collect_view()}</ul>
            {brokers}
            {ways}
            <p class="slug">{finding.slug.clone()}</p>
        </article>
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
