//! Who pays for a review, and how much at the most.
//!
//! **Invariant:** what outsiders spend is taken from the repository's day and the account's month as well,
//! so that their share is a part of those and never an addition to them.

use serde::{Deserialize, Serialize};

use super::PicoUsd;
use crate::code::SkipReason;
use crate::ids::{Account, JobId, RepoId};
use crate::job::Job;

/// A purse: money that a review, a repository's day or an account's month may spend.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purse {
    /// One review (one job, all attempts).
    Review(JobId),
    /// One repository on one UTC day (days since the epoch).
    RepositoryDay(RepoId, u32),
    /// One account in one UTC month (months since year 0).
    AccountMonth(Account, u32),
    /// What all outsiders together may take of a repository's day.
    OutsidersDay(RepoId, u32),
    /// What all outsiders together may take of an account's month.
    OutsidersMonth(Account, u32),
}

impl Purse {
    /// Returns the purse's key in a store.
    pub fn key(&self) -> String {
        match self {
            Self::Review(job) => format!("review/{job}"),
            Self::RepositoryDay(repo, day) => format!("repository/{repo}/{day}"),
            Self::AccountMonth(account, month) => format!("account/{account}/{month}"),
            Self::OutsidersDay(repo, day) => format!("outsiders-repository/{repo}/{day}"),
            Self::OutsidersMonth(account, month) => {
                format!("outsiders-account/{account}/{month}")
            }
        }
    }

    /// Returns why files are not read once this purse is used up.
    pub const fn skip_reason(&self) -> SkipReason {
        match self {
            Self::Review(_) | Self::RepositoryDay(..) | Self::AccountMonth(..) => {
                SkipReason::CostCap
            }
            Self::OutsidersDay(..) | Self::OutsidersMonth(..) => SkipReason::OutsidersShare,
        }
    }
}

/// A purse with the most it may spend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CappedPurse {
    /// Which purse.
    pub purse: Purse,
    /// The most that may ever be reserved and spent from it.
    pub cap: PicoUsd,
}

/// When money is spent: purses of another day or month are others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Whole UTC days since the epoch.
    pub day: u32,
    /// UTC months since year 0.
    pub month: u32,
}

/// What the operator lets reviews cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// The most one review may cost.
    pub review: PicoUsd,
    /// The most a repository may cost on one UTC day.
    pub repository_day: PicoUsd,
    /// The most an account may cost in one UTC month.
    pub account_month: PicoUsd,
    /// What outsiders may take of day and month, in percent; at 100 they have no purses of their own.
    pub outsider_percent: u8,
}

impl Caps {
    /// Returns the purses that pay for a job: all of them, or none, for each call.
    ///
    /// A job of an outsider also pays from what all outsiders share, unless somebody with write access
    /// asked for it.
    pub fn purses(&self, job: &Job, period: Period) -> Vec<CappedPurse> {
        let Period { day, month } = period;
        let repo = job.key.repo;
        let account = Account::parse(job.repo_name.owner()).ok();
        let capped = |purse, cap| CappedPurse { purse, cap };
        let mut purses = vec![
            capped(Purse::Review(job.id.clone()), self.review),
            capped(Purse::RepositoryDay(repo, day), self.repository_day),
        ];
        purses.extend(
            account
                .clone()
                .map(|account| capped(Purse::AccountMonth(account, month), self.account_month)),
        );
        if job.by_outsider && !job.sponsored && self.outsider_percent < 100 {
            let cap = self.outsiders(self.repository_day);
            purses.push(capped(Purse::OutsidersDay(repo, day), cap));
            purses.extend(account.map(|account| {
                let cap = self.outsiders(self.account_month);
                capped(Purse::OutsidersMonth(account, month), cap)
            }));
        }
        purses
    }

    /// Returns what outsiders may take of an amount, rounded down.
    fn outsiders(&self, of: PicoUsd) -> PicoUsd {
        let hundredths = u128::from(of.get()).saturating_mul(u128::from(self.outsider_percent));
        let share = hundredths.checked_div(100).unwrap_or(0);
        PicoUsd::new(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{BranchName, CommitSha, Forge, Generation, PrNumber, RepoName, Timestamp};
    use crate::job::JobKey;

    fn job() -> Job {
        let key = JobKey {
            forge: Forge::Github,
            repo: RepoId::new(7),
            pr: PrNumber::new(1),
            head: CommitSha::parse(&"a".repeat(40)).unwrap(),
            base_ref: BranchName::parse("main").unwrap(),
            generation: Generation::new(0),
        };
        let name = RepoName::parse("acme/shop").unwrap();
        Job::accepted(key, name, None, Timestamp::new(0), Timestamp::new(0))
    }

    fn paid(job: &Job, outsider_percent: u8) -> Vec<(String, String)> {
        let caps = Caps {
            review: PicoUsd::parse("1").unwrap(),
            repository_day: PicoUsd::parse("10").unwrap(),
            account_month: PicoUsd::parse("100").unwrap(),
            outsider_percent,
        };
        let period = Period { day: 20, month: 3 };
        let purses = caps.purses(job, period).into_iter();
        purses
            .skip(1)
            .map(|capped| (capped.purse.key(), capped.cap.exact()))
            .collect()
    }

    #[test]
    fn outsiders_share_a_part_of_day_and_month_unless_somebody_stands_in_for_them() {
        let row = |key: &str, cap: &str| (key.to_owned(), cap.to_owned());
        let all = vec![
            row("repository/7/20", "10.00"),
            row("account/acme/3", "100.00"),
        ];
        let mut shared = all.clone();
        shared.push(row("outsiders-repository/7/20", "2.00"));
        shared.push(row("outsiders-account/acme/3", "20.00"));
        let insider = job();
        let outsider = Job {
            by_outsider: true,
            ..insider.clone()
        };
        let sponsored = Job {
            sponsored: true,
            ..outsider.clone()
        };
        assert_eq!(paid(&insider, 20), all);
        assert_eq!(paid(&outsider, 20), shared);
        assert_eq!(paid(&sponsored, 20), all);
        assert_eq!(paid(&outsider, 100), all);
        assert_eq!(paid(&outsider, 0)[2].1, "0.00");
    }
}
