//! A property of a systemd unit, in the words that `systemctl set-property` takes.

use super::Unread;
use crate::Root;
use crate::systemctl::systemctl;
use topotop_model::Reason;
use topotop_model::locale::fix::machine as text;

/// The value now; nothing where the unit has none.
pub(super) fn value(root: &Root, unit: &str, property: &str) -> Result<String, Unread> {
    if !root.is_live() {
        return Err(Unread::because(text::CAPTURE_SYSTEMD));
    }
    let shown = if property == "CPUQuota" { "CPUQuotaPerSecUSec" } else { property };
    let arguments =
        ["show".to_owned(), format!("--property={shown}"), "--value".to_owned(), "--".to_owned(), unit.to_owned()];
    let said = systemctl(&arguments).map_err(|why| Unread { why, needs: "systemd as PID 1".to_owned() })?;
    words(property, &said).ok_or_else(|| {
        Unread::because(text::UnitFormat { property: &property, unit: &unit, value: &said.trim() }.to_string())
    })
}

/// The text of the drop-in of a property; nothing where there is none.
pub(super) fn drop_in(root: &Root, unit: &str, property: &str) -> Result<String, Unread> {
    let transient = root.exists(topotop_model::fix::transient_unit(unit));
    let path = topotop_model::fix::drop_in(unit, property, transient);
    match root.read_text(&path) {
        Ok(text) => Ok(text),
        Err(Reason::NotFound) => Ok(String::new()),
        Err(reason) => Err(Unread::file(&path, reason)),
    }
}

/// A value of `systemctl show` as `systemctl set-property` takes it: lists with ` ; ` between, nothing where there is none.
fn words(property: &str, said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match (property, lines.as_slice()) {
        ("CPUQuota", [] | ["infinity"]) => Some(String::new()),
        ("CPUQuota", [span]) => Some(format!("{}%", percent(span)?)),
        (_, [] | ["[not set]"]) => Some(String::new()),
        (_, lines) => Some(lines.join(" ; ")),
    }
}

/// CPU time a second as a share: `1.500s`, `500ms`, `1min 30s`; to a hundredth of a percent.
fn percent(span: &str) -> Option<String> {
    let mut micros = 0.0;
    for word in span.split_whitespace() {
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = match word.strip_prefix(digits)? {
            "us" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            "min" => 6e7,
            "h" => 3.6e9,
            _ => return None,
        };
        micros += digits.parse::<f64>().ok()? * unit;
    }
    let hundredths = (micros / 100.0).round() / 100.0;
    (micros > 0.0 && hundredths.is_finite()).then(|| hundredths.to_string())
}

#[cfg(test)]
mod tests {
    use super::{percent, words};
    use proptest::prelude::*;

    #[test]
    fn in_the_words_that_it_takes() {
        let cases = [
            ("MemoryMax", "4294967296\n", "4294967296"),
            ("MemoryHigh", "infinity\n", "infinity"),
            ("CPUQuota", "2s\n", "200%"),
            ("CPUQuota", "1.500s\n", "150%"),
            ("CPUQuota", "1min 4s\n", "6400%"),
            ("CPUQuota", "333.333ms\n", "33.33%"),
            ("CPUQuota", "infinity\n", ""),
            ("IOWeight", "[not set]\n", ""),
            ("IOWriteIOPSMax", "/dev/sdb 30\n/dev/sdc 9\n", "/dev/sdb 30 ; /dev/sdc 9"),
            ("IOWriteIOPSMax", "\n", ""),
        ];
        for (property, said, value) in cases {
            assert_eq!(words(property, said).as_deref(), Some(value), "{property} {said}");
        }
        assert_eq!(words("CPUQuota", "soon"), None);
    }

    proptest! {
        #[test]
        fn no_answer_panics(property in "(CPUQuota|MemoryMax)", said in ".{0,30}") {
            let _ = (words(&property, &said), percent(&said));
        }
    }
}
