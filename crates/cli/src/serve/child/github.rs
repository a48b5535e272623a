//! GitHub's adapters from what a child was told.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use mirilla_forge::github::{
    GithubReader, GithubSettings, GithubWriter, Identity, Whoami, WriteGate,
};
use mirilla_http::Client;
use mirilla_ports::{Clock, Entropy};

use super::JobTokens;
use crate::settings::GithubAccess;

/// What readers and writers share: one client, and one gate that keeps writes apart.
pub(super) struct Access {
    client: Client,
    settings: Arc<GithubSettings>,
    whoami: Whoami,
    gate: Arc<WriteGate>,
}

impl Access {
    /// Prepares the client for the operator's host and no other.
    pub(super) fn new(access: &GithubAccess) -> Result<Self> {
        let mut settings = GithubSettings::new(access.api_url.clone())
            .context("MIRILLA_GITHUB_API_URL cannot be used")?;
        if !access.archive_hosts.is_empty() {
            settings.archive_hosts.clone_from(&access.archive_hosts);
        }
        let client = settings.client()?;
        let whoami = match &access.login {
            Some(login) => Whoami::Known(Identity::new(login.clone(), None)),
            None => Whoami::Ask,
        };
        Ok(Self {
            client,
            settings: Arc::new(settings),
            whoami,
            gate: Arc::new(WriteGate::default()),
        })
    }

    /// Returns the reading half for one job.
    pub(super) fn reader(
        &self,
        tokens: JobTokens,
        clock: &Arc<dyn Clock>,
        entropy: &Arc<dyn Entropy>,
    ) -> GithubReader {
        GithubReader::new(
            self.client.clone(),
            Arc::clone(&self.settings),
            Arc::new(tokens),
            self.whoami.clone(),
            Arc::clone(clock),
            Arc::clone(entropy),
        )
    }

    /// Returns the writing half for one job.
    pub(super) fn writer(
        &self,
        tokens: JobTokens,
        clock: &Arc<dyn Clock>,
        entropy: &Arc<dyn Entropy>,
    ) -> GithubWriter {
        GithubWriter::new(
            self.client.clone(),
            Arc::clone(&self.settings),
            Arc::new(tokens),
            self.whoami.clone(),
            Arc::clone(&self.gate),
            Arc::clone(clock),
            Arc::clone(entropy),
        )
    }

    /// Returns the client, for a minter.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the settings, for a minter.
    pub(super) fn settings(&self) -> Arc<GithubSettings> {
        Arc::clone(&self.settings)
    }
}
