//! Small pieces that every parser needs: lines, fields and numbers of kernel files, from bytes.

/// The lines of a file without their newlines.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// The part of a many-line file up to its last newline, and whether something was cut off behind it: the kernel ends
/// every line, so an unfinished one is damage, and a number in it may lack digits.
pub fn whole_lines(bytes: &[u8]) -> (&[u8], bool) {
    match bytes.iter().rposition(|&byte| byte == b'\n') {
        Some(end) => (bytes.get(..=end).unwrap_or_default(), end + 1 < bytes.len()),
        None => (&[], !bytes.is_empty()),
    }
}

/// The fields of a line, separated by blanks or tabs.
pub fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|field| !field.is_empty())
}

/// An unsigned decimal number, all of the field.
pub fn number(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > 20 {
        return None;
    }
    field.iter().try_fold(0u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|&digit| digit < 10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A signed decimal number.
pub fn signed(field: &[u8]) -> Option<i64> {
    match field.strip_prefix(b"-") {
        Some(digits) => i64::try_from(number(digits)?).ok().map(|value| -value),
        None => i64::try_from(number(field)?).ok(),
    }
}

/// A hexadecimal number without prefix.
pub fn hex(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > 16 {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(field).ok()?, 16).ok()
}

/// A decimal fraction such as `12.34` in hundredths.
pub fn hundredths(field: &[u8]) -> Option<u64> {
    let mut parts = field.splitn(2, |&byte| byte == b'.');
    let whole = number(parts.next()?)?;
    let digits = parts.next().unwrap_or(b"00");
    let cents = match digits {
        [] => 0,
        [tens] => number(&[*tens])? * 10,
        [tens, ones, ..] => number(&[*tens, *ones])?,
    };
    whole.checked_mul(100)?.checked_add(cents)
}

/// The text of a field; bytes that are not UTF-8 are spelled out.
pub fn text(field: &[u8]) -> std::borrow::Cow<'_, str> {
    topotop_model::text::from_bytes(field)
}

/// A field without blanks around it.
pub fn trim(field: &[u8]) -> &[u8] {
    field.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::{hundredths, number, signed};
    use proptest::prelude::*;

    #[test]
    fn numbers_as_kernels_print_them() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b""), None);
        assert_eq!(number(b"1a"), None);
        assert_eq!(signed(b"-1"), Some(-1));
        assert_eq!(hundredths(b"0.5"), Some(50));
        assert_eq!(hundredths(b"12.345"), Some(1234));
        assert_eq!(hundredths(b"7"), Some(700));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (number(&bytes), signed(&bytes), super::hex(&bytes), hundredths(&bytes));
            for field in super::lines(&bytes).flat_map(super::fields) {
                let _ = super::text(field);
            }
            prop_assert!(super::whole_lines(&bytes).0.len() <= bytes.len());
        }
    }
}
