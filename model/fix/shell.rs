//! Quotes words of commands that people copy: a hostile name stays one word. Crates that quote (shlex) leave control
//! characters as they are, which a terminal would act on.

use std::fmt::Write as _;

/// A word as a POSIX shell reads it back; control characters as `$'…'`, which bash, zsh and ksh read.
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    if !word.chars().any(char::is_control) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut out = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            c if c.is_ascii_control() => {
                // A text takes whatever is written to it.
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "'"
}

#[cfg(test)]
mod tests {
    use super::quoted;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn plain_words_stay_as_they_are() {
        let cases = [
            ("-c", "-c"),
            ("/opt/a/b.conf", "/opt/a/b.conf"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", "'it'\\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("a\n;b", "$'a\\x0a;b'"),
            ("\u{1b}[2J'\\", "$'\\x1b[2J\\'\\\\'"),
        ];
        for (word, shown) in cases {
            assert_eq!(quoted(word), shown);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        #[expect(clippy::disallowed_methods, reason = "only a shell knows what it reads")]
        fn a_shell_reads_it_back(word in "[^\u{0}]{0,20}") {
            let output = Command::new("bash").args(["-c", &format!("printf %s {}", quoted(&word))]).env("LC_ALL", "C").output();
            prop_assert_eq!(output.expect("bash runs").stdout, word.into_bytes());
        }
    }
}
