//! The configuration of irqbalance: arguments, environment, and the distribution's file.

use crate::parse::{lines, number, trim};
use topotop_model::IdSet;

/// CPUs that the environment bans.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Banned {
    /// These; none when it bans none.
    Cpus(IdSet),
    /// Set to something that is no set.
    Unreadable,
}

/// `IRQBALANCE_BANNED_CPULIST` (1.8 and later), else `IRQBALANCE_BANNED_CPUS`, a mask.
pub(super) fn banned_cpus(environ: &[u8]) -> Banned {
    let value = |name: &[u8]| {
        let found = environ.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(name)?.strip_prefix(b"="));
        found.map(trim).filter(|value| !value.is_empty())
    };
    let as_text = |value| std::str::from_utf8(value).ok();
    let set = match (value(b"IRQBALANCE_BANNED_CPULIST"), value(b"IRQBALANCE_BANNED_CPUS")) {
        (Some(list), _) => as_text(list).and_then(IdSet::parse_list),
        (None, Some(mask)) => as_text(mask).and_then(IdSet::parse_map),
        (None, None) => Some(IdSet::new()),
    };
    set.map_or(Banned::Unreadable, Banned::Cpus)
}

/// `--banirq=16`, `--banirq 16`, `-i 16`, `-i16`.
pub(crate) fn banned_irqs(cmdline: &[u8]) -> IdSet {
    let mut irqs = Vec::new();
    let mut arguments = cmdline.split(|&byte| byte == 0);
    while let Some(argument) = arguments.next() {
        let value = match argument {
            b"--banirq" | b"-i" => arguments.next(),
            argument => argument.strip_prefix(b"--banirq=").or_else(|| argument.strip_prefix(b"-i")),
        };
        irqs.extend(value.and_then(number).and_then(|irq| u32::try_from(irq).ok()));
    }
    IdSet::from_ids(irqs)
}

/// True if it is to set affinities once and leave.
pub(crate) fn is_oneshot(cmdline: &[u8]) -> bool {
    cmdline.split(|&byte| byte == 0).skip(1).any(|argument| matches!(argument, b"--oneshot" | b"-o"))
}

/// True if the distribution's file sets it: `IRQBALANCE_ONESHOT=yes`, `ONESHOT=yes`, or an argument.
pub(super) fn oneshot_configured(file: &[u8]) -> bool {
    lines(file).any(|line| {
        let line = trim(line);
        let set = line.iter().position(|&byte| byte == b'=').map(|at| line.split_at(at));
        let Some((name, value)) = set else { return false };
        let value: Vec<u8> = value.iter().skip(1).filter(|byte| !matches!(byte, b'"' | b'\'')).copied().collect();
        match name {
            b"IRQBALANCE_ONESHOT" | b"ONESHOT" => {
                matches!(value.trim_ascii().to_ascii_lowercase().as_slice(), b"yes" | b"1" | b"true")
            }
            b"IRQBALANCE_ARGS" | b"OPTIONS" => {
                value.split(u8::is_ascii_whitespace).any(|word| matches!(word, b"--oneshot" | b"-o"))
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Banned, banned_cpus, banned_irqs, is_oneshot, oneshot_configured};
    use proptest::prelude::*;
    use topotop_model::IdSet;

    #[test]
    fn bans() {
        let cpus = |text: &[u8]| match banned_cpus(text) {
            Banned::Cpus(set) => set.to_string(),
            Banned::Unreadable => "?".to_owned(),
        };
        assert_eq!(cpus(b"PATH=/bin\0IRQBALANCE_BANNED_CPULIST=2-3,8\0"), "2-3,8");
        assert_eq!(cpus(b"IRQBALANCE_BANNED_CPUS=00000001,0000000c\0"), "2-3,32");
        assert_eq!(cpus(b"IRQBALANCE_BANNED_CPUS=\0"), "");
        assert_eq!(cpus(b"XIRQBALANCE_BANNED_CPUS=f\0"), "");
        assert_eq!(cpus(b"IRQBALANCE_BANNED_CPULIST=x\0"), "?");
        let irqs = banned_irqs(b"irqbalance\0--foreground\0--banirq=16\0-i\x007\0--banirq\x009\0-i11\0");
        assert_eq!(irqs, IdSet::from_ids([7, 9, 11, 16]));
    }

    #[test]
    fn one_shot() {
        assert!(is_oneshot(b"irqbalance\0--oneshot\0") && !is_oneshot(b"irqbalance\0--foreground\0"));
        assert!(oneshot_configured(b"# x\nIRQBALANCE_ONESHOT=\"yes\"\n"));
        assert!(oneshot_configured(b"IRQBALANCE_ARGS='--debug --oneshot'\n"));
        assert!(!oneshot_configured(b"#IRQBALANCE_ONESHOT=yes\nONESHOT=0\n"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (banned_cpus(&bytes), banned_irqs(&bytes), is_oneshot(&bytes), oneshot_configured(&bytes));
        }
    }
}
