//! Scenarios with a line left out or a character changed.

use super::KRAFT;
use crate::scenario::read;

/// Whatever is damaged, the reader answers, and names a line of the file.
#[test]
fn no_damage_stops_the_reader() {
    let lines: Vec<&str> = KRAFT.lines().collect();
    let mut damaged: Vec<String> = (0..lines.len())
        .map(|left_out| {
            let kept = lines.iter().enumerate().filter(|(nth, _)| *nth != left_out);
            kept.map(|(_, line)| *line).collect::<Vec<_>>().join("\n")
        })
        .collect();
    for at in (0..KRAFT.len()).step_by(11) {
        for other in ["9", "-", "\"", "]", "\u{1f525}", "\n"] {
            damaged.push(format!("{}{other}{}", &KRAFT[..at], &KRAFT[at + 1..]));
        }
    }
    for text in &damaged {
        let Err(errors) = read(text, "x") else { continue };
        let count = text.lines().count();
        for problem in &errors.problems {
            assert!(problem.line.is_some_and(|line| (1..=count + 1).contains(&line)), "{problem:?} of\n{text}");
        }
    }
}
