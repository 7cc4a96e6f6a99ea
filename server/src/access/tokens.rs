//! The file of tokens: a line for each, with its hash instead of the token.
//!
//! ```text
//! # name   role    SHA-256 of the token                                              until (if not for ever)
//! grafana  viewer  9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//! ada      editor  60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752  2027-01-31
//! ```
//!
//! It is read again when it has changed, so a line that is taken out ends its sessions too. A file that cannot be read, or
//! has a line that cannot, is not taken over: what held before goes on to hold, and the log says so.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;

use super::Role;
use super::credentials::{Hash, PREFIX};

/// How often is looked whether the file has changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a name may be, in characters.
const NAME_LENGTH: usize = 64;

/// A token, as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Whose it is; notes and the log carry this name.
    pub(crate) name: String,
    /// What it may do.
    pub(crate) role: Role,
    /// What is kept of it.
    pub(crate) hash: Hash,
    /// From when on it is none any more.
    pub(crate) until: Option<Timestamp>,
}

impl Token {
    /// The line of the file.
    pub(crate) fn line(&self) -> String {
        let until = self.until.map(|until| format!(" {until}")).unwrap_or_default();
        format!("{} {} {}{until}", self.name, self.role.word(), self.hash.hex())
    }
}

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoToken {
    /// It is in no line.
    Unknown,
    /// Its time is over.
    Over(Timestamp),
}

/// A name that needs no quotes anywhere.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=NAME_LENGTH).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'@' | b'+'))
}

/// A day (whose beginning in UTC is meant) or a time.
pub(crate) fn until(text: &str) -> Option<Timestamp> {
    text.parse().ok().or_else(|| format!("{text}T00:00:00Z").parse().ok())
}

/// Reads the file's text; `Err` names the line and what is wrong with it. Hashes are not repeated.
pub(crate) fn parse(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens: Vec<Token> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |what: String| format!("line {}: {what}", number + 1);
        if line.contains(PREFIX) {
            return Err(wrong(
                "holds a token; only its hash belongs here. Make a new one, this one may have been seen".into(),
            ));
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (name, role, hash, end) = match fields.as_slice() {
            [name, role, hash] => (*name, *role, *hash, None),
            [name, role, hash, end] => (*name, *role, *hash, Some(*end)),
            _ => return Err(wrong(format!("has {} fields; a line is: name role hash [until]", fields.len()))),
        };
        if !is_name(name) {
            return Err(wrong("the name is not of 1 to 64 letters, digits and - _ . @ +".into()));
        }
        let role = Role::of_word(role).ok_or_else(|| wrong(format!("{role:?} is no role: viewer or editor")))?;
        let hash = Hash::of_hex(hash).ok_or_else(|| wrong("the hash is not of 64 hexadecimal digits".into()))?;
        let until = match end {
            None => None,
            Some(end) => Some(until(end).ok_or_else(|| wrong(format!("{end:?} is no day such as 2027-01-31")))?),
        };
        if tokens.iter().any(|known| known.name == name) {
            return Err(wrong(format!("{name} has a line already")));
        }
        tokens.push(Token { name: name.to_owned(), role, hash, until });
    }
    Ok(tokens)
}

/// The tokens of a file, as they are now.
#[derive(Debug)]
pub(crate) struct TokenFile {
    path: PathBuf,
    read: Mutex<Read>,
}

#[derive(Debug)]
struct Read {
    tokens: Arc<Vec<Token>>,
    /// Time and size of what was read last, good or bad.
    stamp: Option<(SystemTime, u64)>,
    looked: Instant,
}

impl TokenFile {
    /// Reads it.
    ///
    /// # Errors
    /// It cannot be read, or one of its lines cannot; a sentence says which.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let stamp = stamp(path);
        let tokens = read(path)?;
        if tokens.is_empty() {
            return Err("it has no line, so nobody could come in".to_owned());
        }
        let read = Read { tokens: Arc::new(tokens), stamp, looked: Instant::now() };
        Ok(Self { path: path.to_owned(), read: Mutex::new(read) })
    }

    /// The token's line, if it is one now.
    pub(crate) fn find(&self, hash: Hash, now: Timestamp) -> Result<Token, NoToken> {
        // All are compared, also after the right one.
        let mut found = None;
        for token in self.newest().iter() {
            if token.hash.is(hash) {
                found = Some(token.clone());
            }
        }
        match found {
            None => Err(NoToken::Unknown),
            Some(Token { until: Some(until), .. }) if until <= now => Err(NoToken::Over(until)),
            Some(token) => Ok(token),
        }
    }

    fn newest(&self) -> Arc<Vec<Token>> {
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if known.looked.elapsed() >= LOOK_EVERY {
            known.looked = Instant::now();
            let stamp = stamp(&self.path);
            if stamp != known.stamp {
                known.stamp = stamp;
                match read(&self.path) {
                    Ok(tokens) => {
                        tracing::info!(file = %self.path.display(), tokens = tokens.len(), "the file of tokens was read again");
                        known.tokens = Arc::new(tokens);
                    }
                    Err(why) => {
                        tracing::error!(file = %self.path.display(), "the file of tokens is not taken over, those before hold: {why}");
                    }
                }
            }
        }
        Arc::clone(&known.tokens)
    }
}

fn read(path: &Path) -> Result<Vec<Token>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    parse(&text)
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(secret: &str) -> String {
        Hash::of(secret).hex()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_file_is_read_line_by_line() {
        let text = format!("# who\n\nada editor {}  2027-01-31 # soon over\ngrafana viewer {}\n", hash("a"), hash("b"));
        let tokens = parse(&text).expect("a good file");
        assert_eq!(tokens.len(), 2);
        assert_eq!(tokens[0].until, Some(at("2027-01-31T00:00:00Z")));
        assert_eq!(parse(&tokens[0].line()).expect("its own line"), tokens[..1]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_no_secret_is_repeated() {
        let good = hash("a");
        for (line, words) in [
            ("ada editor".to_owned(), "has 2 fields"),
            (format!("ada root {good}"), "is no role"),
            (format!("a/b editor {good}"), "the name"),
            ("ada editor abc".to_owned(), "64 hexadecimal digits"),
            (format!("ada editor {good} soon"), "is no day"),
            ("ada editor unstuck_secret".to_owned(), "only its hash"),
            (format!("ada editor {good}\nada viewer {}", hash("b")), "line 2: ada has a line already"),
        ] {
            let said = parse(&line).expect_err("refused");
            assert!(said.contains(words) && said.starts_with("line "), "{said}");
            assert!(!said.contains(&good) && !said.contains("unstuck_secret"), "{said}");
        }
    }

    #[test]
    fn a_token_ends_and_a_changed_file_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens");
        std::fs::write(&path, format!("ada editor {} 2027-01-31\n", hash("a"))).expect("written");
        let file = TokenFile::open(&path).expect("a good file");
        let (before, after) = (at("2027-01-30T23:59:59Z"), at("2027-01-31T00:00:00Z"));
        assert_eq!(file.find(Hash::of("a"), before).expect("it holds").name, "ada");
        assert_eq!(file.find(Hash::of("a"), after), Err(NoToken::Over(after)));
        assert_eq!(file.find(Hash::of("b"), before), Err(NoToken::Unknown));

        let eventually = |what: &dyn Fn() -> bool| {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !what() {
                assert!(Instant::now() < deadline, "the file was not read again");
                std::thread::sleep(Duration::from_millis(50));
            }
        };
        std::fs::write(&path, format!("grace viewer {}\n", hash("b"))).expect("written");
        eventually(&|| file.find(Hash::of("b"), before).is_ok());
        assert_eq!(file.find(Hash::of("a"), before), Err(NoToken::Unknown), "taken out, so it is none any more");
        // Half a line, as an editor that is not done: what held before goes on to hold.
        std::fs::write(&path, "grace view").expect("written");
        std::thread::sleep(LOOK_EVERY * 2);
        assert!(file.find(Hash::of("b"), before).is_ok());
    }
}
