//! Where an interrupt may go.

use super::{Trouble, file};
use rustix::io::Errno;
use topotop_collectors::{Root, probe};
use topotop_model::locale::fix::machine as text;

/// Writes its CPUs, by the number that it has now.
pub(super) fn write(root: &Root, irq: u32, actions: &str, cpus: &str) -> Result<(), Trouble> {
    let path = probe::interrupt(root, irq, actions).map_err(|unread| Trouble::because(unread.why))?;
    file::write(&path, cpus, &[]).map_err(why)
}

/// What the kernel means by it: it has no words for this file.
fn why(trouble: Trouble) -> Trouble {
    let because = match trouble.errno.map(Errno::from_raw_os_error) {
        Some(Errno::PERM | Errno::IO) => text::MANAGED,
        Some(Errno::NOSPC) => text::NO_VECTOR,
        Some(Errno::OVERFLOW | Errno::RANGE) => text::NO_CPU,
        Some(Errno::INVAL) => text::NONE_ONLINE,
        Some(Errno::ROFS | Errno::ACCESS) => text::IRQ_READ_ONLY,
        _ => return trouble,
    };
    Trouble { message: format!("{}: {because}", trouble.message), ..trouble }
}

#[cfg(test)]
mod tests {
    use super::{Trouble, why};
    use rustix::io::Errno;

    #[test]
    fn refusals_have_reasons() {
        let said = |errno| why(Trouble::errno(errno)).message;
        for errno in [Errno::IO, Errno::PERM] {
            assert!(said(errno).contains("managed"), "{}", said(errno));
        }
        assert!(said(Errno::NOSPC).contains("no free interrupt vector"));
        assert_eq!(said(Errno::NOENT), Trouble::errno(Errno::NOENT).message);
        assert_eq!(why(Trouble::errno(Errno::IO)).errno, Some(5));
    }
}
