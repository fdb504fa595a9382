//! By which interface an address is reached: the main tables of `/proc/net/route` and `/proc/net/ipv6_route`.

use crate::Root;
use crate::parse::whole_lines;
use std::net::{IpAddr, Ipv6Addr};

/// RTF_REJECT of linux/route.h: there is no way there.
const REJECT: u32 = 0x200;

/// A prefix with its interface; IPv4 as mapped into IPv6.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Route {
    prefix: u128,
    bits: u32,
    nic: String,
}

/// Where packets go.
#[derive(Debug, Default)]
pub(super) struct Routes {
    list: Vec<Route>,
}

impl Routes {
    pub(super) fn read(root: &Root) -> Self {
        let mut bytes = Vec::new();
        let mut list = Vec::new();
        for (path, parse) in [("proc/net/route", v4 as fn(&str) -> Option<Route>), ("proc/net/ipv6_route", v6)] {
            if root.read(path, &mut bytes).is_ok() {
                let text = String::from_utf8_lossy(whole_lines(&bytes).0).into_owned();
                list.extend(text.lines().filter_map(parse));
            }
        }
        Self { list }
    }

    /// The interfaces of default routes.
    pub(super) fn defaults(&self) -> Vec<String> {
        let default = |route: &&Route| route.bits == 0 || (route.bits == 96 && route.prefix == mapped(0));
        let mut nics: Vec<String> = self.list.iter().filter(default).map(|route| route.nic.clone()).collect();
        nics.sort_unstable();
        nics.dedup();
        nics
    }

    /// The interface that an address is reached by: of the longest prefix.
    pub(super) fn to(&self, address: IpAddr) -> Option<String> {
        let address = match address {
            IpAddr::V4(address) => mapped(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        let leads = |route: &&Route| route.bits == 0 || (route.prefix ^ address) >> (128 - route.bits) == 0;
        // A mapped address is reached by IPv4 only.
        let is_v4 = address >> 32 == mapped(0) >> 32;
        let fits = |route: &&Route| !is_v4 || route.bits >= 96;
        self.list.iter().filter(fits).filter(leads).max_by_key(|route| route.bits).map(|route| route.nic.clone())
    }
}

fn mapped(bits: u32) -> u128 {
    0xffff_0000_0000 | u128::from(bits)
}

/// Interface, destination, gateway, flags, …, mask at 7; numbers as the machine keeps addresses in memory.
fn v4(line: &str) -> Option<Route> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let word = |index: usize| u32::from_str_radix(words.get(index)?, 16).ok();
    let network = |number: u32| u32::from_be_bytes(number.to_ne_bytes());
    let (destination, flags, mask) = (network(word(1)?), word(3)?, network(word(7)?));
    let is_way = flags & REJECT == 0 && mask.leading_ones() + mask.trailing_zeros() >= 32;
    let bits = if mask == 0 { 0 } else { mask.leading_ones() };
    let nic = (*words.first()?).to_owned();
    is_way.then_some(Route { prefix: mapped(destination), bits: 96 + bits, nic })
}

/// Destination and prefix length, source and its length, next hop, metric, reference count, use, flags, interface.
fn v6(line: &str) -> Option<Route> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let destination = words.first().filter(|word| word.len() == 32)?;
    let prefix = Ipv6Addr::from_bits(u128::from_str_radix(destination, 16).ok()?);
    let bits = u32::from_str_radix(words.get(1)?, 16).ok().filter(|&bits| bits <= 128)?;
    let flags = u32::from_str_radix(words.get(8)?, 16).ok()?;
    let nic = (*words.get(9)?).to_owned();
    (flags & REJECT == 0 && nic != "lo").then_some(Route { prefix: prefix.to_bits(), bits, nic })
}

#[cfg(test)]
mod tests {
    use super::{Routes, v4, v6};
    use proptest::prelude::*;

    fn routes() -> Routes {
        let four = ["eth0 00000000 0100000A 0003 0 0 0 00000000", "eth1 0001A8C0 00000000 0001 0 0 0 00FFFFFF"];
        let zero = "0".repeat(32);
        let net = format!("fd00{}", "0".repeat(28));
        let six = [
            format!("{zero} 00 {zero} 00 {zero} 00000400 1 0 00000003 eth2"),
            format!("{net} 40 {zero} 00 {zero} 00000100 1 0 00000001 eth3"),
            format!("{zero} 00 {zero} 00 {zero} ffffffff 1 0 00200200 lo"),
        ];
        Routes { list: four.iter().filter_map(|line| v4(line)).chain(six.iter().filter_map(|line| v6(line))).collect() }
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_longest_prefix_leads() {
        let routes = routes();
        assert_eq!(routes.list.len(), 4);
        assert_eq!(routes.defaults(), ["eth0", "eth2"]);
        let to = |address: &str| routes.to(address.parse().expect("an address"));
        for (address, nic) in
            [("192.168.1.9", "eth1"), ("192.168.2.9", "eth0"), ("fd00::1", "eth3"), ("fe80::1", "eth2")]
        {
            assert_eq!(to(address).as_deref(), Some(nic), "{address}");
        }
        let none = Routes { list: routes.list.iter().filter(|route| route.bits == 0).cloned().collect() };
        assert_eq!(none.to("10.0.0.1".parse().expect("an address")), None, "not by IPv6");
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".{0,60}", address: u128) {
            let list = v4(&line).into_iter().chain(v6(&line)).collect();
            let _ = Routes { list }.to(std::net::Ipv6Addr::from_bits(address).into());
        }
    }
}
