//! `kinit`, MIT's or Heimdal's: the program that gets a ticket by a keytab and puts it into the credentials cache.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// The variable that names the cache.
const CACHE: &str = "KRB5CCNAME";
/// Kinds of caches that hold tickets of several principals side by side (ccache_def(7)).
const SEVERAL: [&str; 4] = ["DIR:", "KEYRING:", "KCM:", "API:"];
/// Longest text of `kinit` that is passed on, in characters.
const LONGEST: usize = 300;

/// Whether the cache was said to be one for several principals.
pub(super) fn keeps_several() -> bool {
    let named = std::env::var(CACHE).unwrap_or_default();
    SEVERAL.iter().any(|kind| named.starts_with(kind))
}

/// Gets a ticket for `principal`. No shell reads its name or the keytab's.
///
/// # Errors
/// What `kinit` says.
pub(super) async fn run(principal: &str, keytab: &Path, deadline: Duration) -> Result<(), String> {
    let mut from = OsString::from("FILE:");
    from.push(keytab);
    let mut command = Command::new("kinit");
    command.args(["-k", "-t"]).arg(from).arg("--").arg(principal).env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let ended = match timeout(deadline, command.output()).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => {
            return Err("there is no program kinit (Debian: apt-get install krb5-user)".to_owned());
        }
        Ok(Err(error)) => return Err(format!("kinit cannot be run: {error}")),
        Err(_) => return Err(format!("the KDC gives no answer within {} s", deadline.as_secs())),
    };
    if ended.status.success() { Ok(()) } else { Err(words(&ended.stderr)) }
}

/// "kinit: Preauthentication failed while getting initial credentials" without what is always the same.
fn words(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("kinit failed without a word").trim();
    let line = line.strip_prefix("kinit: ").unwrap_or(line);
    let line = line.strip_suffix(" while getting initial credentials").unwrap_or(line);
    line.chars().map(|one| if one.is_control() { ' ' } else { one }).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_kinit_says_the_reason_is_left() {
        for (said, left) in [
            ("kinit: Preauthentication failed while getting initial credentials\n", "Preauthentication failed"),
            (
                "a warning\nkinit: Cannot contact any KDC for realm 'A' while x\n",
                "Cannot contact any KDC for realm 'A' while x",
            ),
            ("", "kinit failed without a word"),
            ("\u{1b}[2Jkinit\n\n", " [2Jkinit"),
        ] {
            assert_eq!(words(said.as_bytes()), left, "{said:?}");
        }
    }
}
