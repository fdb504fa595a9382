//! On interfaces of a network of their own.

use super::super::{Kernel, Machine as _, Trouble};
use super::{counts, table};
use crate::fix::applier::{Applier, resolve};
use crate::fix::journal::File;
use proptest::prelude::*;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use topotop_collectors::Root;
use topotop_collectors::sys::ethtool::{Counts, set_channels};
use topotop_model::Known;
use topotop_model::fix::{self, Case, Plan, Surroundings, Target};
use topotop_model::frame::{Channel, Channels, Frame, Nic, Queue};
use topotop_model::journal::{Applied, State};
use topotop_model::rules::{self, Evidence, Figure, Finding, Severity, Subject};

#[test]
fn values_are_counts_and_tables() {
    assert_eq!(counts("combined 4").expect("counts"), Counts { combined: Some(4), ..Counts::default() });
    assert_eq!(counts("rx 2 tx 1").expect("counts"), Counts { rx: Some(2), tx: Some(1), combined: None });
    for wrong in ["", "combined", "combined x", "other 1", "rx -1"] {
        assert!(counts(wrong).is_err(), "{wrong}");
    }
    assert_eq!(table("equal 3", 5), Some(vec![0, 1, 2, 0, 1]));
    assert_eq!(table("0*2 3*1", 3), Some(vec![0, 0, 3]));
    for wrong in ["equal 0", "0*2", "0*4", "0*99999999999", "x", "", "0*2 1"] {
        assert_eq!(table(wrong, 3), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn no_value_panics(value in "[a-z0-9* ]{0,30}", entries in 0usize..200) {
        let _ = (counts(&value), table(&value, entries));
    }
}

/// Runs a test of this file in a network and a /sys of its own, with a pair of interfaces of four queues each.
fn in_namespace(test: &str, wrapper: &str) {
    let trial = Command::new("unshare").args(["-nm", "true"]).output();
    if !trial.is_ok_and(|output| output.status.success()) {
        // Without the right to namespaces there is nothing to change safely; in CI no test may pass by not running.
        assert!(std::env::var_os("CI").is_none(), "no network namespace can be made here");
        return;
    }
    let make = "mount -t sysfs sysfs /sys && ip link add v0 numrxqueues 4 numtxqueues 4 type veth peer name v1 && ip link set v0 up";
    let program = std::env::current_exe().expect("an own path");
    let line =
        format!("{make} && exec {wrapper} \"$0\" --exact fix::machine::nic::tests::{test} --ignored --nocapture");
    let output = Command::new("unshare").args(["-nm", "sh", "-c", &line]).arg(program).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn kernel() -> Kernel {
    Kernel::new(Arc::new(Root::live().expect("this machine")))
}

fn write(target: &Target, value: &str) -> Result<(), Trouble> {
    kernel().write(target, "", value, &mut |_| ControlFlow::Continue(()))
}

fn read(target: &Target) -> String {
    kernel().values(target).expect("a value").remove(0).1
}

#[test]
fn channels_are_set_and_refused_in_the_kernels_words() {
    in_namespace("set_in_a_namespace", "");
}

#[test]
#[ignore = "changes interfaces: run in a namespace by another test"]
fn set_in_a_namespace() {
    let channels = Target::Channels { nic: "v0".to_owned() };
    let old = read(&channels);
    for value in ["rx 2 tx 3", "rx 4 tx 4", "rx 1 tx 1", &old] {
        write(&channels, value).expect(value);
        assert_eq!(read(&channels), *value);
    }
    for (value, says) in [("rx 9 tx 1", "exceeds maximum"), ("rx 0 tx 1", "no RX or TX channel")] {
        let trouble = write(&channels, value).expect_err(value);
        assert_eq!(trouble.errno, Some(Errno::INVAL.raw_os_error()));
        assert!(trouble.message.contains(says), "{trouble}");
    }
    assert_eq!(read(&channels), old, "what is refused changes nothing");
    // The older way says the same.
    let exceeded = set_channels("v0", Counts { rx: Some(9), ..Counts::default() });
    assert_eq!(exceeded, Err(Errno::INVAL));
    set_channels("v0", Counts { rx: Some(3), tx: Some(2), combined: None }).expect("set");
    assert_eq!(read(&channels), "rx 3 tx 2");
    let steering = Target::file("/sys/class/net/v0/queues/rx-0/rps_cpus");
    let before = read(&steering);
    write(&steering, "2").expect("set");
    assert!(steering.agrees("2", &read(&steering)), "{}", read(&steering));
    assert_eq!(
        write(&steering, "1,00000000,00000000,00000000,00000000,00000000").map_err(|trouble| trouble.errno),
        Err(Some(Errno::OVERFLOW.raw_os_error()))
    );
    write(&steering, &before).expect("set");
    assert_eq!(read(&steering), before);
    for target in [Target::Rings { nic: "v0".to_owned() }, Target::RssTable { nic: "v0".to_owned() }] {
        assert!(write(&target, "equal 2").is_err(), "{target}");
    }
    assert!(write(&Target::Channels { nic: "v9".to_owned() }, "rx 1").is_err());
}

#[test]
fn who_may_not_is_told_so() {
    let drop = "setpriv --bounding-set=-net_admin --inh-caps=-net_admin";
    in_namespace("refused_in_a_namespace", drop);
}

#[test]
#[ignore = "run in a namespace and without a capability by another test"]
fn refused_in_a_namespace() {
    let channels = Target::Channels { nic: "v0".to_owned() };
    let trouble = write(&channels, "rx 3 tx 3").expect_err("refused");
    assert_eq!(trouble.errno, Some(Errno::PERM.raw_os_error()), "{trouble}");
    assert!(trouble.message.contains("CAP_NET_ADMIN"), "{trouble}");
    let steering = Target::file("/sys/class/net/v0/queues/rx-0/rps_cpus");
    let trouble = write(&steering, "2").expect_err("refused");
    assert!(
        trouble.errno == Some(Errno::PERM.raw_os_error()) && trouble.message.contains("CAP_NET_ADMIN"),
        "{trouble}"
    );
}

#[test]
fn a_plan_is_applied_and_taken_back() {
    in_namespace("apply_in_a_namespace", "");
}

/// What NIC-01 says of an interface whose driver splits channels.
fn plan() -> Plan {
    let index = std::fs::read_to_string("/sys/class/net/v0/ifindex").expect("an index");
    let channel = |current| Channel { current: Known::Value(current), max: Known::Value(4) };
    let queue = |direction: &str| Queue { direction: direction.into(), ..Queue::default() };
    let nic = Nic {
        name: "v0".into(),
        ifindex: index.trim().parse().expect("a number"),
        driver: "veth".into(),
        channels: Channels { rx: channel(1), tx: channel(1), ..Channels::default() },
        queues: vec![queue("rx"), queue("tx")],
        ..Nic::default()
    };
    let frame = Frame { nics: vec![nic], ..Frame::default() };
    let wanted = Evidence { name: "recommended", value: Figure::Number(3.0), unit: "", source: "" };
    let finding = Finding {
        rule: rules::find("NIC-01").expect("a rule"),
        subject: Subject::Nic("v0".into()),
        severity: Severity::Critical,
        confidence: 1.0,
        since: topotop_model::Stamp::default(),
        evidence: vec![wanted],
        children: Vec::new(),
    };
    let (set, surroundings) = (BTreeMap::new(), Surroundings::default());
    let case = Case { finding: &finding, frame: &frame, set: &set, surroundings: &surroundings, metric: None };
    let fix = fix::ALL.iter().find(|fix| fix.id == "F-CHAN").expect("a fix");
    (fix.plan)(&case).expect("a plan")
}

/// Every file of the interface's queues, with what it holds.
fn files() -> BTreeMap<String, String> {
    fn walk(dir: &Path, into: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, into);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                into.insert(path.display().to_string(), text);
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(Path::new("/sys/class/net/v0/queues"), &mut files);
    files.retain(|path, _| !path.ends_with("inflight") && !path.contains("stall") && !path.ends_with("tx_timeout"));
    files
}

#[test]
#[ignore = "changes interfaces: run in a namespace by another test"]
fn apply_in_a_namespace() {
    let channels = Target::Channels { nic: "v0".to_owned() };
    write(&channels, "rx 1 tx 1").expect("one each");
    write(&Target::file("/sys/class/net/v0/queues/rx-0/rps_cpus"), "1").expect("steered");
    let before = files();
    let state = tempfile::tempdir().expect("a directory");
    let (mut machine, mut journal) = (kernel(), File::open(state.path()).expect("a journal"));
    let proposal = resolve(&machine, &plan());
    assert_eq!(proposal.refused, None);
    let mut quiet = |_| ControlFlow::Continue(());
    let done = Applier::new(&mut machine, &mut journal, &mut quiet).apply(&proposal, "a test", None).expect("applied");
    assert_eq!((done.state, read(&channels).as_str()), (Applied::Applied, "rx 3 tx 3"), "{:?}", done.outcomes);
    assert_ne!(files(), before);
    drop(journal);
    let known = crate::fix::journal::read(state.path()).expect("a journal");
    let application = known.applications.last().expect("one");
    assert_eq!(application.state(), State::Applied);
    let mut journal = File::open(state.path()).expect("a journal");
    let returned = Applier::new(&mut machine, &mut journal, &mut quiet)
        .undo(application, &topotop_model::journal::Because::Asked, false)
        .expect("undone");
    assert!(returned.whole, "{:?}", returned.outcomes);
    assert_eq!(read(&channels), "rx 1 tx 1");
    assert_eq!(files(), before);
    // Somebody else's interface of that name is not touched.
    let again = Command::new("ip").args(["link", "del", "v0"]).status().expect("ip runs");
    assert!(again.success());
    let made = Command::new("ip")
        .args(["link", "add", "v0", "numrxqueues", "4", "numtxqueues", "4", "type", "veth", "peer", "name", "v2"])
        .status();
    assert!(made.expect("ip runs").success());
    let refused =
        Applier::new(&mut machine, &mut journal, &mut quiet).apply(&proposal, "a test", None).expect_err("refused");
    assert!(refused.0.contains("a different interface now"), "{refused}");
}

#[test]
fn a_name_that_another_interface_takes_meanwhile_is_not_written_to() {
    in_namespace("renamed_in_a_namespace", "");
}

#[test]
#[ignore = "changes interfaces: run in a namespace by another test"]
fn renamed_in_a_namespace() {
    let channels = |nic: &str| read(&Target::Channels { nic: nic.to_owned() });
    write(&Target::Channels { nic: "v0".to_owned() }, "rx 1 tx 1").expect("one each");
    let ip = |words: &str| Command::new("ip").args(words.split(' ')).status().is_ok_and(|status| status.success());
    let others = channels("v1");
    let steering = Target::file("/sys/class/net/v0/queues/rx-0/rps_cpus");
    let mut files = plan();
    files.steps = vec![fix::Step::new("steering", steering, "2")];
    for (plan, name) in [(plan(), "x0"), (files, "x1")] {
        let state = tempfile::tempdir().expect("a directory");
        let (mut machine, mut journal) = (kernel(), File::open(state.path()).expect("a journal"));
        let proposal = resolve(&machine, &plan);
        assert_eq!(proposal.refused, None);
        let mut swap = |event: crate::fix::applier::ApplyEvent| {
            if matches!(event, crate::fix::applier::ApplyEvent::Writing { .. }) {
                assert!(ip(&format!("link set v0 down name {name}")) && ip("link set v1 name v0"));
            }
            ControlFlow::Continue(())
        };
        let applied = Applier::new(&mut machine, &mut journal, &mut swap).apply(&proposal, "a test", None);
        let done = applied.expect("a result");
        assert_ne!(done.state, Applied::Applied, "{done:?}");
        assert_eq!((channels(name).as_str(), &channels("v0")), ("rx 1 tx 1", &others));
        let untouched = std::fs::read_to_string("/sys/class/net/v0/queues/rx-0/rps_cpus").expect("read");
        assert!(untouched.trim().bytes().all(|digit| b"0,".contains(&digit)), "{untouched}");
        assert!(ip("link set v0 name v1") && ip(&format!("link set {name} name v0")));
    }
}
