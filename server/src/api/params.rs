//! Query strings and forms, decoded strictly: a mutilated id must not be answered as if it were another one.

use unstuck_diagnosis::GroupId;

use crate::problem::Problem;

/// The name–value pairs of `application/x-www-form-urlencoded` text: `+` is a space, `%XX` a byte.
///
/// # Errors
/// Broken percent-encoding, or bytes that are not UTF-8 (which the common lenient decoders replace by `�`).
pub(crate) fn pairs(encoded: &[u8]) -> Result<Vec<(String, String)>, Problem> {
    let parts = encoded.split(|byte| *byte == b'&').filter(|part| !part.is_empty());
    let pairs = parts.map(|part| {
        let mut halves = part.splitn(2, |byte| *byte == b'=');
        let (name, value) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
        Ok((decode(name)?, decode(value)?))
    });
    pairs.collect()
}

fn decode(encoded: &[u8]) -> Result<String, Problem> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => match (rest.next().and_then(hex), rest.next().and_then(hex)) {
                (Some(high), Some(low)) => high << 4 | low,
                _ => return Err(Problem::bad_encoding("A % is not followed by two hexadecimal digits.".to_owned())),
            },
            other => *other,
        });
    }
    String::from_utf8(bytes).map_err(|_| Problem::bad_encoding("A value is not UTF-8.".to_owned()))
}

fn hex(digit: &u8) -> Option<u8> {
    char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Every `group`, in order.
pub(super) fn groups(encoded: &[u8]) -> Result<Vec<GroupId>, Problem> {
    ids("group", encoded)
}

/// Every value of the only parameter that there is, in order.
pub(super) fn ids(parameter: &'static str, encoded: &[u8]) -> Result<Vec<GroupId>, Problem> {
    let checked = pairs(encoded)?.into_iter().map(|(name, value)| {
        if name == parameter { Ok(GroupId(value)) } else { Err(Problem::unknown_parameter(&name, &[parameter])) }
    });
    checked.collect()
}

/// Refuses every parameter: `?group=` on a path that ignores it would look as if it had been obeyed.
pub(crate) fn none(query: Option<&str>) -> Result<(), Problem> {
    match pairs(query.unwrap_or_default().as_bytes())?.first() {
        Some((name, _)) => Err(Problem::unknown_parameter(name, &[])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_clients_send() {
        let cases = [
            ("group=my-group", "my-group"),
            ("group=two+words", "two words"),
            ("group=two%20words", "two words"),
            ("group=a%2Bb", "a+b"),
            ("group=%F0%9F%98%80", "\u{1F600}"),
            ("group=a%00b", "a\0b"),
            ("group=", ""),
            ("group", ""),
            ("group=a=b", "a=b"),
            ("group=%e4%b8%ad", "中"),
            ("group=50%25", "50%"),
        ];
        for (query, id) in cases {
            assert_eq!(groups(query.as_bytes()), Ok(vec![GroupId::from(id)]), "{query}");
        }
    }

    #[test]
    fn never_guesses() {
        for query in ["group=50%", "group=%4", "group=%zz", "group=%ff", "group=%ed%a0%80"] {
            let problem = groups(query.as_bytes()).expect_err(query);
            assert_eq!((problem.status, &*problem.kind), (400, "urn:unstuck:problem:bad-encoding"), "{query}");
        }
    }
}
