//! The same for people.

use std::fmt::Write;

use super::{Checked, CheckedCluster};
use crate::config::Setting;

pub(super) fn text(checked: &Checked) -> String {
    let mut text = String::new();
    settings(&mut text, "", &checked.server);
    wrong(&mut text, "", &checked.wrong);
    for (name, cluster) in &checked.clusters {
        let mechanism = cluster.mechanism.map(|mechanism| format!(", {mechanism}")).unwrap_or_default();
        let _ = writeln!(text, "\n{name}: {}{mechanism}", cluster.security_protocol);
        settings(&mut text, "  ", &cluster.origins.settings);
        rest(&mut text, cluster);
    }
    text.push_str(if checked.usable {
        "\nIt can be used. Nothing was connected to.\n"
    } else {
        "\nIt cannot be used like that. Nothing was connected to.\n"
    });
    text
}

fn settings(text: &mut String, indent: &str, settings: &[Setting]) {
    let width =
        |of: fn(&Setting) -> &str| settings.iter().map(|setting| of(setting).chars().count()).max().unwrap_or(0);
    let (names, values) = (width(|setting| &setting.name), width(|setting| &setting.value).min(48));
    for Setting { name, value, place } in settings {
        let _ = writeln!(text, "{indent}{name:names$}  {value:values$}  {place}");
    }
}

fn rest(text: &mut String, cluster: &CheckedCluster) {
    if !cluster.certificates.is_empty() {
        text.push_str("  Certificates:\n");
        for one in &cluster.certificates {
            let _ = writeln!(
                text,
                "    {}: {}, until {} ({} days)",
                one.setting, one.subject, one.not_after, one.days_left
            );
        }
    }
    if !cluster.origins.ignored.is_empty() {
        text.push_str("  Without effect:\n");
        for one in &cluster.origins.ignored {
            let _ = writeln!(text, "    {} ({}): {}", one.name, one.place, one.because);
        }
    }
    for warning in &cluster.origins.warnings {
        let _ = writeln!(text, "  Warning: {warning}");
    }
    wrong(text, "  ", &cluster.wrong);
}

fn wrong(text: &mut String, indent: &str, wrong: &[String]) {
    for wrong in wrong {
        let _ = writeln!(text, "{indent}Wrong: {}", wrong.replace('\n', &format!("\n{indent}")));
    }
}
