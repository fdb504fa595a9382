//! The local address of the user's SSH login.

use crate::Root;
use crate::processes::stat;
use std::net::IpAddr;

/// What sshd sets: address and port of the client, then of this machine (ssh(1)).
const VARIABLE: &str = "SSH_CONNECTION";
/// Parents searched at most.
const DEPTH: u32 = 32;

/// The local address: of the environment, or of the parents', where sudo or su left it out.
pub(super) fn address(root: &Root) -> Option<IpAddr> {
    if let Ok(value) = std::env::var(VARIABLE) {
        return parse(&value);
    }
    let mut pid = u64::from(std::process::id());
    let mut bytes = Vec::new();
    for _ in 0..DEPTH {
        root.read(format!("proc/{pid}/stat"), &mut bytes).ok()?;
        pid = stat::parse(&bytes)?.ppid;
        if pid <= 1 {
            return None;
        }
        // Another user's process cannot be read: its parent may be this user's again.
        if root.read(format!("proc/{pid}/environ"), &mut bytes).is_ok()
            && let Some(address) = of_environment(&bytes)
        {
            return Some(address);
        }
    }
    None
}

fn of_environment(bytes: &[u8]) -> Option<IpAddr> {
    let prefix = format!("{VARIABLE}=");
    let value = bytes.split(|&byte| byte == 0).find_map(|variable| variable.strip_prefix(prefix.as_bytes()))?;
    parse(std::str::from_utf8(value).ok()?)
}

/// The third word; a link-local one is followed by its interface.
fn parse(value: &str) -> Option<IpAddr> {
    let address: IpAddr = value.split_whitespace().nth(2)?.split('%').next()?.parse().ok()?;
    Some(match address {
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4),
        v4 @ IpAddr::V4(_) => v4,
    })
}

#[cfg(test)]
mod tests {
    use super::of_environment;
    use proptest::prelude::*;

    #[test]
    fn the_local_address_is_the_third_word() {
        let of = |text: &str| of_environment(text.as_bytes()).map(|address| address.to_string());
        assert_eq!(of("A=b\0SSH_CONNECTION=10.0.0.1 4711 10.0.0.2 22\0"), Some("10.0.0.2".to_owned()));
        assert_eq!(of("SSH_CONNECTION=fe80::1%eth0 4711 fe80::2%eth0 22"), Some("fe80::2".to_owned()));
        assert_eq!(of("SSH_CONNECTION=::ffff:10.0.0.1 1 ::ffff:10.0.0.2 22"), Some("10.0.0.2".to_owned()));
        for text in ["", "SSH_CONNECTION=", "SSH_CONNECTION=a b c d", "XSSH_CONNECTION=1 2 10.0.0.2 22"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = of_environment(&bytes);
            let _ = of_environment(&[b"SSH_CONNECTION=".as_slice(), &bytes].concat());
        }
    }
}
