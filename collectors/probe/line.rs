//! A line of a file that holds several, by its first word: `io.max`.

use super::{Unread, file};
use crate::Root;

/// What follows the word on its line; empty where there is no such line.
pub(super) fn value(root: &Root, path: &str, key: &str) -> Result<String, Unread> {
    Ok(find(&file::text(root, path)?, key).unwrap_or_default().to_owned())
}

fn find<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let of_line = |line: &'a str| {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        (word == key).then(|| rest.trim())
    };
    text.lines().find_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::find;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_found_by_its_whole_first_word() {
        let text = "8:1 rbps=max\n8:16 rbps=max wbps=1048576 riops=max wiops=max\ndefault 100\n";
        assert_eq!(find(text, "8:16"), Some("rbps=max wbps=1048576 riops=max wiops=max"));
        assert_eq!(find(text, "8:1"), Some("rbps=max"));
        assert_eq!(find(text, "default"), Some("100"));
        assert_eq!(find(text, "8:"), None);
        assert_eq!(find("", "8:16"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,80}", key in ".{0,8}") {
            let _ = find(&text, &key);
        }
    }
}
