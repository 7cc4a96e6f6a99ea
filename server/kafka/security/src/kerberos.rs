//! Kerberos (GSSAPI, RFC 4752), by the library of this machine: tickets, and what a login says with them.
//!
//! - A ticket comes from a keytab, by `kinit`, which the library has no safe call for; or it is there already. Either
//!   way it is in the credentials cache of this process (`KRB5CCNAME`), because librdkafka looks there and nowhere else.
//! - `kinit` runs without a shell, once for all connections of a cluster, and again when half of a ticket's life is over.
//!   It never replaces somebody else's ticket.
//! - What fails is told again for half a minute before the KDC is asked anew: with a keytab that does not fit, each
//!   attempt counts against the account. With another keytab it is asked at once.
//! - The library asks the KDC in the middle of its calls, so all of them are made on threads that may wait.

mod kinit;
mod negotiation;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use libgssapi::credential::{Cred, CredUsage};
use libgssapi::error::Error;
use libgssapi::name::Name;
use libgssapi::oid::{GSS_MECH_KRB5, GSS_NT_KRB5_PRINCIPAL, OidSet};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

pub(crate) use self::negotiation::Negotiation;
use crate::gate::PAUSE;
use crate::{Sasl, TicketError, Unusable};

/// How long the KDC may take until a login goes on without it.
const DEADLINE: Duration = Duration::from_secs(10);
/// What a ticket has left when it is renewed, if nobody knows how long it was good for.
const ENOUGH: Duration = Duration::from_secs(600);
/// A ticket that is good for less than this may be over before it is shown.
const LEAST: Duration = Duration::from_secs(5);

/// One at a time runs `kinit` in this process: they write the same cache.
static KINIT: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Where the tickets of one cluster come from. There should be one for all connections of a cluster, so that they share
/// what it gets; a clone is another handle of the same.
#[derive(Clone, Debug)]
pub struct Tickets {
    kept: Arc<Kept>,
}

#[derive(Debug)]
struct Kept {
    service: String,
    principal: Option<String>,
    keytab: Option<PathBuf>,
    known: tokio::sync::Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// For how long the last ticket was good when it was new.
    life: Option<Duration>,
    /// How `kinit` failed, when, and with which keytab.
    failed: Option<(TicketError, Instant, u64)>,
}

/// Whether this build has Kerberos.
///
/// # Errors
/// Never in this build.
pub fn kerberos_built_in() -> Result<(), Unusable> {
    Ok(())
}

impl Tickets {
    /// The tickets of a login; `None` for mechanisms without.
    #[must_use]
    pub fn of(sasl: &Sasl) -> Option<Self> {
        let Sasl::Gssapi { service, principal, keytab } = sasl else { return None };
        let (service, principal, keytab) = (service.clone(), principal.clone(), keytab.clone());
        Some(Self { kept: Arc::new(Kept { service, principal, keytab, known: tokio::sync::Mutex::default() }) })
    }

    /// Sees to it that there is a ticket to log in with, and that it will be good for a while. To be called before each
    /// login, and from time to time where somebody else logs in by the same cache. Needs a runtime of tokio with its timer
    /// and processes.
    ///
    /// # Errors
    /// There is none: see [`TicketError`].
    pub async fn ready(&self) -> Result<(), TicketError> {
        let mut known = self.kept.known.lock().await;
        let found = self.found().await;
        let (Some(keytab), Some(principal)) = (&self.kept.keytab, &self.kept.principal) else {
            return found.map(drop).map_err(|said| TicketError::NoneCached { said });
        };
        let left = found.unwrap_or_default();
        if left >= known.life.map_or(ENOUGH, |life| life / 2) {
            return Ok(());
        }
        let number = number(keytab);
        let failed = known.failed.as_ref().filter(|(_, at, with)| at.elapsed() < PAUSE && *with == number);
        let renewed = match failed {
            Some((error, ..)) => Err(error.clone()),
            None => {
                let renewed = renew(principal, keytab).await;
                known.failed = renewed.as_ref().err().map(|error| {
                    // Once for each time it is asked; logins that hear it again do not log it again.
                    tracing::warn!("{error}");
                    (error.clone(), Instant::now(), number)
                });
                renewed
            }
        };
        match renewed {
            Ok(()) => {
                let found = self.found().await;
                known.life = found.as_ref().ok().copied();
                found.map(drop).map_err(|said| TicketError::NoneCached { said })
            }
            // The one there is will do for now.
            Err(_) if left > LEAST => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// For how long the ticket in the cache is still good, or the library's words.
    async fn found(&self) -> Result<Duration, String> {
        let principal = self.kept.principal.clone();
        let found = spawn_blocking(move || {
            let credentials = credentials(principal.as_deref()).map_err(|error| words(&error))?;
            match credentials.lifetime() {
                Ok(left) if left.is_zero() => Err("the ticket has expired".to_owned()),
                other => other.map_err(|error| words(&error)),
            }
        });
        found.await.unwrap_or_else(|_| Err(ENDING.to_owned()))
    }

    /// Begins a login at a broker, by the name that it is known by.
    ///
    /// # Errors
    /// There is no ticket, or none for that broker.
    pub(crate) async fn negotiate(&self, host: &str) -> Result<Negotiation, TicketError> {
        self.ready().await?;
        let (principal, service, host) = (self.kept.principal.clone(), self.kept.service.clone(), host.to_owned());
        let target = format!("{service}@{host}");
        let begun = spawn_blocking(move || {
            let credentials = credentials(principal.as_deref()).map_err(|error| words(&error))?;
            Negotiation::begin(credentials, &target).map_err(|error| words(&error))
        });
        let none = |said| TicketError::NoneForService { service: self.kept.service.clone(), host, said };
        match timeout(DEADLINE, begun).await {
            Ok(begun) => begun.unwrap_or_else(|_| Err(ENDING.to_owned())).map_err(none),
            Err(_) => Err(none(format!("no answer within {} s", DEADLINE.as_secs()))),
        }
    }

    /// A number that changes with the keytab.
    pub(crate) fn number(&self) -> u64 {
        self.kept.keytab.as_deref().map_or(0, number)
    }
}

const ENDING: &str = "Unstuck is ending";

/// A number that changes when the file does.
fn number(file: &Path) -> u64 {
    let Ok(metadata) = std::fs::metadata(file) else { return 0 };
    let changed = metadata.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    let changed = changed.map_or(0, |since| since.as_nanos() & u128::from(u64::MAX));
    u64::try_from(changed).unwrap_or_default() ^ metadata.len().rotate_left(48)
}

/// What is in the credentials cache: of that principal, or of whomever it is of.
fn credentials(principal: Option<&str>) -> Result<Cred, Error> {
    let name = principal.map(|name| Name::new(name.as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL))).transpose()?;
    let mut mechanisms = OidSet::new();
    mechanisms.add(GSS_MECH_KRB5)?;
    Cred::acquire(name.as_ref(), None, CredUsage::Initiate, Some(&mechanisms))
}

/// Has `kinit` get a ticket, unless that would replace somebody else's.
async fn renew(principal: &str, keytab: &Path) -> Result<(), TicketError> {
    let _alone = KINIT.lock().await;
    if !kinit::keeps_several() {
        let wanted = principal.to_owned();
        let other = spawn_blocking(move || other(&wanted)).await.ok().flatten();
        if let Some(other) = other {
            return Err(TicketError::CacheOfAnother { principal: principal.to_owned(), other });
        }
    }
    let run = kinit::run(principal, keytab, DEADLINE).await;
    run.map_err(|said| TicketError::Refused { principal: principal.to_owned(), keytab: keytab.to_owned(), said })
}

/// Who else has a good ticket in the cache.
fn other(wanted: &str) -> Option<String> {
    let theirs = credentials(None).ok().filter(|found| found.lifetime().is_ok_and(|left| !left.is_zero()))?;
    let shown = |name: &Name| name.display_name().ok().map(|text| String::from_utf8_lossy(&text).into_owned());
    let theirs = shown(&theirs.name().ok()?)?;
    // With its realm, which the configuration may leave out.
    let wanted = Name::new(wanted.as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL)).ok();
    let wanted = wanted.and_then(|name| name.canonicalize(Some(GSS_MECH_KRB5)).ok());
    (wanted.as_ref().and_then(shown).as_ref() != Some(&theirs)).then_some(theirs)
}

/// The library's words. Only the thread on which something failed has all of them.
fn words(error: &Error) -> String {
    // "Unspecified GSS failure.  Minor code may provide more information (Ticket expired)": what is in brackets counts.
    let text = error.to_string();
    let inner = text.strip_prefix("Unspecified GSS failure.  Minor code may provide more information");
    let inner = inner.and_then(|rest| rest.trim().strip_prefix('(')?.strip_suffix(')'));
    inner.unwrap_or(&text).trim().to_owned()
}
