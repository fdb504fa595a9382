//! The text of `/proc/interrupts` and `/proc/softirqs`: a header that names CPUs, then one row of counts per interrupt.

use crate::files::MAX_ID;
use crate::parse::{fields, lines, number, trim, whole_lines};

/// Name of a kind of interrupt: three letters of an architecture's row on most machines, `IPI0` and the like on ARM,
/// `NET_RX` and the like in /proc/softirqs.
pub(crate) type Label = [u8; 16];

/// Reads such a text, with buffers that stay.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    cpus: Vec<u32>,
    counts: Vec<(u32, u64)>,
    header: Vec<u8>,
}

impl Matrix {
    /// True if the header is not that of the reading before.
    pub(crate) fn is_of_other_cpus(&mut self, bytes: &[u8]) -> bool {
        let header = lines(bytes).next().unwrap_or_default();
        let is_other = self.header != header;
        if is_other {
            self.header.clear();
            self.header.extend_from_slice(header);
        }
        is_other
    }

    /// Hands each row to `take` with its counts that are not zero, by CPU, and returns how many were malformed: `take`
    /// is false for what it does not believe.
    pub(crate) fn rows(&mut self, bytes: &[u8], mut take: impl FnMut(&Row<'_>, &[(u32, u64)]) -> bool) -> u64 {
        let (bytes, cut) = whole_lines(bytes);
        let mut lines = lines(bytes);
        let mut bad = u64::from(cut);
        if !lines.next().is_some_and(|line| header(line, &mut self.cpus)) {
            return bad + 1;
        }
        for line in lines {
            let taken = row(line, &self.cpus, &mut self.counts).is_some_and(|row| take(&row, &self.counts));
            bad += u64::from(!taken);
        }
        bad
    }
}

/// The CPUs of the header, in its order: online ones in /proc/interrupts, possible ones in /proc/softirqs.
fn header(line: &[u8], cpus: &mut Vec<u32>) -> bool {
    cpus.clear();
    for field in fields(line) {
        let id = field.strip_prefix(b"CPU").and_then(number).filter(|&id| id <= u64::from(MAX_ID));
        let Some(id) = id.map(|id| id as u32).filter(|&id| cpus.last().is_none_or(|&last| last < id)) else {
            return false;
        };
        cpus.push(id);
    }
    !cpus.is_empty()
}

/// A row without its counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    /// The text before the colon.
    pub(crate) label: &'a [u8],
    /// The text after the counts.
    pub(crate) rest: &'a [u8],
    /// Sum of the counts.
    pub(crate) total: u64,
    /// True when there is one number for the whole machine instead of one per CPU.
    pub(crate) single: bool,
}

impl Row<'_> {
    /// The label as a key; none when it is longer than any that the kernel has.
    pub(crate) fn key(&self) -> Option<Label> {
        let mut key = Label::default();
        key.get_mut(..self.label.len())?.copy_from_slice(self.label);
        Some(key)
    }
}

/// Takes a row apart and puts its counts that are not zero into `counts`, by CPU; none when it is malformed.
fn row<'a>(line: &'a [u8], cpus: &[u32], counts: &mut Vec<(u32, u64)>) -> Option<Row<'a>> {
    counts.clear();
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (label, mut rest) = (trim(line.get(..colon)?), line.get(colon + 1..)?);
    if label.is_empty() {
        return None;
    }
    let (mut total, mut read) = (0u64, 0);
    for &cpu in cpus {
        let Some((digits, after)) = count(rest) else { break };
        let count = number(digits)?;
        read += 1;
        rest = after;
        total = total.checked_add(count)?;
        if count != 0 {
            counts.push((cpu, count));
        }
    }
    // ERR and MIS count for the machine, in every column layout.
    let single = (read == 1 && trim(rest).is_empty() && cpus.len() > 1)
        || (cpus.len() == 1 && matches!(label, b"ERR" | b"MIS" | b"Err"));
    if single {
        counts.clear();
    } else if read < cpus.len() || count(rest).is_some() {
        return None;
    }
    Some(Row { label, rest, total, single })
}

/// The digits of the next count and what follows them; none when the next thing is no number.
fn count(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = text.iter().position(|byte| *byte != b' ')?;
    let text = text.get(start..)?;
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let whole = end > 0 && matches!(text.get(end), None | Some(b' '));
    whole.then(|| text.split_at_checked(end)).flatten()
}

/// Chip, number within the chip with trigger, and actions, as kernel/irq/proc.c prints them: the chip's name may hold
/// single blanks (`RISC-V INTC`), the number may be missing (`IO-APIC-edge  timer`, `xen-dyn    -event`), and names
/// follow two blanks.
pub(crate) fn description(rest: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let rest = trim(rest);
    let mut at = word_end(rest, 0);
    loop {
        let next = at + blanks(rest, at);
        let end = word_end(rest, next);
        let word = rest.get(next..end).unwrap_or_default();
        let chip = rest.get(..at).unwrap_or_default();
        if word.is_empty() {
            return (chip, b"", b"");
        }
        if is_hwirq(word) {
            let end = with_trigger(rest, end);
            return (chip, rest.get(next..end).unwrap_or_default(), trim(rest.get(end..).unwrap_or_default()));
        }
        if next - at > 1 {
            return (chip, b"", rest.get(next..).unwrap_or_default());
        }
        at = end;
    }
}

/// The end of a number and its trigger: `27 Level`, `5 Edge`.
fn with_trigger(rest: &[u8], end: usize) -> usize {
    let next = end + blanks(rest, end);
    let stop = word_end(rest, next);
    match rest.get(next..stop) {
        Some(word)
            if matches!(word, b"Level" | b"Edge") || word.starts_with(b"Level-") || word.starts_with(b"Edge-") =>
        {
            let tail = stop + blanks(rest, stop);
            let tail_end = word_end(rest, tail);
            if rest.get(tail) == Some(&b'-') { tail_end } else { stop }
        }
        _ => end,
    }
}

/// `2-edge`, `27`, `-event`, `Level`.
fn is_hwirq(word: &[u8]) -> bool {
    let digits = word.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(word.len());
    match word.get(digits) {
        None => true,
        Some(b'-') => word.len() > digits + 1,
        _ => matches!(word, b"Level" | b"Edge"),
    }
}

fn blanks(text: &[u8], at: usize) -> usize {
    text.get(at..).map_or(0, |rest| rest.iter().take_while(|byte| **byte == b' ').count())
}

fn word_end(text: &[u8], at: usize) -> usize {
    at + text.get(at..).map_or(0, |rest| rest.iter().take_while(|byte| **byte != b' ').count())
}

#[cfg(test)]
mod tests {
    use super::{description, header, row};
    use proptest::prelude::*;

    #[test]
    fn descriptions_of_many_kernels() {
        let cases = [
            ("  IO-APIC   1-edge      i8042", "IO-APIC", "1-edge", "i8042"),
            (
                "  IR-PCI-MSIX-0000:4b:00.0   2-edge      ice-ens1f0-TxRx-1",
                "IR-PCI-MSIX-0000:4b:00.0",
                "2-edge",
                "ice-ens1f0-TxRx-1",
            ),
            ("  PCI-MSI 524288-edge      eth0-TxRx-0", "PCI-MSI", "524288-edge", "eth0-TxRx-0"),
            ("     GICv3  27 Level     arch_timer", "GICv3", "27 Level", "arch_timer"),
            (
                "   ITS-MSI 65536001 Edge      hns3-0000:7d:00.0-TxRx-0",
                "ITS-MSI",
                "65536001 Edge",
                "hns3-0000:7d:00.0-TxRx-0",
            ),
            ("  IO-APIC-fasteoi   ehci_hcd:usb1, uhci_hcd:usb2", "IO-APIC-fasteoi", "", "ehci_hcd:usb1, uhci_hcd:usb2"),
            ("  PCI-MSI-edge      enp5s0f4d1 (queue 11)", "PCI-MSI-edge", "", "enp5s0f4d1 (queue 11)"),
            ("  PCI-MSI 1048576-edge      enp5s0f4d1 (queue 11)", "PCI-MSI", "1048576-edge", "enp5s0f4d1 (queue 11)"),
            ("  PCI-MSI 1048576-edge", "PCI-MSI", "1048576-edge", ""),
            ("  IO-APIC-edge    ", "IO-APIC-edge", "", ""),
            ("   xen-dyn    -event     eth0-q0-tx", "xen-dyn", "-event", "eth0-q0-tx"),
            ("  RISC-V INTC   5 Edge      riscv-timer", "RISC-V INTC", "5 Edge", "riscv-timer"),
            ("   PCI-MSI  mlx5_comp0@pci:0002:00:00.0", "PCI-MSI", "", "mlx5_comp0@pci:0002:00:00.0"),
            ("      XICS 327681 Edge      eth1-rx-0", "XICS", "327681 Edge", "eth1-rx-0"),
            (
                "  PCI-MSIX-0000:00:02.0   0-edge      PCIe PME, aerdrv",
                "PCI-MSIX-0000:00:02.0",
                "0-edge",
                "PCIe PME, aerdrv",
            ),
            ("", "", "", ""),
        ];
        for (text, chip, hwirq, name) in cases {
            let found = description(text.as_bytes());
            assert_eq!(found, (chip.as_bytes(), hwirq.as_bytes(), name.as_bytes()), "{text}");
        }
    }

    #[test]
    fn rows_by_header() {
        let mut cpus = Vec::new();
        assert!(header(b"           CPU0       CPU3       CPU12      ", &mut cpus));
        assert_eq!(cpus, [0, 3, 12]);
        assert!(!header(b"CPU1 CPU0", &mut Vec::new()));
        assert!(!header(b"", &mut Vec::new()));
        let mut counts = Vec::new();
        let found = row(b" 24:          0  4294967295          3  PCI-MSI 1-edge  x", &cpus, &mut counts);
        assert_eq!(found.map(|row| (row.label, row.total, row.single)), Some((&b"24"[..], 4_294_967_298, false)));
        assert_eq!(counts, [(3, 4_294_967_295), (12, 3)]);
        assert_eq!(row(b"ERR:          7", &cpus, &mut counts).map(|row| (row.total, row.single)), Some((7, true)));
        assert!(counts.is_empty());
        assert_eq!(row(b" 25:   1   2   PCI-MSI 1-edge  x", &cpus, &mut counts), None, "too few");
        assert_eq!(row(b" 25:   1   2   3   4   PCI-MSI 1-edge  x", &cpus, &mut counts), None, "too many");
        assert!(row(b"LOC: 1 2 3", &cpus, &mut counts).is_some_and(|row| row.rest.is_empty()));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let (mut cpus, mut counts) = (Vec::new(), Vec::new());
            header(&bytes, &mut cpus);
            row(&bytes, &[0, 1], &mut counts);
            description(&bytes);
        }
    }
}
