//! Both halves for one job after the other, from the operator's settings.

use std::fmt;
use std::sync::Arc;

use mirilla_domain::forge_place::GitlabPlace;
use mirilla_http::Client;
use mirilla_ports::{Clock, Entropy};

use super::known::Known;
use super::settings::GitlabSettings;
use super::{GitlabReader, GitlabSettingsError, GitlabWriter};
use crate::api::Bearer;
use crate::gitlab::api::{Api, ReadBearer, WriteBearer};
use crate::{JobTokens, WriteGate};

/// What readers and writers share: one client, one gate that keeps writes apart, and what is known of the instance.
pub struct Access {
    client: Client,
    settings: Arc<GitlabSettings>,
    known: Arc<Known>,
    gate: Arc<WriteGate>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Access {
    /// Prepares the client for the operator's instance and no other host.
    pub fn of_operator(
        place: &GitlabPlace,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, GitlabSettingsError> {
        let settings = GitlabSettings::of_operator(place)?;
        Ok(Self {
            client: settings.client()?,
            settings: Arc::new(settings),
            known: Arc::default(),
            gate: Arc::default(),
            clock,
            entropy,
        })
    }

    fn api(&self, bearer: Arc<dyn Bearer>) -> Api {
        Api::new(
            self.client.clone(),
            Arc::clone(&self.settings),
            bearer,
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        )
    }

    /// Returns the reading half for one job.
    pub fn reader(&self, tokens: JobTokens) -> GitlabReader {
        let api = self.api(Arc::new(ReadBearer(Arc::new(tokens))));
        GitlabReader::new(api, Arc::clone(&self.known), false)
    }

    /// Returns the writing half for one job.
    pub fn writer(&self, tokens: JobTokens) -> GitlabWriter {
        let api = self.api(Arc::new(WriteBearer(Arc::new(tokens))));
        let reader = GitlabReader::new(api.clone(), Arc::clone(&self.known), true);
        GitlabWriter::with_reader(api, reader, Arc::clone(&self.gate))
    }
}
