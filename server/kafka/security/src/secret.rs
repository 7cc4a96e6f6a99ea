//! Passwords, keys and tokens: kept where they are, read when they are needed, and never printed.

use std::fmt;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

/// A password, key or token. `Debug` and `Display` print `***`, and the name of the file where there is one.
#[derive(Clone)]
pub enum Secret {
    /// Given as it is: in the configuration, or by an environment variable.
    Value(SecretString),
    /// The content of a file without its last line end. It is read at each use, so that a new one needs no restart.
    File(PathBuf),
}

/// A file with a secret cannot be used. `Display` names the file and says why, never what is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot be read: {why}", path.display())]
pub struct Unreadable {
    /// The file.
    pub path: PathBuf,
    /// The operating system's words, or that it is no text, or empty.
    pub why: String,
}

impl Secret {
    /// A secret that was given as it is.
    #[must_use]
    pub fn value(text: impl Into<String>) -> Self {
        Self::Value(SecretString::from(text.into()))
    }

    /// The secret itself.
    ///
    /// # Errors
    /// Its file cannot be read, is no UTF-8 text, or is empty.
    pub fn read(&self) -> Result<SecretString, Unreadable> {
        let path = match self {
            Self::Value(value) => return Ok(value.clone()),
            Self::File(path) => path,
        };
        let unreadable = |why: String| Unreadable { path: path.clone(), why };
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        let line = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
        if line.is_empty() {
            return Err(unreadable("it is empty".to_owned()));
        }
        Ok(SecretString::from(line.to_owned()))
    }
}

/// Whether both are given in the same way and, where given as they are, the same.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(one), Self::Value(other)) => one.expose_secret() == other.expose_secret(),
            (Self::File(one), Self::File(other)) => one == other,
            _ => false,
        }
    }
}

impl Eq for Secret {}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("***"),
            Self::File(path) => write!(f, "*** (in {})", path.display()),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_printed() {
        let secret = Secret::value("correct horse");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
        assert_eq!(format!("{:?}", Secret::File("/run/password".into())), "*** (in /run/password)");
    }

    #[test]
    fn a_file_is_read_at_each_use_without_its_line_end() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("password");
        let secret = Secret::File(path.clone());
        assert!(secret.read().is_err_and(|error| error.to_string().contains("password")));
        for (written, read) in [("one\n", "one"), ("two\r\n", "two"), (" three", " three")] {
            std::fs::write(&path, written)?;
            assert_eq!(secret.read().map(|secret| secret.expose_secret().to_owned()).as_deref(), Ok(read));
        }
        std::fs::write(&path, "\n")?;
        assert!(secret.read().is_err_and(|error| error.why == "it is empty"));
        Ok(())
    }
}
