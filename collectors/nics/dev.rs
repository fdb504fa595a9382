//! `/proc/net/dev`: counters of every interface of this network namespace.

use crate::parse::{fields, number, trim};

/// The numbers of a row: eight received, eight sent.
pub(super) const COLUMNS: usize = 16;

/// A row: name and numbers; none when it is not what the kernel prints. The two header lines are no rows.
pub(super) fn row(line: &[u8]) -> Option<(&[u8], [u64; COLUMNS])> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, rest) = (trim(line.get(..colon)?), line.get(colon + 1..)?);
    if name.is_empty() || name.len() > 15 || name.iter().any(|byte| byte.is_ascii_whitespace() || *byte == b'/') {
        return None;
    }
    let mut values = [0; COLUMNS];
    let mut count = 0;
    for field in fields(rest) {
        *values.get_mut(count)? = number(field)?;
        count += 1;
    }
    (count == COLUMNS).then_some((name, values))
}

/// True for the two lines above the rows.
pub(super) fn is_header(line: &[u8]) -> bool {
    line.contains(&b'|')
}

#[cfg(test)]
mod tests {
    use super::row;
    use proptest::prelude::*;

    #[test]
    fn rows_of_old_and_new_kernels() {
        let line = b"  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16";
        assert_eq!(row(line).map(|(name, values)| (name, values[0], values[15])), Some((&b"eth0"[..], 1, 16)));
        assert!(row(b"eth0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16").is_some());
        assert!(row(b"eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15").is_none());
        assert!(row(b"eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17").is_none());
        assert!(row(b"eth0: 1 2 3 x 5 6 7 8 9 10 11 12 13 14 15 16").is_none());
        assert!(super::is_header(b" face |bytes    packets errs"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            row(&bytes);
        }
    }
}
