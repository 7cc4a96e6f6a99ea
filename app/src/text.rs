//! Words, times and addresses: pure functions that give the same text on the server and in the browser.

use jiff::Timestamp;
use jiff::tz::Offset;
use unstuck_diagnosis::report::{BrokerState, Shard, Status};
use unstuck_diagnosis::{BrokerId, GroupId, PartitionId};

/// A time as `15:48:31 UTC`, with the date in front if it is not the day of `seen`.
pub(crate) fn clock(at: Timestamp, seen: Timestamp) -> String {
    let time = Offset::UTC.to_datetime(at);
    let clock = format!("{:02}:{:02}:{:02} UTC", time.hour(), time.minute(), time.second());
    if time.date() == Offset::UTC.to_datetime(seen).date() {
        clock
    } else {
        format!("{}-{:02}-{:02} {clock}", time.year(), time.month(), time.day())
    }
}

/// How long `from` lies before `to`, in the largest units that matter; `0 s` if it does not.
pub(crate) fn span(from: Timestamp, to: Timestamp) -> String {
    seconds(to.as_second().saturating_sub(from.as_second()).max(0))
}

/// A number of seconds in words: `14 s`, `2 min`, `3 h 5 min`, `2 d 3 h`.
pub(crate) fn seconds(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// A number with a comma between thousands.
pub(crate) fn number(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        out.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count as text.
pub(crate) fn amount(count: usize) -> String {
    number(i64::try_from(count).unwrap_or(i64::MAX))
}

/// `1 group`, `231 groups`.
pub(crate) fn count(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", amount(count))
}

/// Ids as `1, 2, 3`; `none` if there are none.
pub(crate) fn ids(ids: &[BrokerId]) -> String {
    if ids.is_empty() {
        return "none".to_owned();
    }
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// An id, or `none`.
pub(crate) fn id_or_none(id: Option<i32>) -> String {
    id.map_or_else(|| "none".to_owned(), |id| id.to_string())
}

/// A number, or a dash where it is not known.
pub(crate) fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// The style class of a status.
pub(crate) fn status_class(status: Status) -> &'static str {
    match status {
        Status::Working => "s-working",
        Status::LookAtGroup => "s-look",
        Status::AtRisk => "s-risk",
        Status::Recovering => "s-recovering",
        Status::Unknown => "s-unknown",
        Status::Stuck => "s-stuck",
    }
}

/// The short word of a status, where there is no room for a sentence.
pub(crate) fn status_word(status: Status) -> &'static str {
    match status {
        Status::LookAtGroup => "look at the group",
        other => other.words(),
    }
}

/// The status that a broker's state is coloured like.
pub(crate) fn broker_tone(state: BrokerState) -> Status {
    match state {
        BrokerState::Answering => Status::Working,
        BrokerState::Late => Status::Recovering,
        BrokerState::Hung | BrokerState::Gone => Status::Stuck,
        BrokerState::NotLive => Status::AtRisk,
        BrokerState::NeverReached | BrokerState::Unreadable | BrokerState::NotTried => Status::Unknown,
    }
}

/// What a coordinator said about a partition, in a word or two.
pub(crate) fn shard_words(shard: Shard) -> &'static str {
    match shard {
        Shard::Serving => "serves",
        Shard::Loading => "loading",
        Shard::Failed => "failed to load",
        Shard::NotServed => "not mine",
        Shard::Denied => "not permitted to ask",
        Shard::Unknown => "–",
    }
}

/// Percent-encodes everything but unreserved characters (RFC 3986), for path segments and query values alike.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0').to_ascii_uppercase());
            out.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0').to_ascii_uppercase());
        }
    }
    out
}

/// The address of a cluster's dashboard.
pub(crate) fn cluster_href(cluster: &str) -> String {
    format!("/c/{}", encode(cluster))
}

/// Where the form that looks for a group goes.
pub(crate) fn find_href(cluster: &str) -> String {
    format!("/c/{}/find", encode(cluster))
}

/// The address of a group's page; ids that do not fit a URL are named by their digest.
pub(crate) fn group_href(cluster: &str, group: &GroupId) -> String {
    if group.needs_digest() {
        format!("/c/{}/g?digest={}", encode(cluster), group.digest())
    } else {
        format!("/c/{}/g?group={}", encode(cluster), encode(group.as_str()))
    }
}

/// The address of a partition's page.
pub(crate) fn partition_href(cluster: &str, partition: PartitionId) -> String {
    format!("/c/{}/p/{partition}", encode(cluster))
}

/// The address of a broker's page.
pub(crate) fn broker_href(cluster: &str, broker: BrokerId) -> String {
    format!("/c/{}/b/{broker}", encode(cluster))
}

/// The address of a plan for the offsets topic; some are about one broker.
pub(crate) fn plan_href(cluster: &str, plan: &str, broker: Option<BrokerId>) -> String {
    let about = broker.map_or_else(String::new, |broker| format!("?broker={broker}"));
    format!("/c/{}/plans/{}{about}", encode(cluster), encode(plan))
}

/// The address of an incident.
#[cfg(feature = "ssr")]
pub(crate) fn incident_href(id: &unstuck_diagnosis::history::IncidentId) -> String {
    format!("/i/{}", encode(&id.0))
}

/// The address of the incidents of a cluster, or of all.
#[cfg(feature = "ssr")]
pub(crate) fn incidents_href(cluster: Option<&str>) -> String {
    cluster.map_or_else(|| "/incidents".to_owned(), |cluster| format!("/c/{}/incidents", encode(cluster)))
}

/// The address of what happened to something of a cluster; before a time in milliseconds, if one is given.
#[cfg(feature = "ssr")]
pub(crate) fn history_href(cluster: &str, about: &str, before: Option<i64>) -> String {
    let before = before.map(|before| format!("before={before}"));
    let query: Vec<&str> =
        [Some(about), before.as_deref()].into_iter().flatten().filter(|one| !one.is_empty()).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("/c/{}/history{mark}{}", encode(cluster), query.join("&"))
}

/// The address of the chapter about a finding.
pub(crate) fn finding_href(slug: &str) -> String {
    format!("/docs/findings/{}", encode(slug))
}

/// A file's content as an address, for links that save it.
pub(crate) fn data_href(content: &str) -> String {
    format!("data:application/octet-stream,{}", encode(content))
}

/// The command, if a text is nothing else: it begins with one of Kafka's tools, and stands in backticks or alone.
pub(crate) fn command_alone(text: &str) -> Option<&str> {
    let command = text.strip_prefix('`').and_then(|text| text.strip_suffix('`')).unwrap_or(text);
    let tool = command.split_whitespace().next().is_some_and(|word| word.ends_with(".sh"));
    (tool && !command.contains('`')).then_some(command)
}

/// The address of the API's answer for the same cluster.
pub(crate) fn api_href(cluster: &str, rest: &str) -> String {
    format!("/api/v1/clusters/{}{rest}", encode(cluster))
}

/// The address of the live events of one cluster, or of all.
pub(crate) fn events_href(cluster: Option<&str>) -> String {
    cluster.map_or_else(|| "/events".to_owned(), |cluster| format!("/events?cluster={}", encode(cluster)))
}

/// The first value of `key` in a raw query string, decoded exactly once.
///
/// The router's own map decodes values twice (`a%2541` becomes `aA`), which would answer for another group.
pub(crate) fn query_value(search: &str, key: &str) -> Option<String> {
    search.trim_start_matches('?').split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name) == key).then(|| decode(value))
    })
}

/// The first segment of a raw path, decoded. A `+` is a plus there.
pub(crate) fn path_segment(path: &str) -> String {
    let segment = path.split(['/', '?']).next().unwrap_or_default();
    decode(&segment.replace('+', "%2B"))
}

/// Undoes form encoding: `+` is a space, `%XX` a byte. Bytes that are not UTF-8 become U+FFFD.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = |at: usize| tail.get(at).and_then(|&digit| char::from(digit).to_digit(16));
        rest = match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                &tail[2..]
            }
            (b'+', ..) => {
                bytes.push(b' ');
                tail
            }
            _ => {
                bytes.push(first);
                tail
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a literal timestamp")
    }

    #[test]
    fn a_time_of_another_day_carries_its_date() {
        let seen = at("2026-11-29T15:50:31Z");
        assert_eq!(clock(at("2026-11-29T15:48:31.4Z"), seen), "15:48:31 UTC");
        assert_eq!(clock(at("2026-11-27T21:43:19Z"), seen), "2026-11-27 21:43:19 UTC");
    }

    #[test]
    fn durations_are_said_in_units_that_matter() {
        for (seconds_in, words) in
            [(0, "0 s"), (119, "119 s"), (120, "2 min"), (11_100, "3 h 5 min"), (183_600, "2 d 3 h")]
        {
            assert_eq!(seconds(seconds_in), words);
        }
        assert_eq!(span(at("2026-11-29T15:48:31Z"), at("2026-11-29T15:48:30Z")), "0 s");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(number(1_204), "1,204");
        assert_eq!(number(-12), "-12");
        assert_eq!(number(1_000_000), "1,000,000");
        assert_eq!(count(1, "group"), "1 group");
    }

    #[test]
    fn any_id_survives_its_link() {
        for id in
            ["", "a b", "a+b", "a%41b", "a&group=c", "é\u{1F600}", "x ", "<script>", "a\nb", "\u{202e}x", "a=b#c?d"]
        {
            let group = GroupId::from(id);
            let href = group_href("prod", &group);
            let (path, query) = href.split_once('?').expect("a query");
            assert_eq!(path, "/c/prod/g");
            assert_eq!(query_value(query, "group").as_deref(), Some(id), "{href}");
            assert!(query.is_ascii() && !query.contains(['<', ' ', '#']), "{href}");
        }
    }

    #[test]
    fn a_command_is_told_from_a_sentence_about_one() {
        assert_eq!(command_alone("kafka-topics.sh --list"), Some("kafka-topics.sh --list"));
        assert_eq!(command_alone("`kafka-topics.sh --list`"), Some("kafka-topics.sh --list"));
        assert_eq!(command_alone("`kafka-topics.sh --list` no longer has it."), None);
        assert_eq!(command_alone("It is listed."), None);
        assert_eq!(command_alone(""), None);
    }

    #[test]
    fn a_query_without_the_key_has_no_value() {
        assert_eq!(query_value("?digest=12", "group"), None);
        assert_eq!(query_value("", "group"), None);
        assert_eq!(query_value("?group", "group").as_deref(), Some(""));
        assert_eq!(query_value("group=100%", "group").as_deref(), Some("100%"));
    }
}
