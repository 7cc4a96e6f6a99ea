//! From what was said to what is used: what is missing is an error, what is not needed is told.

use std::path::PathBuf;

use unstuck_kafka::security::{Identity, Material, Sasl, ScramHash, Secret, Security, Tls, TokenSource};

use super::{Draft, Field, Mechanism, Value};
use crate::config::origin::{Origins, Placed};
use crate::config::{ConfigError, Environment};

impl Draft {
    /// How the cluster is entered, and what is told about it. `cluster` is its name, for errors.
    ///
    /// # Errors
    /// Something is missing, or does not go together.
    pub(in crate::config) fn finish(
        mut self,
        cluster: &str,
        bootstrap: &[String],
        environment: &Environment,
    ) -> Result<(Security, Origins), ConfigError> {
        let tls = if self.wanted(Field::Tls)? { Some(self.tls(cluster)?) } else { None };
        let sasl = if self.wanted(Field::Login)? { Some(self.sasl(cluster, bootstrap, environment)?) } else { None };
        let security = Security { tls, sasl };
        for Placed { value, place } in self.take_rest() {
            self.origins.ignore(value.name(), place, "nothing that is used needs it");
        }
        self.warn(&security, bootstrap);
        Ok((security, self.origins))
    }

    /// Whether TLS or the login is used. What is said about it in vain is told.
    fn wanted(&mut self, part: Field) -> Result<bool, ConfigError> {
        let of_part = |key: &Field| *key != part && key.of_tls() == part.of_tls();
        match self.flag(part) {
            Some(true) => Ok(true),
            Some(false) => {
                let rest: Vec<Field> = self.entries.keys().copied().filter(of_part).collect();
                for key in rest {
                    if let Some(Placed { place, .. }) = self.entries.remove(&key) {
                        let what =
                            if part == Field::Tls { "connections are not encrypted" } else { "there is no login" };
                        self.origins.ignore(key.name(), place, format!("{what}, as security.protocol says"));
                    }
                }
                Ok(false)
            }
            None => {
                let Some((key, first)) = self.entries.iter().find(|(key, _)| of_part(key)) else { return Ok(false) };
                let (protocol, without) = if key.of_tls() { ("SSL", "encryption") } else { ("SASL_SSL", "a login") };
                Err(ConfigError::new(
                    format!("{} is given, and security.protocol is not", first.place),
                    format!("Kafka's clients then connect without {without}, and do not use it."),
                    format!("Add security.protocol={protocol}, or take the setting out."),
                ))
            }
        }
    }

    fn tls(&mut self, cluster: &str) -> Result<Tls, ConfigError> {
        let ca_place = self.place(Field::Ca);
        let ca = self.material(Field::Ca);
        if let (Some(Material::File(path)), Some(place)) = (&ca, ca_place)
            && path.is_dir()
        {
            return Err(ConfigError::new(
                format!("{place} is a folder: {}", path.display()),
                "Certificates are read from one file, which may hold several.",
                format!("Put them into one file:  cat {}/*.pem > ca.pem", path.display()),
            ));
        }
        let verify_host = self.flag(Field::VerifyHost).unwrap_or(true);
        let places = [Field::Certificate, Field::PrivateKey, Field::Pkcs12].map(|key| self.place(key));
        let identity = match (
            self.material(Field::Certificate),
            self.material(Field::PrivateKey),
            self.file(Field::Pkcs12),
        ) {
            (None, None, None) => None,
            (Some(certificates), Some(key), None) => {
                Some(Identity::Pem { certificates, key, password: self.secret(Field::KeyPassword) })
            }
            (None, None, Some(file)) => Some(Identity::Pkcs12 { file, password: self.secret(Field::KeyPassword) }),
            (certificate, key, pkcs12) => {
                let place = places.into_iter().flatten().next().unwrap_or_default();
                let (meaning, remedy) = match (certificate, key, pkcs12) {
                    (_, _, Some(_)) => (
                        "There are two client certificates: a PKCS#12 file, and one in PEM.",
                        "Leave one of them out.".to_owned(),
                    ),
                    (Some(_), _, _) => (
                        "It is a client certificate without its key.",
                        format!(
                            "Add key = \"…\" to [clusters.{cluster}.tls] (ssl.key.location); the same file, if both \
                             stand in it."
                        ),
                    ),
                    _ => (
                        "It is a key without its certificate.",
                        format!("Add certificate = \"…\" to [clusters.{cluster}.tls] (ssl.certificate.location)."),
                    ),
                };
                return Err(ConfigError::new(format!("{place} cannot be used alone"), meaning, remedy));
            }
        };
        Ok(Tls { ca, identity, verify_host })
    }

    fn sasl(&mut self, cluster: &str, bootstrap: &[String], environment: &Environment) -> Result<Sasl, ConfigError> {
        let login = self.place(Field::Login).unwrap_or_default();
        let named = self.mechanism();
        // Kafka's clients take GSSAPI where no mechanism is said. That is seldom what is meant.
        let kerberos =
            [Field::Service, Field::Principal, Field::Keytab].iter().any(|key| self.entries.contains_key(key));
        let Placed { value: mechanism, place } = match named {
            Some(named) => named,
            None if kerberos => Placed { value: Mechanism::Gssapi, place: login },
            None => {
                return Err(ConfigError::new(
                    format!("{login}: there is a login without a mechanism"),
                    "Kafka's clients take GSSAPI (Kerberos) then, which is seldom meant.",
                    format!(
                        "Say which one, for example: mechanism = \"SCRAM-SHA-512\" in [clusters.{cluster}.sasl], or \
                         sasl.mechanism in properties."
                    ),
                ));
            }
        };
        let needs = |what: &str, ours: &str, java: &str, theirs: &str| {
            ConfigError::new(
                format!("{place}: {} needs {what}", mechanism.name()),
                "Without it nobody can log in.",
                format!("Set {ours} in [clusters.{cluster}.sasl], {java} in client.properties, or {theirs}."),
            )
        };
        let password = "password_file or password_env";
        let jaas = "the option of sasl.jaas.config";
        Ok(match mechanism {
            Mechanism::Plain | Mechanism::Scram256 | Mechanism::Scram512 => {
                let username = self.text(Field::Username);
                let username = username.ok_or_else(|| needs("a user name", "username", jaas, "sasl.username"))?;
                let secret = self.secret(Field::Password);
                let password = secret.ok_or_else(|| needs("a password", password, jaas, "sasl.password"))?;
                match mechanism {
                    Mechanism::Scram256 => Sasl::Scram { hash: ScramHash::Sha256, username, password },
                    Mechanism::Scram512 => Sasl::Scram { hash: ScramHash::Sha512, username, password },
                    _ => Sasl::Plain { username, password },
                }
            }
            Mechanism::OAuthBearer => match (self.secret(Field::Token), self.text(Field::TokenEndpoint)) {
                (Some(token), None) => Sasl::OAuthBearer(TokenSource::Token(token)),
                (None, Some(endpoint)) => {
                    let id = self.text(Field::ClientId);
                    let client_id =
                        id.ok_or_else(|| needs("a client id", "client_id", jaas, "sasl.oauthbearer.client.id"))?;
                    let secret = self.secret(Field::ClientSecret);
                    let client_secret = secret.ok_or_else(|| {
                        let ours = "client_secret_file or client_secret_env";
                        needs("the client's secret", ours, jaas, "sasl.oauthbearer.client.secret")
                    })?;
                    let (scope, ca) = (self.text(Field::Scope), self.material(Field::TokenCa));
                    Sasl::OAuthBearer(TokenSource::ClientCredentials { endpoint, client_id, client_secret, scope, ca })
                }
                (Some(_), Some(_)) => {
                    return Err(ConfigError::new(
                        format!("{place}: there are a file with a token and an endpoint for tokens"),
                        "It would not be clear which token is meant.",
                        "Leave token_file or token_endpoint out.",
                    ));
                }
                (None, None) => {
                    let (ours, theirs) = ("token_file or token_endpoint", "sasl.oauthbearer.token.endpoint.url");
                    return Err(needs("tokens from somewhere", ours, theirs, theirs));
                }
            },
            Mechanism::MskIam => Sasl::MskIam { region: self.region(&place, cluster, bootstrap, environment)? },
            Mechanism::Gssapi => {
                let service = self.text(Field::Service).unwrap_or_else(|| "kafka".to_owned());
                let (principal, keytab) = (self.text(Field::Principal), self.file(Field::Keytab));
                if keytab.is_some() && principal.is_none() {
                    let theirs = "sasl.kerberos.principal";
                    return Err(needs("the principal whose key is in the keytab", "principal", jaas, theirs));
                }
                Sasl::Gssapi { service, principal, keytab }
            }
        })
    }

    /// The region as it is said, or as the names of Amazon's brokers or the variables of its programs say.
    fn region(
        &mut self,
        place: &str,
        cluster: &str,
        bootstrap: &[String],
        environment: &Environment,
    ) -> Result<String, ConfigError> {
        if let Some(region) = self.text(Field::Region) {
            return Ok(region);
        }
        // b-1.NAME.ID.c2.kafka.eu-west-1.amazonaws.com
        let of_host = |address: &String| {
            let host = address.rsplit_once(':')?.0;
            let host = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn"))?;
            Some(host.rsplit_once('.')?.1.to_owned())
        };
        if let Some((region, address)) = bootstrap.iter().find_map(|one| Some((of_host(one)?, one))) {
            self.origins.setting(Field::Region.name(), &region, format!("the name of {address}"));
            return Ok(region);
        }
        for variable in ["AWS_REGION", "AWS_DEFAULT_REGION"] {
            if let Some(region) = environment.get(variable) {
                self.origins.setting(Field::Region.name(), &region, format!("the variable {variable}"));
                return Ok(region);
            }
        }
        Err(ConfigError::new(
            format!("{place}: AWS_MSK_IAM needs the region"),
            "Tokens are signed for one region; the names of these brokers do not tell it.",
            format!("Set region = \"eu-west-1\" (yours) in [clusters.{cluster}.sasl], or the variable AWS_REGION."),
        ))
    }

    fn warn(&mut self, security: &Security, bootstrap: &[String]) {
        if security.tls.as_ref().is_some_and(|tls| !tls.verify_host) {
            self.origins.warn(
                "verify_host is off: whoever has a certificate of the same authority can pretend to be a broker.",
            );
        }
        let Some(sasl) = &security.sasl else { return };
        let Some(far) = bootstrap.iter().find(|address| !is_loopback(address)) else { return };
        if security.tls.is_none() {
            let readable = match sasl {
                Sasl::Plain { .. } => "the password is readable on the network",
                Sasl::OAuthBearer(_) | Sasl::MskIam { .. } => "the token is readable on the network",
                Sasl::Scram { .. } => "whoever listens on the network can try passwords against it",
                Sasl::Gssapi { .. } => "all that is read and asked after it is readable on the network",
            };
            self.origins.warn(format!("The login at {far} is not encrypted: {readable}. Use TLS (SASL_SSL)."));
        }
    }

    fn take(&mut self, key: Field) -> Option<Placed<Value>> {
        let placed = self.entries.remove(&key)?;
        self.origins.setting(key.name(), placed.value.shown(), &placed.place);
        Some(placed)
    }

    fn take_rest(&mut self) -> Vec<Placed<Field>> {
        let rest = std::mem::take(&mut self.entries);
        rest.into_iter().map(|(value, Placed { place, .. })| Placed { value, place }).collect()
    }

    fn place(&self, key: Field) -> Option<String> {
        // The parts themselves are taken before their settings.
        let told = || self.origins.settings.iter().find(|setting| setting.name == key.name());
        self.entries.get(&key).map(|placed| placed.place.clone()).or_else(|| Some(told()?.place.clone()))
    }

    fn flag(&mut self, key: Field) -> Option<bool> {
        match self.take(key)?.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    fn text(&mut self, key: Field) -> Option<String> {
        match self.take(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn secret(&mut self, key: Field) -> Option<Secret> {
        match self.take(key)?.value {
            Value::Secret(secret) => Some(secret),
            _ => None,
        }
    }

    fn material(&mut self, key: Field) -> Option<Material> {
        match self.take(key)?.value {
            Value::Material(material) => Some(material),
            _ => None,
        }
    }

    fn file(&mut self, key: Field) -> Option<PathBuf> {
        match self.take(key)?.value {
            Value::File(file) => Some(file),
            _ => None,
        }
    }

    fn mechanism(&mut self) -> Option<Placed<Mechanism>> {
        match self.take(Field::Mechanism)? {
            Placed { value: Value::Mechanism(value), place } => Some(Placed { value, place }),
            Placed { .. } => None,
        }
    }
}

/// Whether an address (`host:port` or `host`) is one of this machine.
pub(super) fn is_loopback(address: &str) -> bool {
    let host = match address.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => address.rsplit_once(':').map_or(address, |(host, _)| host),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
