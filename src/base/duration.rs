//! Durations as Go writes and reads them: kubeadm and containerd are given them as text.

use std::time::Duration;

/// Longer units first where one begins with another.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A duration above zero, such as `5m0s`, `1.5h` or `500ms`, as `time.ParseDuration` of Go reads it: numbers with their
/// units, without sign and in ASCII, less than 2^63 nanoseconds together.
pub fn read_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut nanoseconds = 0_u64;
    while !rest.is_empty() {
        let (number, behind) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let (unit, size) = UNITS.iter().find(|(unit, _)| behind.starts_with(unit))?;
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if number.is_empty() || number == "." || part.contains('.') {
            return None;
        }
        let whole: u64 = format!("0{whole}").parse().ok()?;
        nanoseconds = nanoseconds
            .checked_add(whole.checked_mul(*size)?)?
            .checked_add(take_part(part, *size))?;
        rest = &behind[unit.len()..];
    }
    let is_read = nanoseconds > 0 && i64::try_from(nanoseconds).is_ok();
    is_read.then(|| Duration::from_nanos(nanoseconds))
}

/// The digits behind the point, of a unit; those below a nanosecond are nothing.
fn take_part(digits: &str, size: u64) -> u64 {
    let mut size = u128::from(size) * 10_u128.pow(18);
    let mut sum = 0;
    for digit in digits.bytes().take(18) {
        size /= 10;
        sum += size * u128::from(digit - b'0');
    }
    u64::try_from(sum / 10_u128.pow(18)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, milliseconds) in [
            ("5m0s", 300_000),
            ("90s", 90_000),
            ("1.5h", 5_400_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("1m.5s", 60_500),
            ("2.s", 2_000),
            ("1500us1500000ns", 3),
            ("0.25m", 15_000),
            ("0h0m1s", 1_000),
            ("2540400h", 9_145_440_000_000),
        ] {
            assert_eq!(
                read_duration(text),
                Some(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for text in [
            "",
            "0",
            "0s",
            "0.0000000001ns",
            "5",
            "s",
            ".s",
            "1..5s",
            "1.5.5s",
            "-1s",
            "+1s",
            "1 s",
            "1S",
            "5min",
            "1d",
            "1m5",
            "soon",
            "5m0s ",
            "1µs",
            "2562048h",
            "99999999999999999999h",
        ] {
            assert_eq!(read_duration(text), None, "{text}");
        }
    }
}
