//! `[access]` of the file.

use super::{Source, Value};
use crate::config::{AccessInFile, ConfigError};

const KEYS: [&str; 9] = [
    "editor_groups",
    "groups_header",
    "mode",
    "public_url",
    "tls_certificate",
    "tls_key",
    "tokens_file",
    "trusted_proxies",
    "user_header",
];

impl Source<'_> {
    pub(super) fn access(&self, value: Value<'_, '_>) -> Result<AccessInFile, ConfigError> {
        let mut access = AccessInFile::default();
        for (key, value) in self.table(value, "access")? {
            match key.get_ref().as_ref() {
                "mode" => access.mode = Some(self.placed(value, "mode", "\"token\"")?),
                "tokens_file" => {
                    access.tokens_file = Some(self.string(value, "tokens_file", "\"/etc/unstuck/tokens\"")?.into());
                }
                "public_url" => {
                    access.public_url = Some(self.placed(value, "public_url", "\"https://unstuck.example\"")?);
                }
                "trusted_proxies" => {
                    let place = format!("{}: trusted_proxies", self.place_of(value));
                    access.trusted_proxies = Some((self.strings(value, "trusted_proxies", "[\"10.0.0.7\"]")?, place));
                }
                "user_header" => {
                    access.user_header = Some(self.placed(value, "user_header", "\"X-Forwarded-User\"")?)
                }
                "groups_header" => {
                    access.groups_header = Some(self.placed(value, "groups_header", "\"X-Forwarded-Groups\"")?);
                }
                "editor_groups" => access.editor_groups = self.strings(value, "editor_groups", "[\"sre\"]")?,
                "tls_certificate" => {
                    access.tls_certificate =
                        Some(self.string(value, "tls_certificate", "\"/etc/unstuck/tls.pem\"")?.into());
                }
                "tls_key" => access.tls_key = Some(self.string(value, "tls_key", "\"/etc/unstuck/tls.key\"")?.into()),
                unknown => return Err(self.unknown_key(key, unknown, &KEYS, "[access]")),
            }
        }
        Ok(access)
    }

    /// A text, and where it stands.
    fn placed(&self, value: Value<'_, '_>, key: &str, example: &str) -> Result<(String, String), ConfigError> {
        let text = self.string(value, key, example)?;
        Ok((text.to_owned(), format!("{}: {key}", self.place_of(value))))
    }

    fn strings(&self, value: Value<'_, '_>, key: &str, example: &str) -> Result<Vec<String>, ConfigError> {
        let list = value.get_ref().as_array().ok_or_else(|| self.wrong_type(value, key, example))?;
        list.iter().map(|one| Ok(self.string(one, key, example)?.to_owned())).collect()
    }
}
