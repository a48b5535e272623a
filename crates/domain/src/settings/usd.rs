//! Dollars in files that people write: `"0.40"`, `0.40` or `4e-1`, exact to 12 decimals.

use serde::{Deserialize, Deserializer, Serializer, de};

use crate::money::PicoUsd;

/// Parses a decimal number of dollars with an optional exponent; `_` between digits is allowed.
///
/// `None` for anything else, for a negative amount, and for more than 12 decimals.
pub fn parse(text: &str) -> Option<PicoUsd> {
    let text = text.trim().replace('_', "");
    let text = text.strip_prefix('+').unwrap_or(&text);
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        return PicoUsd::parse(text);
    };
    let exponent: i32 = exponent.parse().ok().filter(|e| (-30..=30).contains(e))?;
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty()
        || !whole
            .bytes()
            .chain(part.bytes())
            .all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let digits = format!("{whole}{part}");
    let point = i32::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let (whole, part) = if point <= 0 {
        (
            "0".to_owned(),
            format!("{}{digits}", zeros(point.saturating_neg())),
        )
    } else {
        let at = usize::try_from(point).ok()?;
        if let Some((whole, part)) = digits.split_at_checked(at) {
            (whole.to_owned(), part.to_owned())
        } else {
            let missing = i32::try_from(at.saturating_sub(digits.len())).ok()?;
            (format!("{digits}{}", zeros(missing)), String::new())
        }
    };
    let part = part.trim_end_matches('0');
    PicoUsd::parse(&if part.is_empty() {
        whole
    } else {
        format!("{whole}.{part}")
    })
}

/// Writes an amount as an exact decimal text.
pub fn serialize<S: Serializer>(amount: &PicoUsd, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&amount.exact())
}

/// Reads an amount from a text or a number.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PicoUsd, D::Error> {
    struct Dollars;
    impl de::Visitor<'_> for Dollars {
        type Value = PicoUsd;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an amount of dollars such as \"0.40\"")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<PicoUsd, E> {
            parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
        }

        fn visit_u64<E: de::Error>(self, whole: u64) -> Result<PicoUsd, E> {
            self.visit_str(&whole.to_string())
        }

        fn visit_i64<E: de::Error>(self, whole: i64) -> Result<PicoUsd, E> {
            self.visit_str(&whole.to_string())
        }

        fn visit_f64<E: de::Error>(self, amount: f64) -> Result<PicoUsd, E> {
            // The shortest text that reads back as this number: what the person wrote.
            self.visit_str(&amount.to_string())
        }
    }
    deserializer.deserialize_any(Dollars)
}

/// The same for an optional amount.
pub mod option {
    use super::{Deserialize, Deserializer, PicoUsd, Serializer};

    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Wrapped(#[serde(with = "super")] PicoUsd);

    /// Writes an amount as an exact decimal text, or nothing.
    pub fn serialize<S: Serializer>(
        amount: &Option<PicoUsd>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match amount {
            Some(amount) => super::serialize(amount, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads an amount from a text or a number, or nothing.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PicoUsd>, D::Error> {
        Ok(Option::<Wrapped>::deserialize(deserializer)?.map(|Wrapped(amount)| amount))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_read_with_exponents_and_underscores() {
        for (text, exact) in [
            ("0.40", "0.40"),
            ("1e-1", "0.10"),
            ("1.5E1", "15.00"),
            ("25e2", "2500.00"),
            ("0.000_001", "0.000001"),
            ("+3", "3.00"),
            ("12.50e-12", "0.0000000000125"),
        ] {
            let parsed = parse(text).map(PicoUsd::exact);
            let expected = (exact.len() < 15).then(|| exact.to_owned());
            assert_eq!(parsed, expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for bad in [
            "", "-1", "e3", "1e", "1e99", "nan", "inf", "0x10", "1.2.3", "five", "1e1e1",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
