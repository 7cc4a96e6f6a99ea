//! Why there is no ticket of Kerberos, each a sentence.

use std::path::PathBuf;

/// Why there is no ticket. `Display` is a sentence without its full stop, and names the settings to look at; no key is in
/// it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// The KDC gave no ticket for the keytab, or could not be asked.
    #[error("for sasl.principal {principal} with sasl.keytab {}: {said}", keytab.display())]
    Refused {
        /// Whose ticket it was to be.
        principal: String,
        /// Where its key is.
        keytab: PathBuf,
        /// The words of `kinit`.
        said: String,
    },
    /// A ticket would replace that of somebody else.
    #[error(
        "the credentials cache of this process has a ticket of {other}, which one of sasl.principal {principal} would \
         replace: name another cache in KRB5CCNAME, such as FILE:/var/lib/unstuck/krb5cc, or DIR:/var/lib/unstuck/krb5 for \
         several principals"
    )]
    CacheOfAnother {
        /// Whose ticket it was to be.
        principal: String,
        /// Whose ticket is there.
        other: String,
    },
    /// There is no ticket in the credentials cache, and no keytab.
    #[error("the credentials cache of this process has none: {said}. Run kinit, or set sasl.keytab")]
    NoneCached {
        /// The words of the Kerberos library.
        said: String,
    },
    /// There is a ticket, but none for this broker.
    #[error("for {service}/{host} (sasl.service, and the host that the broker advertises): {said}")]
    NoneForService {
        /// The first part of the broker's principal.
        service: String,
        /// Its host.
        host: String,
        /// The words of the Kerberos library.
        said: String,
    },
}
