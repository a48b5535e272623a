//! How many tokens a text has, without the model's own counter.
//!
//! Two figures for two purposes. [`token_bound`] can never be too low, whatever the tokenizer: a token
//! stands for at least one byte. Money is reserved by it, so that no text can be written that costs
//! more than was set aside. [`estimate_tokens`] is near the truth; chunks are packed
//! by it, and if it is too low for some text the provider says so and the chunk is cut in two.

/// Returns the most tokens that `bytes` bytes of text can have.
pub const fn token_bound(bytes: u64) -> u64 {
    bytes
}

/// Returns about how many tokens a text has, rather too many than too few.
///
/// One token per three letters or digits of a run, one per punctuation mark, one per line break and
/// per run of blanks, one per two bytes of anything else. Measured on Rust, C, Python, JavaScript, Markdown
/// and TOML (60 kB each): 18 to 63 % above Claude's older vocabulary. The present one is said to give some
/// 30 % more tokens, which leaves the estimate between 9 % below and 25 % above.
pub fn estimate_tokens(text: &[u8]) -> u64 {
    let (mut tokens, mut run, mut blanks, mut others) = (0_u64, 0_u64, 0_u64, 0_u64);
    for &byte in text {
        let is_word = byte.is_ascii_alphanumeric() || byte == b'_';
        if !is_word {
            tokens = tokens.saturating_add(run.div_ceil(3));
            run = 0;
        }
        match byte {
            _ if is_word => run = run.saturating_add(1),
            b' ' | b'\t' => blanks = blanks.saturating_add(1),
            0x80.. => others = others.saturating_add(1),
            _ => tokens = tokens.saturating_add(1),
        }
        if !matches!(byte, b' ' | b'\t') {
            // A single blank belongs to the word after it.
            tokens = tokens.saturating_add(u64::from(blanks > 1));
            blanks = 0;
        }
    }
    tokens
        .saturating_add(run.div_ceil(3))
        .saturating_add(u64::from(blanks > 0))
        .saturating_add(others.div_ceil(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_stay_between_one_token_per_byte_and_one_per_eight() {
        for text in [
            "    let total = items.iter().map(|item| item.price).sum();",
            "if (request.getUser() == null) { throw new IllegalStateException(); }",
            "0123456789abcdef0123456789abcdef",
            "漢字かな交じり文",
            "x",
        ] {
            let tokens = estimate_tokens(text.as_bytes());
            let bytes = u64::try_from(text.len()).unwrap();
            assert!(tokens <= token_bound(bytes), "{text}: {tokens}");
            assert!(tokens >= bytes.div_ceil(8), "{text}: {tokens}");
        }
        assert_eq!(estimate_tokens(b""), 0);
    }
}
