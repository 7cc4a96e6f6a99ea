//! `[access]` of the file.

use super::{Source, Value};
use crate::config::access::OidcInFile;
use crate::config::{AccessInFile, ConfigError};

const KEYS: [&str; 10] = [
    "editor_groups",
    "groups_header",
    "mode",
    "oidc",
    "public_url",
    "tls_certificate",
    "tls_key",
    "tokens_file",
    "trusted_proxies",
    "user_header",
];

const OIDC_KEYS: [&str; 7] =
    ["client_id", "client_secret_file", "editor_claim", "editor_values", "issuer", "name_claim", "scopes"];

impl Source<'_> {
    pub(super) fn access(&self, value: Value<'_, '_>) -> Result<AccessInFile, ConfigError> {
        let mut access = AccessInFile::default();
        for (key, value) in self.table(value, "access")? {
            match key.get_ref().as_ref() {
                "mode" => access.mode = Some(self.placed(value, "mode", "\"token\"")?),
                "tokens_file" => {
                    access.tokens_file = Some(self.string(value, "tokens_file", "\"/etc/unstuck/tokens\"")?.into());
                }
                "oidc" => access.oidc = self.oidc(value)?,
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

    fn oidc(&self, value: Value<'_, '_>) -> Result<OidcInFile, ConfigError> {
        let mut oidc = OidcInFile::default();
        for (key, value) in self.table(value, "oidc")? {
            let key_text = key.get_ref().as_ref();
            let text = |example: &str| self.string(value, key_text, example).map(str::to_owned);
            match key_text {
                "issuer" => oidc.issuer = Some(self.placed(value, "issuer", "\"https://login.example\"")?),
                "client_id" => oidc.client_id = Some(text("\"unstuck\"")?),
                "client_secret_file" => oidc.client_secret_file = Some(text("\"/etc/unstuck/oidc-secret\"")?.into()),
                "scopes" => oidc.scopes = Some(self.strings(value, "scopes", "[\"profile\", \"groups\"]")?),
                "name_claim" => oidc.name_claim = Some(text("\"preferred_username\"")?),
                "editor_claim" => oidc.editor_claim = Some(text("\"groups\"")?),
                "editor_values" => oidc.editor_values = self.strings(value, "editor_values", "[\"sre\"]")?,
                unknown => return Err(self.unknown_key(key, unknown, &OIDC_KEYS, "[access.oidc]")),
            }
        }
        Ok(oidc)
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
