//! What the configuration says about TLS and SASL.

use std::path::PathBuf;

use crate::Secret;

/// How a cluster is entered. The default is plaintext without a login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Security {
    /// TLS, if connections are encrypted.
    pub tls: Option<Tls>,
    /// The login, if there is one beside a client certificate.
    pub sasl: Option<Sasl>,
}

impl Security {
    /// Kafka's name of the combination: the setting `security.protocol`.
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        match (&self.tls, &self.sasl) {
            (None, None) => "PLAINTEXT",
            (Some(_), None) => "SSL",
            (None, Some(_)) => "SASL_PLAINTEXT",
            (Some(_), Some(_)) => "SASL_SSL",
        }
    }
}

/// TLS towards brokers. At least TLS 1.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificates that a broker's certificate has to lead to; `None`: those that this machine trusts.
    pub ca: Option<Material>,
    /// The certificate that we show, where the listener asks for one (mTLS).
    pub identity: Option<Identity>,
    /// Whether a broker's certificate has to name the host that was connected to. Kafka's clients do without when
    /// `ssl.endpoint.identification.algorithm` is empty.
    pub verify_host: bool,
}

impl Default for Tls {
    fn default() -> Self {
        Self { ca: None, identity: None, verify_host: true }
    }
}

/// Certificates or a key in PEM, or a PKCS#12 file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Material {
    /// In a file. It is read when a connection is made, so that a renewed certificate needs no restart.
    File(PathBuf),
    /// In the configuration itself, in PEM.
    Inline(Secret),
}

/// A certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// In PEM; both may stand in the same file.
    Pem {
        /// The certificate, followed by those that lead to its root.
        certificates: Material,
        /// The key, in PKCS#8 (encrypted or not) or its older forms.
        key: Material,
        /// What an encrypted key is opened with.
        password: Option<Secret>,
    },
    /// Both in one PKCS#12 file.
    Pkcs12 {
        /// The file.
        file: PathBuf,
        /// What it is opened with.
        password: Option<Secret>,
    },
}

/// A login (`sasl.mechanism`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sasl {
    /// PLAIN (RFC 4616). The password goes over the connection as it is, so use it with TLS.
    Plain {
        /// The user's name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// SCRAM (RFC 5802, KIP-84).
    Scram {
        /// Its hash.
        hash: ScramHash,
        /// The user's name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// OAUTHBEARER (KIP-255).
    OAuthBearer(TokenSource),
    /// IAM of Amazon MSK: OAUTHBEARER with a token that is signed with credentials of AWS, which are found as its
    /// programs find them: environment, profile, the machine's or container's role.
    MskIam {
        /// Such as `eu-west-1`.
        region: String,
    },
    /// Kerberos. Needs a build with the feature `kerberos`; the ticket comes from the credentials cache or the keytab.
    Gssapi {
        /// The first part of the brokers' principals (`sasl.kerberos.service.name`), usually `kafka`.
        service: String,
        /// Whom we log in as; `None`: as the credentials cache says.
        principal: Option<String>,
        /// Where its key is, for which a principal is needed; `None`: the credentials cache is used.
        keytab: Option<PathBuf>,
    },
}

impl Sasl {
    /// The mechanism's name on the wire.
    #[must_use]
    pub fn mechanism(&self) -> &'static str {
        match self {
            Self::Plain { .. } => "PLAIN",
            Self::Scram { hash: ScramHash::Sha256, .. } => "SCRAM-SHA-256",
            Self::Scram { hash: ScramHash::Sha512, .. } => "SCRAM-SHA-512",
            Self::OAuthBearer(_) | Self::MskIam { .. } => "OAUTHBEARER",
            Self::Gssapi { .. } => "GSSAPI",
        }
    }
}

/// The hash of SCRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScramHash {
    /// SCRAM-SHA-256.
    Sha256,
    /// SCRAM-SHA-512.
    Sha512,
}

/// Where tokens of OAUTHBEARER come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// A token that somebody else puts into a file and renews there. It is read before each login.
    Token(Secret),
    /// An OAuth 2 token endpoint is asked, as a client with a secret (`client_credentials`, RFC 6749 section 4.4).
    ClientCredentials {
        /// The token endpoint, `https://…` (`http://` is taken for loopback addresses only).
        endpoint: String,
        /// The client's id.
        client_id: String,
        /// The client's secret.
        client_secret: Secret,
        /// The scope that is asked for.
        scope: Option<String>,
        /// The certificates that the endpoint's has to lead to, in PEM; `None`: those that this machine trusts.
        ca: Option<Material>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_has_kafkas_name() {
        let sasl = Some(Sasl::Plain { username: "a".to_owned(), password: Secret::value("b") });
        let of = |tls, sasl: &Option<Sasl>| Security { tls, sasl: sasl.clone() }.protocol();
        assert_eq!(of(None, &None), "PLAINTEXT");
        assert_eq!(of(Some(Tls::default()), &None), "SSL");
        assert_eq!(of(None, &sasl), "SASL_PLAINTEXT");
        assert_eq!(of(Some(Tls::default()), &sasl), "SASL_SSL");
    }
}
