//! The operator's settings as they are given: a text, and some settings by themselves beside it.
//!
//! **Invariant:** a setting given by itself wins over the text, wherever the two are read.

use crate::money::PicoUsd;
use crate::settings::OperatorPolicy;

/// A setting that can be given by itself, as a variable or as a parameter of the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Single {
    /// [`OperatorPolicy::model`].
    Model,
    /// [`OperatorPolicy::trusted_bases`].
    TrustedBases,
    /// [`OperatorPolicy::max_usd`].
    ReviewUsd,
    /// [`OperatorPolicy::repository_day_usd`].
    RepositoryDayUsd,
    /// [`OperatorPolicy::account_month_usd`].
    AccountMonthUsd,
}

impl Single {
    /// Every one.
    pub const ALL: [Self; 5] = [
        Self::Model,
        Self::TrustedBases,
        Self::ReviewUsd,
        Self::RepositoryDayUsd,
        Self::AccountMonthUsd,
    ];

    /// Returns the environment variable's name.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Model => "MIRILLA_MODEL",
            Self::TrustedBases => "MIRILLA_TRUSTED_BASES",
            Self::ReviewUsd => "MIRILLA_REVIEW_USD",
            Self::RepositoryDayUsd => "MIRILLA_REPOSITORY_DAY_USD",
            Self::AccountMonthUsd => "MIRILLA_ACCOUNT_MONTH_USD",
        }
    }

    /// Returns the name of the template's parameter.
    pub const fn parameter(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::TrustedBases => "TrustedBases",
            Self::ReviewUsd => "ReviewUsd",
            Self::RepositoryDayUsd => "RepositoryDayUsd",
            Self::AccountMonthUsd => "AccountMonthUsd",
        }
    }

    /// Returns what it takes, in words.
    pub const fn form(self) -> &'static str {
        match self {
            Self::Model => "the id of a model",
            Self::TrustedBases => "branches, separated by commas",
            Self::ReviewUsd | Self::RepositoryDayUsd | Self::AccountMonthUsd => {
                "dollars such as `1.00`"
            }
        }
    }

    /// Sets it; returns whether the text is well-formed.
    fn set(self, policy: &mut OperatorPolicy, text: &str) -> bool {
        let dollars = match self {
            Self::Model => {
                text.clone_into(&mut policy.model);
                return true;
            }
            Self::TrustedBases => {
                let names = text.split(',').map(str::trim);
                let names = names.filter(|name| !name.is_empty());
                policy.trusted_bases = names.map(str::to_owned).collect();
                return true;
            }
            Self::ReviewUsd => &mut policy.max_usd,
            Self::RepositoryDayUsd => &mut policy.repository_day_usd,
            Self::AccountMonthUsd => &mut policy.account_month_usd,
        };
        PicoUsd::parse(text).is_some_and(|amount| {
            *dollars = amount;
            true
        })
    }
}

/// What of the operator's settings cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenProblem {
    /// The text is not TOML of that form; why, in one line.
    Text(String),
    /// A setting given by itself is not well-formed.
    Single(Single),
}

impl OperatorPolicy {
    /// Reads the text (TOML, as `mirilla config policy` prints it), if there is one, and then each setting
    /// that is given by itself; an empty one is not given. What cannot be read is as if it were not
    /// there, beside a problem.
    pub fn given(
        text: Option<&str>,
        single: impl Fn(Single) -> Option<String>,
    ) -> (Self, Vec<GivenProblem>) {
        let mut problems = Vec::new();
        let mut policy = Self::default();
        if let Some(text) = text {
            match toml::from_str(text) {
                Ok(read) => policy = read,
                Err(error) => {
                    let why = error.to_string();
                    let why: Vec<&str> = why.split_whitespace().collect();
                    problems.push(GivenProblem::Text(why.join(" ")));
                }
            }
        }
        for it in Single::ALL {
            let value = single(it).unwrap_or_default();
            let value = value.trim();
            if !value.is_empty() && !it.set(&mut policy, value) {
                problems.push(GivenProblem::Single(it));
            }
        }
        (policy, problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_by_itself_wins_over_the_text_and_that_over_the_defaults() {
        let text = "model = \"of-the-text\"\nmax-usd = 2\nrepository-day-usd = 3\ntrusted-bases = [\"old\"]\n";
        let single = |it: Single| match it {
            Single::Model => Some("by-itself".to_owned()),
            Single::TrustedBases => Some("main, release".to_owned()),
            Single::RepositoryDayUsd => Some(" ".to_owned()),
            _ => None,
        };
        let (policy, problems) = OperatorPolicy::given(Some(text), single);
        assert_eq!(problems, []);
        assert_eq!(policy.model, "by-itself");
        assert_eq!(policy.trusted_bases, ["main", "release"]);
        assert_eq!(policy.max_usd.exact(), "2.00");
        assert_eq!(policy.repository_day_usd.exact(), "3.00");
        let default = OperatorPolicy::default();
        assert_eq!(policy.account_month_usd, default.account_month_usd);
        assert_eq!(OperatorPolicy::given(None, |_| None), (default, Vec::new()));
    }

    #[test]
    fn turns_are_bounded() {
        let read = |text| OperatorPolicy::given(Some(text), |_| None);
        assert_eq!(read("max-turns = 0").0.max_turns, 0);
        assert_eq!(read("max-turns = 32").1, []);
        let (policy, problems) = read("max-turns = 33");
        assert_eq!(policy.max_turns, 8);
        let [GivenProblem::Text(why)] = problems.as_slice() else {
            panic!("{problems:?}");
        };
        assert!(
            why.contains("max-turns is 33; it is between 0 and 32"),
            "{why}"
        );
    }

    #[test]
    fn all_problems_are_told_at_once_and_leave_the_rest() {
        let single = |it: Single| match it {
            Single::ReviewUsd => Some("much".to_owned()),
            Single::AccountMonthUsd => Some("7.50".to_owned()),
            _ => None,
        };
        let (policy, problems) = OperatorPolicy::given(Some("max-usd =\nx"), single);
        let [
            GivenProblem::Text(why),
            GivenProblem::Single(Single::ReviewUsd),
        ] = problems.as_slice()
        else {
            panic!("{problems:?}");
        };
        assert!(!why.is_empty() && !why.contains('\n'), "{why}");
        assert_eq!(policy.max_usd, OperatorPolicy::default().max_usd);
        assert_eq!(policy.account_month_usd.exact(), "7.50");
    }
}
