//! `sasl.jaas.config`: one login module with its options, as Kafka reads it (`JaasConfig`, on Java's `StreamTokenizer`).

use crate::config::ConfigError;

/// A login module and its options.
pub(super) struct Module {
    /// Its class.
    pub(super) class: String,
    /// Its options, in order.
    pub(super) options: Vec<(String, String)>,
}

/// Options whose names may be repeated in errors; anything else may be a piece of a password.
const OPTIONS: [&str; 16] = [
    "awsDebugCreds",
    "awsProfileName",
    "awsRoleArn",
    "awsRoleSessionName",
    "awsStsRegion",
    "clientId",
    "clientSecret",
    "keyTab",
    "password",
    "principal",
    "scope",
    "serviceName",
    "storeKey",
    "useKeyTab",
    "useTicketCache",
    "username",
];
const FLAGS: [&str; 4] = ["REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL"];

enum Token {
    Word(String),
    Quoted(String),
    Sign(char),
}

/// Reads the value of `sasl.jaas.config`, which stands at `place`. No error repeats any of it but names of options.
pub(super) fn parse(text: &str, place: &str) -> Result<Module, ConfigError> {
    let wrong = |what: String| {
        ConfigError::new(
            format!("{place}: {what}"),
            "Kafka's clients refuse it too. It is: MODULE required OPTION=\"VALUE\" … ;",
            "For example: org.apache.kafka.common.security.scram.ScramLoginModule required username=\"…\" password=\"…\";",
        )
    };
    let mut tokens = tokens(text).map_err(|what| wrong(what.to_owned()))?.into_iter();
    let Some(Token::Word(class) | Token::Quoted(class)) = tokens.next() else {
        return Err(wrong("it does not begin with the class of a login module".to_owned()));
    };
    match tokens.next() {
        Some(Token::Word(flag)) if FLAGS.contains(&flag.to_ascii_uppercase().as_str()) => {}
        _ => return Err(wrong("after the module's class comes `required`".to_owned())),
    }
    let mut options = Vec::new();
    loop {
        let option = match tokens.next() {
            Some(Token::Sign(';')) => break,
            Some(Token::Word(option) | Token::Quoted(option)) => option,
            None => return Err(wrong("it does not end with a semicolon".to_owned())),
            Some(Token::Sign(_)) => {
                return Err(wrong("a sign stands where the name of an option should be".to_owned()));
            }
        };
        let named = if OPTIONS.contains(&option.as_str()) { format!("`{option}`") } else { "an option".to_owned() };
        match (tokens.next(), tokens.next()) {
            (Some(Token::Sign('=')), Some(Token::Word(value) | Token::Quoted(value))) => options.push((option, value)),
            (Some(Token::Sign('=')), _) => {
                return Err(wrong(format!("{named} has no value; what is not letters and digits needs quotes")));
            }
            _ => return Err(wrong(format!("{named} is not followed by `=`"))),
        }
    }
    if tokens.next().is_some() {
        return Err(wrong("something follows after the semicolon; there can be one module only".to_owned()));
    }
    Ok(Module { class, options })
}

fn tokens(text: &str) -> Result<Vec<Token>, &'static str> {
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c <= ' ' => {}
            '"' | '\'' => found.push(Token::Quoted(quoted(&mut rest, c)?)),
            '/' => match rest.next() {
                Some('*') => {
                    let mut before = ' ';
                    loop {
                        match rest.next() {
                            Some('/') if before == '*' => break,
                            Some(c) => before = c,
                            None => return Err("a comment does not end"),
                        }
                    }
                }
                // Java takes a single slash for the beginning of a comment too; an unquoted path would be lost.
                Some('/') => while rest.next_if(|c| *c != '\n').is_some() {},
                _ => return Err("a `/` stands outside of quotes"),
            },
            c if is_word(c) => {
                let mut word = String::from(c);
                while let Some(c) = rest.next_if(|c| is_word(*c)) {
                    word.push(c);
                }
                found.push(Token::Word(word));
            }
            c => found.push(Token::Sign(c)),
        }
    }
    Ok(found)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '$' | '.') || c >= '\u{a0}'
}

/// What stands up to the closing quote, with Java's escapes.
fn quoted(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, quote: char) -> Result<String, &'static str> {
    const OPEN: &str = "a quote does not end on its line";
    let mut text = String::new();
    loop {
        match rest.next() {
            None | Some('\n' | '\r') => return Err(OPEN),
            Some(c) if c == quote => return Ok(text),
            Some('\\') => match rest.next() {
                None => return Err(OPEN),
                Some('a') => text.push('\u{7}'),
                Some('b') => text.push('\u{8}'),
                Some('f') => text.push('\u{c}'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some('v') => text.push('\u{b}'),
                Some(first @ '0'..='7') => {
                    let mut code = first.to_digit(8).unwrap_or_default();
                    // Three digits, if the first is at most 3.
                    for _ in 0..if first <= '3' { 2 } else { 1 } {
                        let Some(digit) = rest.next_if(|c| c.is_digit(8)).and_then(|c| c.to_digit(8)) else { break };
                        code = code * 8 + digit;
                    }
                    text.extend(char::from_u32(code));
                }
                Some(other) => text.push(other),
            },
            Some(c) => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Vec<(String, String)> {
        parse(text, "x").unwrap_or_else(|error| panic!("{error}")).options
    }

    #[test]
    fn quotes_escapes_and_comments_are_javas() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            options(r#"a.b.C required username="al\"ice" password='p\\w;=' x=y-1.z;"#),
            [pair("username", "al\"ice"), pair("password", "p\\w;="), pair("x", "y-1.z")]
        );
        assert_eq!(options("a.B /* no */ Required // nothing\n k=\"\\101\\t\" ;"), [pair("k", "A\t")]);
        assert_eq!(options("a.B required;"), []);
    }

    #[test]
    fn what_is_wrong_is_said_and_not_repeated() {
        for (text, said) in [
            ("", "begin with the class"),
            ("a.B username=\"hunter2\";", "comes `required`"),
            ("a.B required username=\"hunter2\"", "semicolon"),
            ("a.B required username=\"hunter2;", "a quote does not end"),
            ("a.B required password hunter2;", "`password` is not followed"),
            ("a.B required hunter2;", "an option is not followed"),
            ("a.B required password=;", "`password` has no value"),
            ("a.B required password==hunter2;", "`password` has no value"),
            ("a.B required keyTab=/hunter2;", "outside of quotes"),
            ("a.B required x=y; hunter2", "one module only"),
            ("a.B required =hunter2;", "a sign stands"),
        ] {
            let error = parse(text, "client.properties line 3: sasl.jaas.config").map(|_| ()).expect_err(text);
            let error = error.to_string();
            assert!(error.contains(said), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
