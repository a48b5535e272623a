use aws_lc_rs::key_wrap::{AES_256, AesKek, KeyWrapPadded as _};
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA256_MGF1SHA256, OaepPrivateDecryptingKey, PrivateDecryptingKey,
};
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};

use super::*;

/// Made up for tests.
const PEM: &str = include_str!("../../../sim/keys/test-app-key.pem");
const PUBLIC_PEM: &str = include_str!("../../../sim/keys/test-app-key.pub.pem");

fn pem(kind: &str, der: &[u8]) -> SecretString {
    format!(
        "-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n",
        STANDARD.encode(der)
    )
    .into()
}

#[test]
fn key_of_github_becomes_what_kms_takes_and_shows() {
    let key = AppKey::parse(PEM.into()).unwrap();
    let public = SubjectPublicKeyInfoDer::from_pem_slice(PUBLIC_PEM.as_bytes()).unwrap();
    assert_eq!(key.public(), public.as_ref());
    assert!(key.fingerprint().starts_with("SHA256:"));
    // The same key as other tools write it.
    let pkcs8 = PrivatePkcs8KeyDer::from(key.pkcs8.expose_secret().clone());
    let again = AppKey::parse(pem("PRIVATE KEY", pkcs8.secret_pkcs8_der())).unwrap();
    assert_eq!(again.public(), key.public());
    let shown = format!("{key:?}");
    assert!(shown.contains("SHA256:") && shown.len() < 80, "{shown}");
}

#[test]
fn what_is_no_key_of_github_is_refused_without_showing_it() {
    let large = PrivateDecryptingKey::generate(KeySize::Rsa3072).unwrap();
    let large = aws_lc_rs::encoding::AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&large);
    let large = pem("PRIVATE KEY", large.unwrap().as_ref());
    for (text, want) in [
        ("".into(), AppKeyError::NotPem),
        ("ghp_SENTINEL".into(), AppKeyError::NotPem),
        (PUBLIC_PEM.into(), AppKeyError::NotPem),
        (pem("RSA PRIVATE KEY", b"SENTINEL"), AppKeyError::NotRsa),
        (pem("PRIVATE KEY", b"SENTINEL"), AppKeyError::NotRsa),
        (large, AppKeyError::Size(3072)),
    ] {
        let error = AppKey::parse(text).unwrap_err();
        assert_eq!(error, want);
        assert!(!format!("{error} {error:?}").contains("SENTINEL"));
    }
}

#[test]
fn wrapped_material_is_unwrapped_by_the_standard_and_never_the_same_twice() {
    let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let public: PublicKeyX509Der<'_> = private.public_key().as_der().unwrap();
    let private = OaepPrivateDecryptingKey::new(private).unwrap();
    for length in [1, 7, 8, 1217, 1218] {
        let material: Vec<u8> = (0..length)
            .map(|n| u8::try_from(n % 251).unwrap())
            .collect();
        let wrapped = wrap_for_import(public.as_ref(), &material).unwrap();
        assert_ne!(
            wrapped,
            wrap_for_import(public.as_ref(), &material).unwrap()
        );
        let (outer, inner) = wrapped.split_at(256);
        let mut aes = vec![0; 256];
        let aes = private
            .decrypt(&OAEP_SHA256_MGF1SHA256, outer, &mut aes, None)
            .unwrap();
        assert_eq!(aes.len(), 32);
        let mut out = vec![0; inner.len()];
        let out = AesKek::new(&AES_256, aes)
            .unwrap()
            .unwrap_with_padding(inner, &mut out)
            .unwrap();
        assert_eq!(out, material);
    }
    assert!(wrap_for_import(b"no key", b"x").is_err());
}
