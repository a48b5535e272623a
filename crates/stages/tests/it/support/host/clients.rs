//! The production clients of this host, pointed at the simulated services.

use std::sync::Arc;

use async_trait::async_trait;
use mirilla_domain::forge_place::GitlabPlace;
use mirilla_domain::ids::{Forge, InstallationId, JobId, RepoId};
use mirilla_forge::github::{
    AppAuth, GithubReader, GithubResolver, GithubSettings, GithubWriter, Identity, Marks, Minter,
    Whoami,
};
use mirilla_forge::gitlab;
use mirilla_forge::{JobTokens, Reader, ResolveTokens, TokensFrom, WriteToken, Writer};
use mirilla_local::LocalLedger;
use mirilla_model::{AnthropicModel, AnthropicSettings};
use mirilla_ports::message::Message;
use mirilla_ports::tokens::{MintRequest, MintTokens, NoToken};
use mirilla_ports::{Clock, Ledger as _};
use mirilla_sim::Scope;
use mirilla_stages::mint::{self, Place, Reach};
use secrecy::SecretString;

use super::Host;

impl Host {
    pub(super) fn github_settings(&self) -> Arc<GithubSettings> {
        let mut settings = GithubSettings::parse(&self.sim.github_api_url()).unwrap();
        settings.archive_hosts = vec![
            self.sim
                .github()
                .archive_url()
                .trim_start_matches("http://")
                .to_owned(),
        ];
        Arc::new(settings)
    }

    /// The App itself.
    pub(super) fn app(&self) -> Minter {
        let settings = self.github_settings();
        let app = AppAuth::with_pem("4242", &mirilla_sim::TEST_APP_KEY.to_owned().into()).unwrap();
        Minter::new(
            settings.client().unwrap(),
            settings,
            app,
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        )
    }

    pub(super) async fn minter(&self, job: &JobId) -> (Arc<Minter>, RepoId, InstallationId) {
        let row = self.ledger().job(job).await.unwrap().unwrap();
        let minter = Arc::new(self.app());
        (minter, row.key.repo, row.installation.unwrap())
    }

    /// The tokens for a message, as the minter's host gives them.
    async fn place(&self, message: &Message, reach: Reach) -> Result<Place, NoToken> {
        let request = MintRequest {
            job: message.job().clone(),
            pull_request: message.pull_request().copied(),
            fresh: false,
        };
        mint::place(self.ledger(), &request, reach, self.now()).await
    }

    /// What a host does with the operator's two tokens of GitLab.
    fn gitlab(&self, scope: Scope, message: &Message) -> (gitlab::Access, JobTokens) {
        let lab = self.sim.gitlab();
        let place = GitlabPlace {
            url: lab.url(),
            extra_ca_pem: None,
        };
        let (clock, entropy) = (Arc::clone(&self.clock), Arc::clone(&self.entropy));
        let access = gitlab::Access::of_operator(&place, clock, entropy).unwrap();
        let token = lab.create_token(&self.town.bot(), scope);
        let tokens = JobTokens::of(TokensFrom::Fixed(token.into()), message);
        (access, tokens)
    }

    pub(super) async fn reader(&self, message: &Message) -> Reader {
        if self.town.place.forge() == Forge::Gitlab {
            let (access, tokens) = self.gitlab(Scope::ReadApi, message);
            return Reader::Gitlab(access.reader(tokens));
        }
        let place = self.place(message, Reach::Read).await.unwrap();
        let settings = self.github_settings();
        let minter = Arc::new(self.app());
        let tokens = Arc::new(minter.source(place.repo, place.installation));
        Reader::Github(GithubReader::new(
            settings.client().unwrap(),
            settings,
            tokens,
            Whoami::Known(Identity::of_app("mirilla")),
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        ))
    }

    /// A poster with a plain token instead of an App: it sets commit statuses.
    fn plain_writer(&self, login: &str, token: &str) -> GithubWriter {
        let settings = self.github_settings();
        let token = WriteToken::plain(token.to_owned().into());
        let writer = GithubWriter::new(
            settings.client().unwrap(),
            settings,
            Arc::new(token),
            Whoami::Known(Identity::new(login, None)),
            Arc::default(),
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        );
        writer.with_marks(Marks::Statuses)
    }

    pub(super) async fn writer(&self, message: &Message) -> Writer {
        if self.town.place.forge() == Forge::Gitlab {
            let scope = if self.may_write {
                Scope::Api
            } else {
                Scope::ReadApi
            };
            let (access, tokens) = self.gitlab(scope, message);
            return Writer::Gitlab(access.writer(tokens));
        }
        if let Some((login, token)) = &self.plain_token {
            return Writer::Github {
                half: self.plain_writer(login, token),
                resolver: None,
            };
        }
        // A stale message finds no token here as it does there; then it asks for nothing.
        let place = match self.place(message, Reach::Write).await {
            Ok(place) => place,
            Err(_) => self.place(message, Reach::Read).await.unwrap(),
        };
        let settings = self.github_settings();
        let minter = Arc::new(self.app());
        let tokens = Arc::new(minter.source(place.repo, place.installation));
        let half = GithubWriter::new(
            settings.client().unwrap(),
            settings,
            tokens,
            Whoami::Known(Identity::of_app("mirilla")),
            Arc::default(),
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        );
        Writer::Github {
            half,
            resolver: None,
        }
    }

    /// What resolves threads on GitHub if the operator opted into it, with tokens from a minter that looks the job
    /// up when it is asked.
    pub(super) fn resolver(&self, message: &Message) -> Option<GithubResolver> {
        if !self.resolve_threads {
            return None;
        }
        let settings = self.github_settings();
        let desk = ResolveDesk {
            ledger: LocalLedger::open(&self.dir().ledger()).unwrap(),
            app: self.app(),
            clock: Arc::clone(&self.clock),
        };
        let from = TokensFrom::Minter(Arc::new(desk));
        Some(GithubResolver::new(
            settings.client().unwrap(),
            settings,
            Arc::new(ResolveTokens::of(from, message)),
            Arc::default(),
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        ))
    }

    pub(super) fn model(&self) -> AnthropicModel {
        let messages = self.sim.messages();
        let settings = AnthropicSettings::new(
            messages.url().parse().unwrap(),
            messages.api_key().to_owned().into(),
            self.policy.model.clone(),
        );
        AnthropicModel::new(settings, Arc::clone(&self.clock), Arc::clone(&self.entropy)).unwrap()
    }
}

/// The minter of tokens that resolve threads.
struct ResolveDesk {
    ledger: LocalLedger,
    app: Minter,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl MintTokens for ResolveDesk {
    async fn mint(&self, request: &MintRequest) -> Result<SecretString, NoToken> {
        let place = mint::place(&self.ledger, request, Reach::Resolve, self.clock.now()).await?;
        let minted = self.app.resolve(place.repo, place.installation).await;
        minted
            .map(|token| token.secret().clone())
            .map_err(|error| NoToken::from(&error))
    }
}
