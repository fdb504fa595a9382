//! The container in a path: runtime, container id, pod.

use topotop_model::tables::cgroups::Cgroups;

/// The container in a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    runtime: &'static str,
    id: String,
    pod_uid: String,
    /// Name of a virtual machine or container that is called by name.
    name: String,
}

/// Writes the container of a group's path into its row.
pub(super) fn take(path: &str, table: &mut Cgroups, slot: usize) {
    let named = of_path(path);
    if named == Named::default() {
        return;
    }
    let texts = [
        (&mut table.runtime, named.runtime),
        (&mut table.container_id, &named.id),
        (&mut table.pod_uid, &named.pod_uid),
        (&mut table.container_name, &named.name),
    ];
    for (column, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        column.set(slot, text);
    }
    table.name_source.set(slot, "path");
}

/// Reads a path from its top down: what is deeper in it wins, as nested containers are.
fn of_path(path: &str) -> Named {
    let mut named = Named::default();
    let mut above = "";
    for part in path.split('/').filter(|part| !part.is_empty()) {
        // Runtimes on the cgroupfs driver under systemd write `slice:runtime:id`.
        let (prefix, last) = match part.rsplit_once(':') {
            Some((prefix, id)) if is_id(id) => (prefix.rsplit(':').next().unwrap_or_default(), id),
            _ => ("", part),
        };
        if let Some(uid) = pod_uid(part) {
            named = Named { pod_uid: uid, ..Named::default() };
        } else if !prefix.is_empty() {
            let runtime = runtime_of(prefix).unwrap_or(named.runtime);
            named = Named { runtime, id: last.to_owned(), pod_uid: named.pod_uid, name: String::new() };
        } else {
            component(part, above, &mut named);
        }
        above = part;
    }
    named
}

fn component(part: &str, above: &str, named: &mut Named) {
    let bare = part.strip_suffix(".scope").or_else(|| part.strip_suffix(".service")).unwrap_or(part);
    if let Some((prefix, id)) = bare.rsplit_once('-').filter(|(_, id)| is_id(id)) {
        // cri-containerd-ID, docker-ID, crio-ID, crio-conmon-ID, libpod-ID, libpod-conmon-ID, nerdctl-ID
        if let Some(runtime) = runtime_of(prefix).filter(|_| !prefix.ends_with("conmon")) {
            named.runtime = runtime;
            id.clone_into(&mut named.id);
            named.name.clear();
        }
        return;
    }
    if is_id(bare) && bare == part {
        // docker's and kubelet's own driver: /docker/ID, /kubepods/burstable/podUID/ID, /actions_job/ID
        let known = runtime_of(above).filter(|_| above != "init");
        if known.is_some() || !named.pod_uid.is_empty() {
            named.runtime = known.unwrap_or("");
            part.clone_into(&mut named.id);
            named.name.clear();
        }
        return;
    }
    if let Some((runtime, name)) = called(part, bare, above) {
        *named = Named { runtime, id: String::new(), pod_uid: std::mem::take(&mut named.pod_uid), name };
    }
}

/// Machines and containers that go by a name.
fn called(part: &str, bare: &str, above: &str) -> Option<(&'static str, String)> {
    if let Some(name) = part.strip_prefix("lxc.payload.").or_else(|| part.strip_prefix("lxc.payload-")) {
        return Some(("lxc", name.to_owned()));
    }
    if matches!(above, "lxc" | "lxc.payload") && part != "lxc" {
        return Some(("lxc", part.to_owned()));
    }
    // libvirt without machined: /machine/NAME.libvirt-qemu, /libvirt/qemu/NAME
    for (suffix, runtime) in [(".libvirt-qemu", "libvirt"), (".libvirt-lxc", "libvirt")] {
        if let Some(name) = part.strip_suffix(suffix) {
            return Some((runtime, name.to_owned()));
        }
    }
    if above == "qemu" {
        return Some(("libvirt", part.to_owned()));
    }
    if part.strip_suffix(".scope").is_some() {
        let name = unescape(bare.strip_prefix("machine-")?);
        // machine-qemu\x2d1\x2dNAME.scope: the number is libvirt's id.
        for prefix in ["qemu-", "lxc-"] {
            if let Some(rest) = name.strip_prefix(prefix) {
                let without = rest.split_once('-').filter(|(id, _)| id.bytes().all(|byte| byte.is_ascii_digit()));
                return Some(("libvirt", without.map_or(rest, |(_, name)| name).to_owned()));
            }
        }
        return Some(("systemd-nspawn", name));
    }
    let nspawn = bare.strip_prefix("systemd-nspawn@").filter(|_| part.ends_with(".service"))?;
    Some(("systemd-nspawn", unescape(nspawn)))
}

/// systemd's escapes of a unit name: `\x2d` is a dash.
fn unescape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("\\x") {
        out.push_str(before);
        let code = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(u8::is_ascii);
        match code {
            Some(code) => out.push(char::from(code)),
            None => out.push_str("\\x"),
        }
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    out.push_str(rest);
    out
}

/// The runtime of a prefix.
fn runtime_of(prefix: &str) -> Option<&'static str> {
    Some(match prefix {
        "docker" | "cri-dockerd" => "docker",
        "cri-containerd" | "containerd" | "nerdctl" => "containerd",
        "crio" | "cri-o" => "cri-o",
        "libpod" | "libpod-payload" | "libpod_parent" => "podman",
        _ => return None,
    })
}

/// Container ids are 64 hexadecimal digits; some runtimes show 32.
fn is_id(text: &str) -> bool {
    matches!(text.len(), 32 | 64) && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The uid in `kubepods-burstable-podUID.slice` (with `_` for `-`) or `podUID`.
fn pod_uid(part: &str) -> Option<String> {
    let bare = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match bare.rsplit_once("-pod") {
        Some((before, uid)) if before.contains("kubepods") && bare != part => uid,
        _ => bare.strip_prefix("pod").filter(|_| bare == part)?,
    };
    let plausible = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b'_');
    let digits = uid.bytes().filter(u8::is_ascii_hexdigit).count();
    (uid.bytes().all(plausible) && digits == 32).then(|| uid.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::{Named, of_path};
    use proptest::prelude::*;

    const ID: &str = "1d3d308a7d48a27814a68bf33a44acf4441c9c02463ca0bc1cdfdc8c0b4a8496";
    const UID: &str = "7a96c459-d529-44ae-9f99-90d3798d6426";

    fn named(runtime: &'static str, id: &str, pod_uid: &str, name: &str) -> Named {
        Named { runtime, id: id.to_owned(), pod_uid: pod_uid.to_owned(), name: name.to_owned() }
    }

    #[test]
    fn knows_pods_of_both_drivers() {
        let slice =
            format!("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice", UID.replace('-', "_"));
        assert_eq!(of_path(&slice), named("", "", UID, ""));
        for (prefix, runtime) in [("cri-containerd", "containerd"), ("docker", "docker"), ("crio", "cri-o")] {
            let path = format!("{slice}/{prefix}-{ID}.scope");
            assert_eq!(of_path(&path), named(runtime, ID, UID, ""), "{path}");
        }
        assert_eq!(of_path(&format!("{slice}/crio-conmon-{ID}.scope")), named("", "", UID, ""));
        let path = format!("/kubepods/burstable/pod{UID}/{ID}");
        assert_eq!(of_path(&path), named("", ID, UID, ""));
        let path = format!("/kubepods.slice/kubepods-pod{}.slice:cri-containerd:{ID}", UID.replace('-', "_"));
        assert_eq!(of_path(&path).runtime, "containerd");
        let static_uid = UID.replace('-', "");
        assert_eq!(of_path(&format!("/kubepods/pod{static_uid}/{ID}")).pod_uid, static_uid);
        // A cluster in a container: the inner container wins, below it the same one is meant.
        let kind = format!("/docker/{ID}/kubelet/kubepods/besteffort/pod{UID}/{ID}/init.scope");
        assert_eq!(of_path(&kind), named("", ID, UID, ""));
    }

    #[test]
    fn knows_other_runtimes() {
        assert_eq!(of_path(&format!("/docker/{ID}")), named("docker", ID, "", ""));
        assert_eq!(of_path(&format!("/system.slice/docker-{ID}.scope")), named("docker", ID, "", ""));
        assert_eq!(of_path(&format!("/machine.slice/libpod-{ID}.scope/container")), named("podman", ID, "", ""));
        assert_eq!(of_path("/lxc.payload.web1/system.slice"), named("lxc", "", "", "web1"));
        assert_eq!(of_path("/lxc/web2"), named("lxc", "", "", "web2"));
        assert_eq!(
            of_path("/machine.slice/machine-qemu\\x2d3\\x2ddb\\x2d17.scope/libvirt/vcpu0"),
            named("libvirt", "", "", "db-17")
        );
        assert_eq!(of_path("/machine/demo.libvirt-qemu"), named("libvirt", "", "", "demo"));
        assert_eq!(of_path("/libvirt/qemu/demo/emulator"), named("libvirt", "", "", "demo"));
        assert_eq!(of_path("/machine.slice/machine-sid.scope"), named("systemd-nspawn", "", "", "sid"));
        assert_eq!(of_path("/machine.slice/systemd-nspawn@sid.service"), named("systemd-nspawn", "", "", "sid"));
        for path in ["/", "/system.slice/docker.service", "/user.slice/user-0.slice/session-1.scope", "/docker"] {
            assert_eq!(of_path(path), Named::default(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(path: String, tail in "[a-z./:\\\\x@-]{0,60}") {
            of_path(&path);
            of_path(&tail);
        }
    }
}
