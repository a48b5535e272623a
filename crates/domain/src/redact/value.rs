//! Tells random values from words, fillers and code.

/// Words that stand in values which are examples.
const FILLER_WORDS: [&str; 26] = [
    "example",
    "sample",
    "dummy",
    "fake",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "changeit",
    "your-",
    "your_",
    "yourtoken",
    "yourkey",
    "xxxx",
    "redacted",
    "masked",
    "insert",
    "replace",
    "todo",
    "not-a-",
    "not_a_",
    "notreal",
    "not-real",
    "foobar",
    "mock",
    "lorem",
];
/// Runs that a person types, not a generator.
const TYPED_RUNS: [&str; 8] = [
    "0123456", "1234567", "7654321", "abcdefg", "qwerty", "deadbeef", "cafebabe", "aaaaaaa",
];
/// Marks of a template, a call or a reference: the value is elsewhere.
const INDIRECT: [&str; 18] = [
    "${",
    "$(",
    "{{",
    "}}",
    "<%",
    "%s",
    "%(",
    "%{",
    "#{",
    "process.env",
    "os.environ",
    "getenv",
    "secrets.",
    "vault:",
    "ssm:",
    "arn:",
    "op://",
    "env.",
];

/// Returns whether a value looks like an example or a filler rather than a secret.
pub(crate) fn is_filler(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    FILLER_WORDS
        .iter()
        .chain(&TYPED_RUNS)
        .chain(&INDIRECT)
        .any(|word| text.contains(word))
        || text.starts_with('<')
        || repeats(&text)
        || distinct(&text) < 6
}

/// Returns whether a value that a name calls secret looks generated: long and mixed enough, and neither a
/// word, a name, a path nor code.
pub(crate) fn is_random(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else {
        return false;
    };
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    if text.len() < 8 || digits == 0 || letters == 0 || is_code(text) || is_name(text) {
        return false;
    }
    entropy(text) >= if text.len() < 16 { 2.9 } else { 3.2 }
}

/// Shannon entropy in bits for each character.
pub(crate) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    let mut total = 0_u32;
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count = count.saturating_add(1);
        }
        total = total.saturating_add(1);
    }
    let total = f64::from(total.max(1));
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum()
}

/// One character five times in a row, or one short piece over and over.
fn repeats(text: &str) -> bool {
    let mut run = 0_usize;
    let mut last = None;
    for c in text.chars() {
        run = if last == Some(c) {
            run.saturating_add(1)
        } else {
            1
        };
        last = Some(c);
        if run >= 6 {
            return true;
        }
    }
    false
}

fn distinct(text: &str) -> usize {
    text.chars()
        .collect::<std::collections::BTreeSet<_>>()
        .len()
}

/// A call, a path, an address, a version, a type: things that stand on the right of a name in code.
fn is_code(text: &str) -> bool {
    text.contains("()")
        || text.contains("://")
        || text.contains("::")
        || text.contains("->")
        || text.starts_with(['/', '.', '@', '$', '%', '&', '*', '#', '-'])
        || text.ends_with(['(', ':', '/'])
        || text.contains(['(', ')', '{', '}', '[', ']', '|', '\\'])
        || is_uuid(text)
        || text.split('.').count() > 2 && text.split('.').all(|part| part.len() < 16)
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// Words joined by case or separators, with digits only at their ends: `authTokenV2`, `api-key-1`.
fn is_name(text: &str) -> bool {
    let mut words: Vec<String> = Vec::new();
    let mut lower_before = false;
    for c in text.chars() {
        let separator = !c.is_ascii_alphanumeric();
        let starts = separator || (c.is_ascii_uppercase() && lower_before);
        if starts || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| !separator) {
            word.push(c.to_ascii_lowercase());
        }
        lower_before = c.is_ascii_lowercase();
    }
    words
        .iter()
        .filter(|word| !word.is_empty())
        .all(|word| is_word(word))
}

/// Letters with a vowel, then at most four digits; or a short number.
fn is_word(word: &str) -> bool {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = word.len().saturating_sub(letters.len());
    let pure = letters.chars().all(|c| c.is_ascii_alphabetic());
    let vowels = letters
        .chars()
        .filter(|c| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'y'))
        .count();
    let spoken = letters.len() <= 3 || vowels.saturating_mul(6) >= letters.len();
    pure && digits <= 4 && spoken && longest_consonants(letters) <= 5
}

fn longest_consonants(letters: &str) -> usize {
    letters
        .split(['a', 'e', 'i', 'o', 'u', 'y'])
        .map(str::len)
        .max()
        .unwrap_or(0)
}
