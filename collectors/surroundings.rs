//! The place that fixes are applied from: who came in how, what must stay reachable, what can be called. Read once,
//! before plans are made.

mod io_cost;
mod login;
mod routes;

use crate::Root;
use crate::parse::lines;
use crate::rights::holder;
use routes::Routes;
use std::net::IpAddr;
use std::path::Path;
use topotop_model::fix::Surroundings;
use topotop_model::text::from_bytes;

/// Programs that plans know how to use.
const PROGRAMS: [&str; 14] = [
    "irqbalance",
    "systemctl",
    "rc-service",
    "service",
    "ethtool",
    "taskset",
    "numactl",
    "migratepages",
    "ionice",
    "tuned-adm",
    "docker",
    "crictl",
    "podman",
    "kubectl",
];

/// Reads them. Of a captured machine only its files are known: no user is logged in there.
pub fn read(root: &Root) -> Surroundings {
    let routes = Routes::read(root);
    let (capabilities, uid) = if root.is_live() { holder(root) } else { (Vec::new(), 0) };
    Surroundings {
        login_nic: if root.is_live() { login::address(root).and_then(|address| nic(root, address)) } else { None },
        default_routes: routes.defaults(),
        network_mounts: mounts(root, &routes),
        systemd: root.exists("run/systemd/system"),
        openrc: root.exists("run/openrc/softlevel"),
        programs: programs(root),
        capabilities,
        uid,
        own: if root.is_live() { own() } else { Vec::new() },
        swap: swap(root),
        io_cost: io_cost::disks(root),
    }
}

/// Capabilities in effect: `CAP_NET_ADMIN`.
pub fn capabilities(root: &Root) -> Vec<String> {
    holder(root).0
}

/// This process, and the one that started it where that is the same program.
fn own() -> Vec<u32> {
    let exe = |pid: u32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let own = std::process::id();
    let parent = std::os::unix::process::parent_id();
    let is_same = exe(own).is_some_and(|program| exe(parent).as_ref() == Some(&program));
    std::iter::once(own).chain(is_same.then_some(parent)).collect()
}

/// Those that are there, and the scripts of services that a plan may start.
fn programs(root: &Root) -> Vec<String> {
    if !root.is_live() {
        return Vec::new();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"];
    let dirs: Vec<_> =
        std::env::split_paths(&path).filter(|dir| dir.is_absolute()).chain(usual.map(Into::into)).collect();
    let is_there = |name: &&&str| dirs.iter().any(|dir| is_program(&dir.join(name)));
    let scripts = ["init.d/irqbalance"].iter().filter(|script| root.exists(format!("etc/{script}")));
    PROGRAMS.iter().filter(is_there).chain(scripts).map(|name| (*name).to_owned()).collect()
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// A line of /proc/swaps after its header is a swap in use.
fn swap(root: &Root) -> bool {
    root.read_text("proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}

/// The interface that has an address of this machine.
fn nic(root: &Root, address: IpAddr) -> Option<String> {
    match address {
        IpAddr::V4(address) => {
            let known = crate::sys::addresses::addresses();
            known.into_iter().find(|(known, _)| *known == address).map(|(_, name)| name)
        }
        IpAddr::V6(address) => {
            let wanted = format!("{:032x}", address.to_bits());
            let text = root.read_text("proc/net/if_inet6").ok()?;
            let line = text.lines().find(|line| line.starts_with(&wanted))?;
            line.split_whitespace().nth(5).map(str::to_owned)
        }
    }
}

/// File systems and block devices of the network with the interfaces that they are reached by.
fn mounts(root: &Root, routes: &Routes) -> Vec<(String, String)> {
    let mut bytes = Vec::new();
    let mut found = Vec::new();
    // Without it nothing is known to be mounted.
    let _ = root.read("proc/self/mounts", &mut bytes);
    for line in lines(&bytes) {
        let text = from_bytes(line);
        let mut words = text.split(' ');
        let (Some(source), Some(at), Some(kind)) = (words.next(), words.next(), words.next()) else { continue };
        let Some(server) = server(source, kind, words.next().unwrap_or_default()) else { continue };
        found.extend(routes.to(server).map(|nic| (nic, format!("{at} ({kind})"))));
    }
    for name in root.names("sys/class/iscsi_connection").unwrap_or_default() {
        let address = root.read_text(format!("sys/class/iscsi_connection/{name}/address")).ok();
        let address = address.and_then(|text| text.trim().parse().ok());
        found.extend(address.and_then(|address| routes.to(address)).map(|nic| (nic, format!("iSCSI {name}"))));
    }
    found
}

/// The address of the server of a mount; none for a local file system, or a server without an address.
fn server(source: &str, kind: &str, options: &str) -> Option<IpAddr> {
    if !matches!(
        kind,
        "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "afs" | "glusterfs" | "fuse.glusterfs" | "fuse.sshfs" | "lustre"
    ) {
        return None;
    }
    let of_option = options.split(',').find_map(|option| option.strip_prefix("addr=")?.parse().ok());
    let bare = source.trim_start_matches('/');
    let host = match bare.strip_prefix('[') {
        Some(inner) => inner.split(']').next(),
        None => bare.split([':', '/', ',']).next(),
    };
    of_option.or_else(|| host?.rsplit('@').next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{read, server};
    use crate::Root;
    use crate::testing::put;

    #[test]
    fn servers_are_told_by_address() {
        let v4 = "10.0.0.5".parse().ok();
        assert_eq!(server("nas:/srv", "nfs4", "rw,vers=4.2,addr=10.0.0.5,clientaddr=10.0.0.9"), v4);
        assert_eq!(server("10.0.0.5:/srv", "nfs", ""), v4);
        assert_eq!(server("//10.0.0.5/share", "cifs", "rw"), v4);
        assert_eq!(server("10.0.0.5:6789,10.0.0.6:6789:/", "ceph", "rw"), v4);
        assert_eq!(server("me@10.0.0.5:/home", "fuse.sshfs", "rw"), v4);
        assert_eq!(server("[fd00::5]:/srv", "nfs", ""), "fd00::5".parse().ok());
        assert_eq!(server("nas:/srv", "nfs", "rw"), None);
        assert_eq!(server("/dev/sda1", "ext4", "rw"), None);
    }

    #[test]
    fn a_captured_machine_tells_what_its_files_do() {
        let dir = tempfile::tempdir().expect("a directory");
        let header = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
        let default = "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
        let near = "eth1\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        put(dir.path(), "proc/net/route", format!("{header}{default}{near}"));
        put(dir.path(), "proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n");
        put(
            dir.path(),
            "proc/self/mounts",
            "nas:/srv /srv\\040x nfs4 rw,addr=192.168.1.5 0 0\nproc /proc proc rw 0 0\n",
        );
        put(dir.path(), "sys/class/iscsi_connection/connection1:0/address", "10.9.9.9\n");
        let read = read(&Root::at(dir.path()).expect("a root"));
        assert_eq!(read.default_routes, ["eth0"]);
        let mounts = [("eth1", "/srv\\040x (nfs4)"), ("eth0", "iSCSI connection1:0")];
        assert_eq!(read.network_mounts, mounts.map(|(nic, what)| (nic.to_owned(), what.to_owned())));
        assert!(read.swap && !read.systemd && read.login_nic.is_none() && read.capabilities.is_empty());
    }

    #[test]
    fn this_machine_knows_who_asks() {
        let read = read(&Root::live().expect("a root"));
        assert_eq!(read.uid, rustix::process::geteuid().as_raw());
    }
}
