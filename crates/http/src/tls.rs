//! TLS with compiled-in roots: the same trust on every machine, and no file read at start.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::error::SettingsError;

/// Returns the TLS settings of every client.
pub(crate) fn config(extra_ca_pem: Option<&str>) -> Result<ClientConfig, SettingsError> {
    let mut roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    if let Some(pem) = extra_ca_pem {
        let mut found = false;
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate.map_err(|e| SettingsError::ExtraCa(Box::new(e)))?;
            roots
                .add(certificate)
                .map_err(|e| SettingsError::ExtraCa(Box::new(e)))?;
            found = true;
        }
        if !found {
            return Err(SettingsError::ExtraCa(
                "there is no certificate in it".into(),
            ));
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| SettingsError::Setup(Box::new(e)))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // A ready-made configuration is used as it is: without this, HTTP/2 is never offered.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_certificates_must_be_certificates() {
        for pem in [
            "",
            "not a certificate",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            assert!(
                matches!(config(Some(pem)), Err(SettingsError::ExtraCa(_))),
                "{pem}"
            );
        }
        assert!(config(None).is_ok());
    }
}
