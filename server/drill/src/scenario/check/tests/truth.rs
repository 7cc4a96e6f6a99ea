//! What is said of public cases.

use super::{accepted, refused};

const TRUTH: &str = "[truth]\ncase = \"C07\"\nverdict = \"stuck\"\nat = \"3s\"\n[acl]";
const VERDICTS: &str = "(verdicts: stuck, unknown, recovering, at_risk, look_at_group, working)";

#[test]
fn a_case_and_its_verdicts() {
    accepted("[acl]", TRUTH);
    refused("[acl]", &TRUTH.replace("C07", "7"), "truth.case: `7` is no case: they are C01, C02, …");
    let word = TRUTH.replace("\"stuck\"", "\"broken\"");
    refused("[acl]", &word, &format!("truth.verdict: `broken` is no verdict {VERDICTS}"));
    let others = TRUTH.replace("[acl]", "others = { orders = \"fine\" }\n[acl]");
    refused("[acl]", &others, &format!("truth.others.orders: `fine` is no verdict {VERDICTS}"));
}

#[test]
fn when_it_is_looked_at() {
    let at = |line: &str| TRUTH.replace("at = \"3s\"", line);
    let first = "but step `first` comes 5s after it";
    refused("[acl]", &at(""), &format!("truth.at: it is looked at 1m after this, {first}"));
    accepted("[acl]", &at("step = \"first\""));
    let steps = "(steps: first, second)";
    refused(
        "[acl]",
        &at("step = \"frist\""),
        &format!("truth.step: there is no step `frist`; did you mean `first`? {steps}"),
    );
    refused("[acl]", &at("step = \"first\"\nat = \"8d\""), "truth.at: it must not be longer than 7d");
}

#[test]
fn what_is_said_twice_or_both_ways() {
    let or = TRUTH.replace("[acl]", "or = [\"recovering\"]\n[acl]");
    accepted("[acl]", &or);
    refused("[acl]", &or.replace("recovering", "stuck"), "truth.or: `stuck` is the verdict already");
    let both = TRUTH.replace("[acl]", "says = [\"x\"]\nmust-not-say = [\"x\"]\n[acl]");
    refused("[acl]", &both, "truth.must-not-say[0]: `x` is in `says` too");
}
