//! Signatures by a key that never leaves KMS.

use aws_sdk_kms::types::{KeySpec, KeyUsageType};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey};
use mirilla_aws::{KmsError, KmsSigner};

use crate::support::World;

#[tokio::test]
async fn signature_is_rs256_under_the_keys_public_half() {
    let world = World::start().await;
    let kms = world.aws.kms();
    let made = kms
        .create_key()
        .key_spec(KeySpec::Rsa2048)
        .key_usage(KeyUsageType::SignVerify)
        .send()
        .await
        .unwrap();
    let id = made.key_metadata.unwrap().key_id;
    let public = kms.get_public_key().key_id(&id).send().await.unwrap();
    let der = STANDARD.encode(public.public_key.unwrap().into_inner());
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n");
    let public = DecodingKey::from_rsa_pem(pem.as_bytes()).unwrap();

    let signer = KmsSigner::new(kms, &id);
    // Longer than the 4,096 bytes KMS would take as a message.
    for message in [b"header.claims".to_vec(), vec![b'x'; 10_000]] {
        let signature = URL_SAFE_NO_PAD.encode(signer.sign(&message).await.unwrap());
        let verify = |message: &[u8]| {
            jsonwebtoken::crypto::verify(&signature, message, &public, Algorithm::RS256).unwrap()
        };
        assert!(verify(&message));
        assert!(!verify(&[&message[..], b"x"].concat()));
    }
    let missing = KmsSigner::new(world.aws.kms(), "alias/none");
    let error = missing.sign(b"x").await.unwrap_err();
    assert!(matches!(error, KmsError::Unavailable { .. }));
    assert_eq!(error.to_string(), "the key `alias/none` did not sign");
}
