//! Reads numbers as tc does. A bare rate counts bits per second, and with the suffix `bps` bytes.

use roundelay::Rate;

/// What `Ki` multiplies by.
const KIBI: f64 = 1024.0;

/// What to expect instead of a rate that cannot be read.
pub(crate) fn rate_expected(text: &str) -> &'static str {
    if text.ends_with('%') {
        return "a rate such as 20mbit: a percentage is of the interface's speed, which \
                the script does not tell";
    }
    "a rate such as 20mbit, up to 100tbit"
}

/// A number, and its suffix in lower case.
fn split(text: &str) -> Option<(f64, String)> {
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let number: f64 = number.parse().ok()?;
    Some((number, suffix.to_ascii_lowercase()))
}

/// A rate in bits per second, and whether its suffix counts bytes.
pub(crate) fn rate(text: &str) -> Option<(Rate, bool)> {
    let (number, suffix) = split(text)?;
    let (scale, is_bytes) = match suffix.as_str() {
        "" | "bit" => (1.0, false),
        "kbit" => (1e3, false),
        "mbit" => (1e6, false),
        "gbit" => (1e9, false),
        "tbit" => (1e12, false),
        "kibit" => (KIBI, false),
        "mibit" => (KIBI * KIBI, false),
        "gibit" => (KIBI * KIBI * KIBI, false),
        "tibit" => (KIBI * KIBI * KIBI * KIBI, false),
        "bps" => (8.0, true),
        "kbps" => (8e3, true),
        "mbps" => (8e6, true),
        "gbps" => (8e9, true),
        "tbps" => (8e12, true),
        "kibps" => (8.0 * KIBI, true),
        "mibps" => (8.0 * KIBI * KIBI, true),
        "gibps" => (8.0 * KIBI * KIBI * KIBI, true),
        "tibps" => (8.0 * KIBI * KIBI * KIBI * KIBI, true),
        _ => return None,
    };
    let bits = number * scale;
    if !(1.0..=1e14).contains(&bits) {
        return None;
    }
    Some((Rate::from_bits_per_second(bits as u64)?, is_bytes))
}

/// A size in bytes.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (number, suffix) = split(text)?;
    let scale = match suffix.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1_048_576.0,
        "g" | "gb" => 1_073_741_824.0,
        "kbit" => 128.0,
        "mbit" => 131_072.0,
        "gbit" => 134_217_728.0,
        _ => return None,
    };
    let bytes = number * scale;
    (bytes <= 1e15).then_some(bytes as u64)
}

/// A time in nanoseconds. A bare number counts microseconds.
pub(crate) fn time(text: &str) -> Option<u64> {
    let (number, suffix) = split(text)?;
    let scale = match suffix.as_str() {
        "s" | "sec" | "secs" => 1e9,
        "ms" | "msec" | "msecs" => 1e6,
        "" | "us" | "usec" | "usecs" => 1e3,
        "ns" | "nsec" | "nsecs" => 1.0,
        _ => return None,
    };
    let nanos = number * scale;
    (nanos <= 1e15).then_some(nanos as u64)
}

/// A time as trees write it.
pub(crate) fn written_time(nanos: u64) -> String {
    roundelay::Duration::from_picos(nanos.saturating_mul(1000)).to_string()
}

/// A decimal or hexadecimal number.
pub(crate) fn whole(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_those_of_tc() {
        let bits = |text| rate(text).map(|(rate, is_bytes)| (rate.bits_per_second(), is_bytes));
        assert_eq!(bits("20mbit"), Some((20_000_000, false)));
        assert_eq!(bits("2.5Mbit"), Some((2_500_000, false)));
        assert_eq!(bits("1000"), Some((1000, false)));
        assert_eq!(bits("10kbps"), Some((80_000, true)));
        assert_eq!(bits("1mbps"), Some((8_000_000, true)));
        assert_eq!(bits("100KiBps"), Some((819_200, true)));
        for bad in [
            "",
            "0",
            "mbit",
            "10%",
            "5 mbit",
            "1e9mbit",
            "99999tbit",
            "1m",
            "1k",
        ] {
            assert_eq!(rate(bad), None, "{bad}");
        }
        assert_eq!(size("15k"), Some(15_360));
        assert_eq!(size("1600"), Some(1600));
        assert_eq!(size("32Mb"), Some(32 << 20));
        assert_eq!(time("5ms"), Some(5_000_000));
        assert_eq!(time("100"), Some(100_000));
        assert_eq!(written_time(5_000_000), "5ms");
        assert_eq!(whole("0xff"), Some(255));
    }
}
