//! TLS of Unstuck's own, by rustls with ring. A certificate that is renewed in its file is used from then on.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsFiles;

/// How often is looked whether the files have changed.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The certificate and its key.
pub(crate) struct Tls {
    files: TlsFiles,
    read: Mutex<Read>,
    look_every: Duration,
}

struct Read {
    acceptor: TlsAcceptor,
    stamps: [Option<SystemTime>; 2],
    looked: Instant,
}

/// The key is not shown.
impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tls").field(&self.files.certificate).finish()
    }
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// One cannot be read, holds something else, or they do not belong together; a sentence says which.
    pub(crate) fn open(files: &TlsFiles) -> Result<Self, String> {
        Self::looking_every(files, LOOK_EVERY)
    }

    /// As [`Self::open`], with another pause between looks at the files.
    pub(super) fn looking_every(files: &TlsFiles, look_every: Duration) -> Result<Self, String> {
        let stamps = stamps(files);
        let read = Read { acceptor: acceptor(files)?, stamps, looked: Instant::now() };
        Ok(Self { files: files.clone(), read: Mutex::new(read), look_every })
    }

    /// For one connection, with the certificate as it is now.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if known.looked.elapsed() >= self.look_every {
            known.looked = Instant::now();
            let stamps = stamps(&self.files);
            if stamps != known.stamps {
                match acceptor(&self.files) {
                    Ok(acceptor) => {
                        tracing::info!(file = %self.files.certificate.display(), "the certificate was read again");
                        known.acceptor = acceptor;
                        known.stamps = stamps;
                    }
                    // Perhaps only one of the files is new yet: it is tried again.
                    Err(why) => {
                        tracing::warn!("the certificate is not taken over, the one before goes on to hold: {why}")
                    }
                }
            }
        }
        known.acceptor.clone()
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, String> {
    let wrong = |path: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(&files.certificate, &error))?;
    if certificates.is_empty() {
        return Err(wrong(&files.certificate, &"there is no certificate in it (PEM)"));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| wrong(&files.key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        // TLS 1.2 and 1.3, with the suites that rustls holds for good.
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(certificates, key);
    let mut config = config.map_err(|error| wrong(&files.certificate, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn stamps(files: &TlsFiles) -> [Option<SystemTime>; 2] {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|about| about.modified()).ok();
    [changed(&files.certificate), changed(&files.key)]
}
