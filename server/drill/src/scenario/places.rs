//! Where the keys of a TOML text are: from a key to its line, and from a place in the text to its key.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::de::{DeArray, DeTable, DeValue};

/// Where each key of a text is.
pub(super) struct Places {
    /// The offset of each line's first byte.
    lines: Vec<usize>,
    /// By key: what its name and its value cover in the text, in bytes.
    spans: BTreeMap<String, (Range<usize>, Range<usize>)>,
    /// The keys whose value is a table.
    tables: BTreeSet<String>,
}

impl Places {
    pub(super) fn of(text: &str, table: &DeTable<'_>) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut places = Self { lines, spans: BTreeMap::new(), tables: BTreeSet::new() };
        places.table("", table);
        places
    }

    fn table(&mut self, above: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = join(above, key.get_ref());
            self.spans.insert(path.clone(), (key.span(), value.span()));
            self.below(&path, value.get_ref());
        }
    }

    fn below(&mut self, path: &str, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => {
                self.tables.insert(path.to_owned());
                self.table(path, table);
            }
            DeValue::Array(items) => {
                for (nth, item) in items.iter().enumerate() {
                    let path = format!("{path}[{nth}]");
                    self.spans.insert(path.clone(), (item.span(), item.span()));
                    self.below(&path, item.get_ref());
                }
            }
            _ => {}
        }
    }

    /// The line and the column of a byte in the text, both from 1.
    pub(super) fn position(&self, text: &str, at: usize) -> (usize, usize) {
        let at = at.min(text.len());
        let line = self.lines.partition_point(|start| *start <= at);
        let before = text.get(self.lines[line - 1]..at).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// The line of a key, or of the nearest one above it that is in the text.
    pub(super) fn line_of(&self, text: &str, path: &str) -> usize {
        let mut path = path;
        loop {
            if let Some((name, _)) = self.spans.get(path) {
                return self.position(text, name.start).0;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return 1,
            }
        }
    }

    /// Takes a key out of a table, wherever below; false if it is not there (any more).
    pub(super) fn take_out(&self, table: &mut DeTable<'_>, path: &str) -> bool {
        self.spans.get(path).is_some_and(|(name, value)| take_out_of_table(table, name, value))
    }

    /// The innermost key whose name or value covers this part of the text; the empty path if there is none.
    pub(super) fn path_at(&self, part: &Range<usize>) -> &str {
        let covers = |span: &Range<usize>| span.start <= part.start && part.end <= span.end;
        self.spans
            .iter()
            .filter(|(_, (name, value))| covers(name) || covers(value))
            .min_by_key(|(path, (name, value))| {
                let length = if covers(value) { value.len() } else { name.len() };
                (length, std::cmp::Reverse(path.len()))
            })
            .map_or("", |(path, _)| path)
    }

    /// The innermost table that covers this part of the text; the empty path if that is the whole file.
    pub(super) fn table_at(&self, part: &Range<usize>) -> &str {
        let mut path = self.path_at(part);
        while !path.is_empty() && !self.tables.contains(path) {
            path = path.rfind(['.', '[']).map_or("", |end| &path[..end]);
        }
        path
    }
}

/// A key below another, quoted where TOML wants that.
pub(super) fn join(above: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if above.is_empty() { key } else { format!("{above}.{key}") }
}

// Found by its place in the text: an index would be another one after an earlier item was taken out.
fn take_out_of_table(table: &mut DeTable<'_>, name: &Range<usize>, value: &Range<usize>) -> bool {
    let wanted = table.iter().find(|(key, below)| key.span() == *name && below.span() == *value);
    if let Some(key) = wanted.map(|(key, _)| key.clone()) {
        return table.remove(&key).is_some();
    }
    table.iter_mut().any(|(_, below)| take_out_of(below.get_mut(), name, value))
}

fn take_out_of(below: &mut DeValue<'_>, name: &Range<usize>, value: &Range<usize>) -> bool {
    match below {
        DeValue::Table(table) => take_out_of_table(table, name, value),
        DeValue::Array(items) => {
            if name == value && items.iter().any(|item| item.span() == *value) {
                let all = std::mem::replace(items, DeArray::new());
                *items = all.into_iter().filter(|item| item.span() != *value).collect();
                return true;
            }
            items.iter_mut().any(|item| take_out_of(item.get_mut(), name, value))
        }
        _ => false,
    }
}
