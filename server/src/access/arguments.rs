//! Options of the command line about access: of those who serve, and of those who ask a server.

use std::path::{Path, PathBuf};

use clap::Args;
use http::{HeaderMap, HeaderValue, header};
use reqwest::ClientBuilder;

use crate::cli::Failure;
use crate::config::{AccessOptions, Environment};

/// Who may come in.
#[derive(Debug, Default, Args)]
pub(crate) struct AccessArgs {
    /// Who may read and write: open (whoever reaches it), token, proxy-header, or oidc. Needed to listen beyond this machine
    #[arg(long, value_name = "MODE")]
    access: Option<String>,
    /// With --access token: the file with the hashes of tokens, as `unstuck token new` prints them
    #[arg(long, value_name = "FILE")]
    tokens_file: Option<PathBuf>,
    /// With --access proxy-header: the address or network of a proxy that is believed; repeatable
    #[arg(long = "trusted-proxy", value_name = "IP|NETWORK")]
    trusted_proxies: Vec<String>,
    /// The address at which people open Unstuck, such as https://unstuck.example, where a proxy is in front of it
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Serve https:// with this certificate (PEM, with those that vouch for it); read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The certificate's key (PEM, without a password)
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
}

impl AccessArgs {
    /// As the configuration takes them.
    pub(crate) fn options(&self) -> AccessOptions {
        AccessOptions {
            mode: self.access.clone(),
            tokens_file: self.tokens_file.clone(),
            trusted_proxies: self.trusted_proxies.clone(),
            public_url: self.public_url.clone(),
            tls_certificate: self.tls_certificate.clone(),
            tls_key: self.tls_key.clone(),
        }
    }

    /// Whether any is given.
    pub(crate) fn any(&self) -> bool {
        self.options() != AccessOptions::default()
    }
}

/// How a running server is entered.
#[derive(Debug, Default, Args)]
pub(crate) struct LoginArgs {
    /// A file with the token that the server wants, on one line [or the token itself in the variable UNSTUCK_TOKEN]
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
}

impl LoginArgs {
    /// The client with the token in every request, if there is one.
    ///
    /// # Errors
    /// The file cannot be read, or what is in it is no token.
    pub(crate) fn log_in(&self, client: ClientBuilder, environment: &Environment) -> Result<ClientBuilder, Failure> {
        let (token, place) = match (&self.token_file, environment.get("UNSTUCK_TOKEN")) {
            (Some(path), _) => (read(path)?, path.display().to_string()),
            (None, Some(token)) => (token, "UNSTUCK_TOKEN".to_owned()),
            (None, None) => return Ok(client),
        };
        let value = format!("Bearer {}", token.trim());
        // The value is not repeated: it is a secret, if perhaps one written wrong.
        let wrong = || {
            Failure::usage(format!(
                "{place} holds no token\n  A token is one line of visible characters.\n  \
                 Put there what `unstuck token new` printed"
            ))
        };
        if token.trim().is_empty() || !token.trim().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong());
        }
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok(client.default_headers(HeaderMap::from_iter([(header::AUTHORIZATION, value)])))
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!(
            "cannot read the token in {}: {error}\n  The server may want one.\n  Check the path and its permissions",
            path.display()
        ))
    })
}
