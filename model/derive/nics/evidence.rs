//! Whose an interrupt is, from what /proc/interrupts prints of its chip.

/// The PCI function behind an interrupt and the vector's index in it, as far as the chip column and the number within
/// the chip tell.
pub(in crate::derive) fn function_of(chip: &str, hwirq: &str) -> Option<(String, u64, &'static str)> {
    if let Some(address) = named(chip) {
        let index = leading_number(hwirq).unwrap_or_default();
        return Some((address.to_owned(), index, "chip"));
    }
    let (address, index) = decoded(chip, leading_number(hwirq)?)?;
    Some((address, index, "hwirq"))
}

/// `0000:4b:00.0` of `IR-PCI-MSIX-0000:4b:00.0` (Linux 6.2 and later).
fn named(chip: &str) -> Option<&str> {
    if !chip.contains("PCI") && !chip.contains("MSI") {
        return None;
    }
    let mut at = chip.len();
    loop {
        let start = chip.get(..at)?.rfind('-')? + 1;
        let tail = chip.get(start..)?;
        if is_address(tail) {
            return Some(tail);
        }
        at = start - 1;
    }
}

/// True for `0000:3b:00.0`.
fn is_address(text: &str) -> bool {
    let hexes = |part: &str, least: usize, most: usize| {
        (least..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut parts = text.splitn(3, ':');
    let (Some(domain), Some(bus), Some(rest)) = (parts.next(), parts.next(), parts.next()) else { return false };
    rest.split_once('.').is_some_and(|(device, function)| hexes(device, 2, 2) && hexes(function, 1, 1))
        && hexes(domain, 4, 8)
        && hexes(bus, 2, 2)
}

/// The address in the number of a PCI-MSI domain (pci_msi_domain_calc_hwirq): index in 11 bits, device and function in
/// 8, bus in 8, domain above. Xen, IO-APIC, plain `PCI-MSI-edge` (no number) and PCH-MSI number differently.
fn decoded(chip: &str, number: u64) -> Option<(String, u64)> {
    let plain = chip.strip_prefix("IR-").unwrap_or(chip);
    if !matches!(
        plain,
        "PCI-MSI" | "PCI-MSIX" | "ITS-MSI" | "ITS-PCI-MSI" | "ITS-PCI-MSIX" | "Hyper-V PCIe MSI" | "HV-PCI-MSI"
    ) {
        return None;
    }
    let (index, function, device) = (number & 0x7ff, number >> 11 & 7, number >> 14 & 31);
    let (bus, domain) = (number >> 19 & 255, number >> 27);
    (domain <= 0xffff_ffff).then(|| (format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"), index))
}

/// `2` of `2-edge`.
fn leading_number(text: &str) -> Option<u64> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::function_of;
    use proptest::prelude::*;

    #[test]
    fn functions_from_chip_and_number() {
        let of = |chip, hwirq| function_of(chip, hwirq).map(|(address, index, _)| (address, index));
        let is = |address: &str, index| Some((address.to_owned(), index));
        assert_eq!(of("IR-PCI-MSIX-0000:4b:00.0", "2-edge"), is("0000:4b:00.0", 2));
        assert_eq!(of("PCI-MSI-0000:00:1f.2", "0-edge"), is("0000:00:1f.2", 0));
        assert_eq!(of("ITS-PCI-MSIX-0000:7d:00.0", "3 Edge"), is("0000:7d:00.0", 3));
        assert_eq!(of("PCI-MSI", "34078722-edge"), is("0000:41:00.0", 2));
        assert_eq!(of("IR-PCI-MSI", "52955136-edge"), is("0000:65:00.1", 0));
        assert_eq!(of("ITS-MSI", "65536001 Edge"), is("0000:7d:00.0", 1));
        assert_eq!(of("Hyper-V PCIe MSI", "134250497-edge"), is("0001:00:02.0", 1));
        assert_eq!(of("Hyper-V PCIe MSI", "4138200989697-edge"), is("7870:00:00.0", 1));
        for (chip, hwirq) in [
            ("PCI-MSI-edge", ""),
            ("PCI-MSI", ""),
            ("IO-APIC", "16-fasteoi"),
            ("xen-dyn", "-event"),
            ("xen-pirq", "-msi"),
            ("PCH-MSI", "65536001-edge"),
            ("GICv3", "27 Level"),
            ("DMAR-MSI", "5-edge"),
        ] {
            assert_eq!(of(chip, hwirq), None, "{chip}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(chip in ".*", hwirq in ".*") {
            let _ = function_of(&chip, &hwirq);
            let _ = function_of(&format!("PCI-MSI-{chip}"), &hwirq);
        }
    }
}
