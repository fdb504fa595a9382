//! Names of interfaces: those that the kernel or systemd gives stay, those that people give go.

use super::names::{Names, is_hex};

/// What numbered interfaces are called.
const NUMBERED: [&str; 32] = [
    "bond", "br", "bridge", "cni", "docker", "dummy", "erspan", "eth", "flannel", "gre", "gretap", "ib", "ifb",
    "ip6gre", "ip6tnl", "ipvlan", "kube", "ipvs", "lo", "lxcbr", "macvlan", "macvtap", "sit", "tap", "team", "tun",
    "tunl", "usb", "virbr", "vlan", "vxlan", "wg",
];
/// What interfaces of containers and machines are called, with a random number behind it.
const RANDOM: [&str; 5] = ["veth", "cali", "lxc", "vnet", "tap"];
/// What systemd's predictable names begin with.
const PREDICTABLE: [&str; 4] = ["en", "wl", "ww", "ib"];

impl Names {
    /// Another name for an interface that has one of its own.
    pub fn interface(&self, name: &str) -> String {
        self.each_word(name, |word, out| self.interface_word(word, out))
    }

    fn interface_word(&self, word: &str, out: &mut String) {
        if is_usual(word) {
            return out.push_str(word);
        }
        let random = RANDOM.iter().find_map(|prefix| Some((prefix, word.strip_prefix(prefix)?)));
        match random.filter(|(_, rest)| is_hex(rest)) {
            Some((prefix, rest)) => {
                out.push_str(prefix);
                out.push_str(&self.hex(rest, rest.len()));
            }
            None => self.word(word, out),
        }
    }

    /// The words of an interface's name that are not to be seen elsewhere either.
    pub(super) fn private_words(&self, name: &str, found: &mut Vec<String>) {
        let words = name.split(|c: char| !c.is_alphanumeric());
        let mut out = String::new();
        for word in words {
            out.clear();
            self.interface_word(word, &mut out);
            if out != word {
                found.push(word.to_owned());
            }
        }
    }

    /// A name of the kernel's with such words in it.
    pub(super) fn around_interfaces(&self, name: &str, private: &[String]) -> String {
        self.each_word(name, |word, out| {
            if private.iter().any(|private| private == word) {
                self.interface_word(word, out);
            } else {
                out.push_str(word);
            }
        })
    }
}

fn is_usual(word: &str) -> bool {
    let digits = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    let place = |rest: &str| {
        rest.bytes().any(|byte| byte.is_ascii_digit())
            && rest.bytes().all(|byte| byte.is_ascii_digit() || b"psfdnoPbcvi".contains(&byte))
    };
    NUMBERED.iter().any(|prefix| word.strip_prefix(prefix).is_some_and(digits))
        || PREDICTABLE.iter().any(|prefix| word.strip_prefix(prefix).is_some_and(place))
}

#[cfg(test)]
mod tests {
    use super::Names;
    use std::collections::hash_map::RandomState;

    #[test]
    fn usual_names_stay_and_own_ones_go() {
        let names = Names::new(RandomState::new());
        for kept in ["eth0", "enp195s0f0np0", "eno1", "lo", "bond0", "eth0.100", "docker0", "flannel.1", "wlp3s0"] {
            assert_eq!(names.interface(kept), kept);
        }
        for own in ["acme0", "enx525400123456", "veth1a2b3c4", "br-0123456789ab", "secret-lan"] {
            assert_ne!(names.interface(own), own);
        }
        assert!(names.interface("veth1a2b3c4").starts_with("veth"));
        let mut private = Vec::new();
        names.private_words("acme0", &mut private);
        let own = names.interface("acme0");
        assert_eq!(names.around_interfaces("acme0-TxRx-3", &private), format!("{own}-TxRx-3"));
        assert_eq!(names.around_interfaces("mlx5_comp0@pci:0000:01:00.0", &private), "mlx5_comp0@pci:0000:01:00.0");
    }
}
