//! What is wrong with a scenario file, as a compiler would say it.

use std::fmt;

/// One thing that is wrong with a scenario file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, from 1. None if there is no file to point into.
    pub line: Option<usize>,
    /// The column, from 1, where the text itself cannot be read; None where the line says enough.
    pub column: Option<usize>,
    /// The key, such as `topic.__consumer_offsets.partition[2].leader` (lists count from 0). Empty for the whole file.
    pub path: String,
    /// What is wrong, and what is allowed.
    pub wrong: String,
}

/// All that is wrong with a scenario file; printed one per line, each with the file's name in front.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioErrors {
    /// The file's name, as it was asked for.
    pub name: String,
    /// At least one, by line.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, problem) in self.problems.iter().enumerate() {
            if nth > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", self.name)?;
            for place in [problem.line, problem.column].into_iter().flatten() {
                write!(f, ":{place}")?;
            }
            if !problem.path.is_empty() {
                write!(f, ": {}", problem.path)?;
            }
            write!(f, ": {}", problem.wrong)?;
        }
        Ok(())
    }
}

/// Words for a list of what is allowed: `1, 2, 3`.
pub(super) fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// `; did you mean X?` if one of the known words is near enough to what was written, else nothing.
pub(super) fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let most = written.chars().count().div_ceil(3).max(1);
    known
        .into_iter()
        .map(|word| (distance(&written.to_lowercase(), &word.to_lowercase()), word))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| format!("; did you mean `{word}`?"))
        .unwrap_or_default()
}

/// How many characters must be changed, added or taken away to turn one word into the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (place, other_letter) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other_letter);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested() {
        let known = ["leader", "replicas", "isr"];
        assert_eq!(did_you_mean("leadr", known), "; did you mean `leader`?");
        assert_eq!(did_you_mean("Replica", known), "; did you mean `replicas`?");
        assert_eq!(did_you_mean("something", known), "");
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn problems_are_printed_like_those_of_a_compiler() {
        let problem =
            |line, column, path: &str, wrong: &str| Problem { line, column, path: path.into(), wrong: wrong.into() };
        let errors = ScenarioErrors {
            name: "own.toml".into(),
            problems: vec![
                problem(Some(3), None, "topic.orders.partitions", "0 is not a number of partitions"),
                problem(Some(4), Some(7), "", "unclosed string"),
                problem(None, None, "", "cannot be read"),
            ],
        };
        assert_eq!(
            errors.to_string(),
            "own.toml:3: topic.orders.partitions: 0 is not a number of partitions\n\
             own.toml:4:7: unclosed string\n\
             own.toml: cannot be read"
        );
    }
}
