//! Durations on the command line: a number and a unit.

use std::time::Duration;

/// Reads `50ms`, `2s`, `1m`, `500us`. A number alone has no unit and is refused.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let bad = || format!("`{text}` is not a duration: write a number and a unit, like 50ms or 2s");
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
    let number: u64 = text[..digits].parse().map_err(|_| bad())?;
    let factor_us: u64 = match &text[digits..] {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        _ => return Err(bad()),
    };
    number.checked_mul(factor_us).map(Duration::from_micros).ok_or_else(bad)
}

/// A tick's length: from 5 ms to 1 s.
pub(crate) fn parse_step(text: &str) -> Result<Duration, String> {
    let step = parse(text)?;
    let bounds = Duration::from_millis(5)..=Duration::from_secs(1);
    if bounds.contains(&step) {
        Ok(step)
    } else {
        Err(format!("a tick of {text} is outside 5ms to 1s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_everything_else_is_refused() {
        assert_eq!(parse("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(parse("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse("1m"), Ok(Duration::from_secs(60)));
        for bad in ["", "50", "ms", "-1s", "1.5s", "1h", "99999999999999999999s", "1 s"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse_step("1ms").is_err() && parse_step("50ms").is_ok());
    }
}
