//! Whom a connection to AWS believes.
//!
//! A function's cold start spent a third of its processor time on reading the machine's 140 roots; AWS's endpoints
//! chain to five, which are compiled in. The machine's own are read where that may not hold: for a person's
//! command line, for an address that stands in for AWS over TLS, and in partitions whose authorities are not known
//! to be these.
//!
//! **Invariant:** nothing here makes a connection believe more than the machine would.

use aws_smithy_http_client::tls::TrustStore;

/// What the endpoints of the partitions `aws` and `aws-us-gov` chain to.
const AMAZON: &[u8] = include_bytes!("roots/amazon.pem");
/// Regions of other partitions.
const ELSEWHERE: [&str; 4] = ["cn-", "us-iso", "eu-iso", "eusc-"];

/// Which roots count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Roots {
    /// Amazon's alone.
    Amazon,
    /// The machine's.
    Machine,
}

impl Roots {
    /// Chooses for a function: by its region, and by the address that stands in for AWS, if one does.
    pub(crate) fn of(region: &str, endpoint: Option<&str>) -> Self {
        let elsewhere = ELSEWHERE.iter().any(|start| region.starts_with(start));
        let stood_in_for = endpoint.is_some_and(|url| !url.starts_with("http://"));
        if elsewhere || stood_in_for {
            Self::Machine
        } else {
            Self::Amazon
        }
    }

    pub(crate) fn store(self) -> TrustStore {
        match self {
            Self::Amazon => TrustStore::empty().with_pem_certificate(AMAZON),
            Self::Machine => TrustStore::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn amazons_roots_are_believed_where_amazon_answers_and_nowhere_else() {
        for region in [
            "us-east-1",
            "us-gov-west-1",
            "ap-southeast-5",
            "mx-central-1",
        ] {
            assert_eq!(Roots::of(region, None), Roots::Amazon, "{region}");
        }
        for region in [
            "cn-north-1",
            "us-isob-east-1",
            "eu-isoe-west-1",
            "eusc-de-east-1",
        ] {
            assert_eq!(Roots::of(region, None), Roots::Machine, "{region}");
        }
        let stands_in = Some("https://aws.example");
        assert_eq!(Roots::of("eu-west-1", stands_in), Roots::Machine);
    }

    /// As <https://www.amazontrust.com/repository/> publishes them.
    #[test]
    fn compiled_in_roots_are_those_that_are_published() {
        let published = [
            "8ecde6884f3d87b1125ba31ac3fcb13d7016de7f57cc904fe1cb97c6ae98196e",
            "1ba5b2aa8c65401a82960118f80bec4f62304d83cec4713a19c39c011ea46db4",
            "18ce6cfe7bf14e60b2e347b8dfe868cb31d02ebb3ada271569f50343b46db3a4",
            "e35d28419ed02025cfa69038cd623962458da5c695fbdea3c22b0bfb25897092",
            "568d6905a2c88708a4b3025190edcfedb1974a606a13c6e5290fcb2ae63edab5",
        ];
        let text = std::str::from_utf8(AMAZON).unwrap();
        let found: Vec<String> = text
            .split("-----BEGIN CERTIFICATE-----")
            .skip(1)
            .map(|rest| {
                let (body, _) = rest.split_once("-----END CERTIFICATE-----").unwrap();
                let body: String = body.split_whitespace().collect();
                let der = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, body);
                hex::encode(Sha256::digest(der.unwrap()))
            })
            .collect();
        assert_eq!(found, published);
    }
}
