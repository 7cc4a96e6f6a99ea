//! Rights that the account lacks: what they are called, and the command that grants them.

use crate::GroupId;
use crate::commands::{Commands, Resource};

/// `kafka-acls.sh` for a right as [`Why::NotPermitted`](crate::snapshot::Why::NotPermitted) has it: `OPERATION on RESOURCE`,
/// such as `DESCRIBE on CLUSTER` or `READ on TOPIC __consumer_offsets`; `*` is all of a kind, a name that ends in it a prefix. `None` if it
/// is written otherwise.
pub(crate) fn command(commands: &Commands, right: &str) -> Option<String> {
    let (operation, resource) = right.split_once(" on ")?;
    // `DESCRIBE_CONFIGS` is DescribeConfigs for the tool.
    let operation: String = operation.split('_').map(capitalised).collect();
    let (kind, name) = resource.split_once(' ').unwrap_or((resource, ""));
    // A lone asterisk is Kafka's own name for all of a kind; else it stands for what follows a prefix.
    let prefix = name.strip_suffix('*').filter(|prefix| !prefix.is_empty());
    let plain = prefix.unwrap_or(name);
    let resource = match kind {
        "CLUSTER" => Resource::Cluster,
        "TOPIC" => Resource::Topic(plain),
        "GROUP" => Resource::Group(plain),
        "TRANSACTIONAL_ID" => Resource::TransactionalId(plain),
        _ => return None,
    };
    let command = commands.acl(&[operation.as_str()], &[resource]);
    Some(if prefix.is_some() { format!("{command} --resource-pattern-type prefixed") } else { command })
}

/// What made-up ids begin with: `unstuck-canary` of `unstuck-canary-12`, unless it was configured otherwise.
pub(crate) fn prefix_of(made_up: &GroupId) -> &str {
    made_up.0.rsplit_once('-').map_or(made_up.as_str(), |(prefix, _number)| prefix)
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| format!("{first}{}", letters.as_str().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use crate::commands::Commands;
    use crate::facts::Facts;
    use crate::sample::Sample;

    #[test]
    fn each_right_has_its_command() {
        let sample = Sample::kraft(3, 3, 3);
        let facts = Facts::draw(&sample.snapshot, &sample.memory, sample.now());
        let commands = Commands::new(&facts);
        let rights = [
            "DESCRIBE on CLUSTER",
            "DESCRIBE_CONFIGS on CLUSTER",
            "DESCRIBE_CONFIGS on TOPIC __consumer_offsets",
            "READ on TOPIC __consumer_offsets",
            "DESCRIBE on TRANSACTIONAL_ID unstuck-canary*",
            "DESCRIBE on GROUP *",
            "something else",
        ];
        let text = rights.map(|right| format!("{right}\n  {:?}\n", super::command(&commands, right)));
        insta::assert_snapshot!(text.concat(), @r#"
        DESCRIBE on CLUSTER
          Some("kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation Describe --cluster")
        DESCRIBE_CONFIGS on CLUSTER
          Some("kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation DescribeConfigs --cluster")
        DESCRIBE_CONFIGS on TOPIC __consumer_offsets
          Some("kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation DescribeConfigs --topic __consumer_offsets")
        READ on TOPIC __consumer_offsets
          Some("kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation Read --topic __consumer_offsets")
        DESCRIBE on TRANSACTIONAL_ID unstuck-canary*
          Some("kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation Describe --transactional-id unstuck-canary --resource-pattern-type prefixed")
        DESCRIBE on GROUP *
          Some("kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation Describe --group '*'")
        something else
          None
        "#);
    }
}
