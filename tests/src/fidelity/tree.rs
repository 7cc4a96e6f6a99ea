//! What `{:?}` prints, read back as a tree: so that answers of any type can be compared field by field.

use std::collections::BTreeMap;

/// A printed value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tree {
    /// A structure's fields.
    Fields(Vec<(String, Tree)>),
    /// A list's or a tuple's elements.
    Items(Vec<Tree>),
    /// Anything else, as printed.
    Leaf(String),
}

impl Tree {
    /// Reads what the derived `Debug` printed; nothing else is expected here.
    pub(super) fn read(printed: &str) -> Self {
        Reader { rest: printed }.value()
    }

    /// Facts by path. Elements of lists go by what names them, since most lists have no particular order. `plain` says what
    /// is kept of a field, given its name and value.
    pub(super) fn flatten(
        &self,
        path: &str,
        facts: &mut BTreeMap<String, String>,
        plain: &impl Fn(&str, &str) -> String,
    ) {
        match self {
            Self::Fields(fields) => {
                for (name, value) in fields.iter().filter(|(name, _)| name != "_unknown_tagged_fields") {
                    value.flatten(&format!("{path}/{name}"), facts, plain);
                }
            }
            // Replicas and the like: their order means something.
            Self::Items(items) if items.iter().all(|item| matches!(item, Self::Leaf(_))) => {
                let items: Vec<&str> = items.iter().filter_map(Self::leaf).collect();
                facts.insert(path.to_owned(), format!("{items:?}").replace('"', ""));
            }
            Self::Items(items) => {
                for item in items {
                    let name = item.name();
                    let mut here = format!("{path}[{name}]");
                    while facts.keys().any(|known| known.starts_with(&here)) {
                        here.push('\'');
                    }
                    item.flatten(&here, facts, plain);
                }
            }
            Self::Leaf(value) => {
                let name = path.rsplit('/').next().unwrap_or_default();
                facts.insert(path.to_owned(), plain(name, value));
            }
        }
    }

    fn leaf(&self) -> Option<&str> {
        match self {
            Self::Leaf(text) => Some(text),
            Self::Fields(_) | Self::Items(_) => None,
        }
    }

    /// What names an element of a list.
    fn name(&self) -> &str {
        const NAMES: [&str; 15] = [
            "name",
            "topic_name",
            "topic",
            "group_id",
            "key",
            "partition_index",
            "partition",
            "broker_id",
            "node_id",
            "replica_id",
            "api_key",
            "resource_name",
            "member_id",
            "log_dir",
            "protocol",
        ];
        let Self::Fields(fields) = self else { return "" };
        let named = NAMES.iter().find_map(|name| fields.iter().find(|(field, _)| field == name));
        match named {
            Some((_, Self::Leaf(text))) if text.starts_with("b\"/") => "a path",
            // A member's id is random.
            Some((name, Self::Leaf(_))) if name == "member_id" => "a member",
            Some((_, Self::Leaf(text))) => text,
            _ => "",
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn value(&mut self) -> Tree {
        self.space();
        match self.rest.chars().next() {
            Some('[') => return Tree::Items(self.list(']')),
            Some('(') => return Tree::Items(self.list(')')),
            Some('"') => return Tree::Leaf(self.quoted()),
            _ if self.rest.starts_with("b\"") => {
                self.rest = &self.rest[1..];
                return Tree::Leaf(format!("b{}", self.quoted()));
            }
            _ => {}
        }
        let end = self.rest.find(['{', '(', '[', ',', ']', '}', ')', ' ', '\n']).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_owned();
        self.rest = &self.rest[end..];
        if self.rest.starts_with(" {") {
            self.space();
        }
        let tree = match self.rest.chars().next() {
            Some('{') => Tree::Fields(self.fields()),
            Some('(') => match self.list(')') {
                mut one if one.len() == 1 && word == "Some" => one.remove(0),
                more => Tree::Items(more),
            },
            _ => return Tree::Leaf(word),
        };
        match (word.as_str(), &tree) {
            ("KafkaString", Tree::Fields(fields)) => fields[0].1.clone(),
            ("KafkaUuid", other) => {
                let zero = !format!("{other:?}").contains(|c: char| ('1'..='9').contains(&c));
                Tree::Leaf(if zero { "no id" } else { "an id" }.to_owned())
            }
            _ => tree,
        }
    }

    fn fields(&mut self) -> Vec<(String, Tree)> {
        let mut fields = Vec::new();
        self.open();
        while self.more('}') {
            let Some((name, rest)) = self.rest.split_once(':') else { break };
            let name = name.trim().to_owned();
            self.rest = rest;
            fields.push((name, self.value()));
        }
        fields
    }

    fn list(&mut self, end: char) -> Vec<Tree> {
        let mut items = Vec::new();
        self.open();
        while self.more(end) {
            items.push(self.value());
        }
        items
    }

    /// Goes behind the opening bracket.
    fn open(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    /// Goes to the next element; `false` behind the closing bracket.
    fn more(&mut self, end: char) -> bool {
        self.rest = self.rest.trim_start_matches([',', ' ', '\n']);
        match self.rest.strip_prefix(end) {
            Some(rest) => {
                self.rest = rest;
                false
            }
            None => !self.rest.is_empty(),
        }
    }

    fn quoted(&mut self) -> String {
        let mut escaped = true;
        let end = self.rest.char_indices().find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let end = end.map_or(self.rest.len(), |(at, _)| at + 1);
        let text = self.rest[..end].to_owned();
        self.rest = &self.rest[end..];
        text
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[expect(dead_code, reason = "only printed")]
    struct Inner {
        name: &'static str,
        ids: Option<Vec<i32>>,
        more: Vec<Inner>,
    }

    #[test]
    fn what_was_printed_is_read() {
        let leaf = |name| Inner { name, ids: Some(vec![2, 1]), more: Vec::new() };
        let outer = Inner { name: "a \"}, b", ids: None, more: vec![leaf("y"), leaf("x")] };
        let mut facts = BTreeMap::new();
        Tree::read(&format!("{outer:?}")).flatten("", &mut facts, &|_, value| value.to_owned());
        let facts: Vec<String> = facts.into_iter().map(|(path, fact)| format!("{path} = {fact}")).collect();
        assert_eq!(
            facts,
            [
                "/ids = None",
                r#"/more["x"]/ids = [2, 1]"#,
                r#"/more["x"]/more = []"#,
                r#"/more["x"]/name = "x""#,
                r#"/more["y"]/ids = [2, 1]"#,
                r#"/more["y"]/more = []"#,
                r#"/more["y"]/name = "y""#,
                r#"/name = "a \"}, b""#,
            ]
        );
    }
}
