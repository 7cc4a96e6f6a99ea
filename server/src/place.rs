//! `unstuck place`: the arithmetic alone, offline.

use std::io::Write;

use serde::Serialize;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::placement::PlacementSteps;

use crate::cli::{Failure, PlaceArgs};
use crate::lookup::{end_of_output, read_groups};

/// One line of `--json`.
#[derive(Serialize)]
struct Placed<'a> {
    group: &'a GroupId,
    java_hash: i32,
    partition_count: i32,
    partition: i32,
}

pub(crate) fn run(arguments: &PlaceArgs) -> Result<u8, Failure> {
    let groups = read_groups(&arguments.groups, &mut std::io::stdin().lock())?;
    let steps: Vec<PlacementSteps> =
        groups.iter().filter_map(|group| PlacementSteps::of(group, arguments.partitions)).collect();
    end_of_output(std::io::stdout().lock().write_all(render(&steps, arguments.json).as_bytes()))?;
    Ok(0)
}

fn render(steps: &[PlacementSteps], json: bool) -> String {
    if !json {
        return steps.iter().map(|steps| steps.sentence() + "\n").collect();
    }
    let placed: Vec<_> = steps
        .iter()
        .map(|steps| Placed {
            group: &steps.group,
            java_hash: steps.java_hash,
            partition_count: steps.partition_count,
            partition: steps.partition,
        })
        .collect();
    serde_json::to_string(&placed).expect("strings and numbers always serialise") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(ids: &[&str]) -> Vec<PlacementSteps> {
        ids.iter().filter_map(|id| PlacementSteps::of(&GroupId::from(*id), 50)).collect()
    }

    #[test]
    fn shows_each_step() {
        insta::assert_snapshot!(render(&steps(&["my-group", "polygenelubricants", "", "tail "]), false), @r#"
        "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
        "polygenelubricants".hashCode() = -2147483648, abs 0, mod 50 = partition 0 of __consumer_offsets
        "".hashCode() = 0, abs 0, mod 50 = partition 0 of __consumer_offsets
        "tail␠".hashCode() = 110122448, abs 110122448, mod 50 = partition 48 of __consumer_offsets
        "#);
    }

    #[test]
    fn json_is_a_list() {
        insta::assert_snapshot!(render(&steps(&["my-group", "\u{1F600}\n"]), true), @r#"[{"group":"my-group","java_hash":-1906497762,"partition_count":50,"partition":12},{"group":"😀\n","java_hash":54959879,"partition_count":50,"partition":29}]"#);
    }
}
