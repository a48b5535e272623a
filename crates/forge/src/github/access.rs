//! Both halves for one job after the other, from the operator's settings.

use std::fmt;
use std::sync::Arc;

use mirilla_domain::forge_place::GithubPlace;
use mirilla_http::Client;
use mirilla_ports::{Clock, Entropy};

use super::{
    AppAuth, GithubReader, GithubResolver, GithubSettings, GithubSettingsError, GithubWriter,
    Identity, Marks, Minter, Whoami,
};
use crate::gate::WriteGate;
use crate::github::api::{Api, Bearer};
use crate::{JobTokens, ResolveTokens};

/// What readers and writers share: one client, and one gate that keeps writes apart.
pub struct Access {
    pub(crate) client: Client,
    pub(crate) settings: Arc<GithubSettings>,
    whoami: Whoami,
    gate: Arc<WriteGate>,
    pub(crate) clock: Arc<dyn Clock>,
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
    /// Prepares what calls the operator's GitHub.
    pub fn of_operator(
        place: &GithubPlace,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, GithubSettingsError> {
        let settings = GithubSettings::of_operator(place)?;
        Self::new(settings, place.login.clone(), clock, entropy)
    }

    /// Prepares the client for the operator's hosts and no other. `login` is the one that our own
    /// comments carry; without it the forge is asked.
    pub fn new(
        settings: GithubSettings,
        login: Option<String>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, GithubSettingsError> {
        Ok(Self {
            client: settings.client()?,
            settings: Arc::new(settings),
            whoami: login.map_or(Whoami::Ask, |login| {
                Whoami::Known(Identity::new(login, None))
            }),
            gate: Arc::new(WriteGate::default()),
            clock,
            entropy,
        })
    }

    /// Returns the API with a credential.
    pub(crate) fn api(&self, bearer: Arc<dyn Bearer>) -> Api {
        Api::new(
            self.client.clone(),
            Arc::clone(&self.settings),
            bearer,
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        )
    }

    /// Returns the reading half for one job.
    pub fn reader(&self, tokens: JobTokens) -> GithubReader {
        GithubReader::new(
            self.client.clone(),
            Arc::clone(&self.settings),
            Arc::new(tokens),
            self.whoami.clone(),
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        )
    }

    /// Returns the writing half for one job.
    ///
    /// With a plain token its checks are commit statuses: check runs are for Apps only.
    pub fn writer(&self, tokens: JobTokens) -> GithubWriter {
        let marks = if tokens.is_plain() {
            Marks::Statuses
        } else {
            Marks::Runs
        };
        let writer = GithubWriter::new(
            self.client.clone(),
            Arc::clone(&self.settings),
            Arc::new(tokens),
            self.whoami.clone(),
            Arc::clone(&self.gate),
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        );
        writer.with_marks(marks)
    }

    /// Returns what resolves threads for one job. A plain token is not revoked: it is the operator's.
    pub fn resolver(&self, tokens: ResolveTokens) -> GithubResolver {
        let is_plain = tokens.is_plain();
        let resolver = GithubResolver::new(
            self.client.clone(),
            Arc::clone(&self.settings),
            Arc::new(tokens),
            Arc::clone(&self.gate),
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        );
        if is_plain {
            resolver.keeping_its_token()
        } else {
            resolver
        }
    }

    /// Returns a minter, which holds the App's credential.
    pub fn minter(&self, app: AppAuth) -> Minter {
        Minter::new(
            self.client.clone(),
            Arc::clone(&self.settings),
            app,
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        )
    }
}
