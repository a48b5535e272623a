//! Accounts, installations and personal tokens.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::github::Github;
use crate::github::render::node_id;
use crate::github::world::{AccountKind, Holder, Installation, Level, Role, Token, World};
use crate::state::StateError;

/// How the App is installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallOptions {
    /// The chosen repositories, `owner/name`; `None` means all, now and later.
    pub repos: Option<Vec<String>>,
    /// The granted permissions; `None` means those the App asks for.
    pub permissions: Option<Vec<(String, String)>>,
}

impl Github {
    /// Creates an account; an existing one stays as it is.
    pub fn add_account(&self, login: &str, kind: AccountKind) {
        self.world().account_of(login, kind);
    }

    /// Makes somebody a member of an organization, which is created if it is new.
    pub fn add_member(&self, organization: &str, login: &str) {
        let mut world = self.world();
        world.account(login);
        world.account_of(organization, AccountKind::Organization);
        if let Some(account) = world.accounts.get_mut(organization) {
            account.members.insert(login.to_owned());
        }
    }

    /// Makes a member keep the membership to themselves: then it shows in no association.
    pub fn hide_membership(&self, organization: &str, login: &str) {
        self.add_member(organization, login);
        if let Some(account) = self.world().accounts.get_mut(organization) {
            account.private_members.insert(login.to_owned());
        }
    }

    /// Gives somebody a role in a repository.
    pub fn set_role(&self, repo: &str, login: &str, role: Role) -> Result<(), StateError> {
        let mut world = self.world();
        world.account(login);
        world
            .repo_named_mut(repo)?
            .roles
            .insert(login.to_owned(), role);
        Ok(())
    }

    /// Installs the App on an account and returns the installation's number.
    pub fn install(&self, owner: &str, options: InstallOptions) -> Result<u64, StateError> {
        let mut world = self.world();
        world.account(owner);
        let wanted = options
            .permissions
            .unwrap_or_else(|| self.options().app.permissions.clone());
        let mut permissions = std::collections::BTreeMap::new();
        for (name, level) in wanted {
            let level = Level::parse(&level)
                .ok_or_else(|| StateError::conflict(format!("{level} is not a level")))?;
            permissions.insert(name, level);
        }
        let selected = match options.repos {
            None => None,
            Some(names) => {
                let mut chosen = BTreeSet::new();
                for name in names {
                    chosen.insert(world.repo_named(&name)?.id);
                }
                Some(chosen)
            }
        };
        let id = world.next_id();
        let installation = Installation {
            id,
            owner: owner.to_owned(),
            selected,
            permissions,
            suspended: false,
            created: self.now(),
        };
        world.installations.insert(id, installation);
        self.installation_event(&mut world, id, "created", owner);
        Ok(id)
    }

    /// Removes an installation; its tokens stop working.
    pub fn uninstall(&self, installation: u64, by: &str) -> Result<(), StateError> {
        let mut world = self.world();
        if !world.installations.contains_key(&installation) {
            return Err(StateError::missing(format!("installation {installation}")));
        }
        self.installation_event(&mut world, installation, "deleted", by);
        world.installations.remove(&installation);
        world
            .tokens
            .retain(|_, token| token.holder != Holder::Installation(installation));
        Ok(())
    }

    /// Suspends an installation, or lifts that.
    pub fn suspend(&self, installation: u64, suspended: bool, by: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let found = world.installations.get_mut(&installation);
        let found =
            found.ok_or_else(|| StateError::missing(format!("installation {installation}")))?;
        found.suspended = suspended;
        let action = if suspended { "suspend" } else { "unsuspend" };
        self.installation_event(&mut world, installation, action, by);
        Ok(())
    }

    /// Takes a repository out of an installation's selection.
    pub fn deselect(&self, installation: u64, repo: &str, by: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let id = world.repo_named(repo)?.id;
        let all: BTreeSet<u64> = world.repos.keys().copied().collect();
        let found = world.installations.get_mut(&installation);
        let found =
            found.ok_or_else(|| StateError::missing(format!("installation {installation}")))?;
        found.selected.get_or_insert(all).remove(&id);
        let payload = {
            let show = self.show(&world);
            let repo = world.repo_named(repo)?;
            let shown = world
                .installations
                .get(&installation)
                .map(|i| show.installation_in_seconds(i));
            json!({
                "action": "removed",
                "installation": shown,
                "repository_selection": "selected",
                "repositories_added": [],
                "repositories_removed": [{
                    "id": repo.id, "node_id": node_id("Repository", repo.id), "name": repo.name,
                    "full_name": repo.full_name(), "private": repo.private,
                }],
                "requester": null,
                "sender": show.user(by),
            })
        };
        self.queue(
            &mut world,
            "installation_repositories",
            payload,
            Some(installation),
            None,
        );
        Ok(())
    }

    /// Grants an installation a permission, as an owner does who accepts new ones.
    pub fn grant(&self, installation: u64, name: &str, level: &str) -> Result<(), StateError> {
        let mut world = self.world();
        let level = Level::parse(level)
            .ok_or_else(|| StateError::conflict(format!("{level} is not a level")))?;
        let found = world.installations.get_mut(&installation);
        let found =
            found.ok_or_else(|| StateError::missing(format!("installation {installation}")))?;
        found.permissions.insert(name.to_owned(), level);
        let owner = found.owner.clone();
        self.installation_event(&mut world, installation, "new_permissions_accepted", &owner);
        Ok(())
    }

    /// Creates a fine-grained token of a person and returns it.
    ///
    /// `permissions` are pairs of name and level; `repos` limits where it works.
    pub fn create_pat(
        &self,
        login: &str,
        permissions: &[(&str, &str)],
        repos: Option<&[&str]>,
    ) -> Result<String, StateError> {
        let mut world = self.world();
        world.account(login);
        let mut granted = std::collections::BTreeMap::new();
        granted.insert("metadata".to_owned(), Level::Read);
        for (name, level) in permissions {
            let level = Level::parse(level)
                .ok_or_else(|| StateError::conflict(format!("{level} is not a level")))?;
            granted.insert((*name).to_owned(), level);
        }
        let repos = match repos {
            None => None,
            Some(names) => {
                let mut chosen = BTreeSet::new();
                for name in names {
                    chosen.insert(world.repo_named(name)?.id);
                }
                Some(chosen)
            }
        };
        let number = world.next_id();
        // Looks random, so that pieces of it are found nowhere else.
        let digest = Sha256::digest(format!("simulated personal token {number}"));
        let tail = URL_SAFE_NO_PAD.encode(digest).replace(['-', '_'], "x");
        let text = format!("github_pat_11SIMULATED0_madeUp{tail}");
        world.tokens.insert(
            text.clone(),
            Token {
                holder: Holder::User(login.to_owned()),
                permissions: granted,
                repos,
                expires: None,
            },
        );
        Ok(text)
    }

    fn installation_event(&self, world: &mut World, id: u64, action: &str, by: &str) {
        world.account(by);
        let show = self.show(world);
        let Some(installation) = world.installations.get(&id) else {
            return;
        };
        let shown = if action.ends_with("suspend") {
            show.installation(installation)
        } else {
            show.installation_in_seconds(installation)
        };
        let repos: Vec<Value> = world
            .repos
            .values()
            .filter(|repo| repo.owner == installation.owner && installation.covers(repo.id))
            .map(|repo| {
                json!({
                    "id": repo.id, "node_id": node_id("Repository", repo.id), "name": repo.name,
                    "full_name": repo.full_name(), "private": repo.private,
                })
            })
            .collect();
        let payload = json!({
            "action": action,
            "installation": shown,
            "repositories": repos,
            "requester": null,
            "sender": show.user(by),
        });
        self.queue(world, "installation", payload, Some(id), None);
    }
}
