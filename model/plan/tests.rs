//! Plans for made-up machines.

use super::{Numa, Per, Program, Request, Taken, numa};
use crate::frame::{CpuPlace, Frame, Listener, Memory, Node, NodePlace, Topology};
use crate::{IdSet, Known};
use proptest::prelude::*;
use std::sync::Arc;

const GIB: u64 = 1 << 30;

fn set(list: &str) -> IdSet {
    IdSet::parse_list(list).expect("a list")
}

/// Fifteen CPUs on four nodes, two to a package, and a node without CPUs.
fn machine() -> Frame {
    let lists = ["0-3", "4-7", "8-11", "12-14", ""];
    let place = |id: u32| CpuPlace {
        id,
        node: Known::Value(id / 4),
        package: Known::Value(id / 8),
        core: Known::Value(id),
        online: true,
        ..CpuPlace::default()
    };
    let node = |(id, list): (usize, &&str)| NodePlace {
        id: id as u32,
        cpus: set(list),
        has_cpus: !list.is_empty(),
        has_memory: true,
        distances: (0..5).map(|to| (to, if to == id as u32 { 10 } else { 20 })).collect(),
        ..NodePlace::default()
    };
    let topology = Topology {
        cpus_online: set("0-14"),
        cpus: (0..15).map(place).collect(),
        nodes: lists.iter().enumerate().map(node).collect(),
        ..Topology::default()
    };
    let memory = |id| Node {
        id,
        memory_total_bytes: Known::Value(16 * GIB),
        memory_free_bytes: Known::Value(12 * GIB),
        file_bytes: Known::Value(GIB),
        ..Node::default()
    };
    Frame {
        topology: Arc::new(topology),
        nodes: (0..5).map(memory).collect(),
        memory: Memory { total_bytes: Known::Value(80 * GIB), ..Memory::default() },
        ..Frame::default()
    }
}

/// An application server with four ports.
fn server() -> Program {
    let words = [
        "/usr/bin/java",
        "-Xms24g",
        "-Xmx24g",
        "-cp",
        "/opt/tongweb/lib/*:/opt/tongweb/bin/boot.jar",
        "-Djava.io.tmpdir=/opt/tongweb/temp",
        "-Dtongweb.home=/opt/tongweb",
        "-Dlog.dir=/var/log/tongweb",
        "-Dpid.file=/run/tongweb.pid",
        "--config",
        "/opt/tongweb/config/twns.xml",
        "-Dhttp.port=8080",
        "start it's",
    ];
    let listener =
        |port| Listener { port, protocol: "tcp".into(), address: "::".into(), netns: 1, queued: None, backlog: None };
    Program {
        argv: words.map(str::to_owned).to_vec(),
        exe: "/usr/lib/jvm/bin/java".into(),
        directory: "/opt/tongweb".into(),
        comm: "java".into(),
        user: "tong".into(),
        pid: Some(4121),
        listen: Some([8080, 7200, 9060, 5100].map(listener).to_vec()),
        paths: vec!["/run/tongweb.sock".into()],
        busiest_port: Some(8080),
        rss_bytes: Some(20 * GIB),
        by_node: vec![(0, 10 * GIB), (1, 10 * GIB)],
    }
}

fn request<'a>(frame: &'a Frame, program: &'a Program) -> Request<'a> {
    let taken = Taken { port: 8081, protocol: "tcp".into(), who: "nginx (812)".into() };
    Request {
        frame,
        program,
        per: Per::Node,
        instances: None,
        heap_bytes: None,
        allowed: None,
        taken: vec![taken],
        ephemeral: Some((32768, 60999)),
        numactl: true,
    }
}

fn news(plan: &Numa, old: u16) -> Vec<u16> {
    plan.ports.iter().filter(|port| port.old == old).map(|port| port.new).collect()
}

#[test]
fn a_server_on_four_nodes_reads_well() {
    let (frame, program) = (machine(), server());
    let plan = numa(&request(&frame, &program)).expect("a plan");
    insta::assert_snapshot!(plan.text());
    assert_eq!(plan.instances.len(), 4, "the node without CPUs has none");
}

#[test]
fn without_numactl_units_and_taskset_bind() {
    let (frame, program) = (machine(), Program { listen: None, pid: None, ..server() });
    let plan = numa(&Request { numactl: false, heap_bytes: Some(15 * GIB), ..request(&frame, &program) });
    let plan = plan.expect("a plan");
    let first = &plan.instances[0];
    assert!(first.start.starts_with("cd /opt/tongweb-n0 && taskset -c 0-3 /usr/bin/java "), "{}", first.start);
    insta::assert_snapshot!(first.unit_text);
    // What does not fit is not bound.
    assert_eq!(
        (first.memory, first.why.as_str()),
        ("preferred", "15.0 GiB does not fit into 12.8 GiB, 80% of the memory of node 0")
    );
}

#[test]
fn packages_and_numbers_may_be_asked_for() {
    let (frame, program) = (machine(), server());
    let per = |per, instances| numa(&Request { per, instances, ..request(&frame, &program) });
    let packages = per(Per::Package, None).expect("a plan");
    let places: Vec<_> =
        packages.instances.iter().map(|instance| (instance.cpus.as_str(), instance.memory_nodes.as_str())).collect();
    assert_eq!(places, [("0-7", "0-1"), ("8-14", "2-3")]);
    assert!(packages.instances[0].start.contains("--cpunodebind=0-1 --membind=0-1"), "{}", packages.instances[0].start);
    let six = per(Per::Node, Some(6)).expect("a plan");
    let cpus: Vec<_> = six.instances.iter().map(|instance| (instance.name.as_str(), instance.cpus.as_str())).collect();
    assert_eq!(
        cpus,
        [
            ("java-n0-1", "0-1"),
            ("java-n0-2", "2-3"),
            ("java-n1-1", "4-5"),
            ("java-n1-2", "6-7"),
            ("java-n2", "8-11"),
            ("java-n3", "12-14")
        ]
    );
    assert!(six.instances[0].start.contains("--physcpubind=0-1"));
    for wrong in [0, 16, 1000] {
        assert!(per(Per::Node, Some(wrong)).is_err(), "{wrong}");
    }
    let two = per(Per::Node, Some(2)).expect("a plan");
    assert!(two.notes.iter().any(|note| note.contains("fewer instances (2) than nodes (4)")), "{:?}", two.notes);
}

#[test]
fn a_taken_port_is_skipped_and_no_port_is_given_twice() {
    let (frame, mut program) = (machine(), server());
    let plan = numa(&request(&frame, &program)).expect("a plan");
    assert_eq!((news(&plan, 8080), news(&plan, 5100)), (vec![8082, 8083, 8084, 8085], vec![5101, 5102, 5103, 5104]));
    assert_eq!(
        plan.ports.iter().find(|port| port.old == 8080).map(|port| port.skipped.clone()),
        Some(vec!["8081 is used by nginx (812)".to_owned()])
    );
    let mut all: Vec<u16> = plan.ports.iter().map(|port| port.new).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 16);
    // Below 1024 ports are root's; at the end of all ports it goes on from the first; those of connections are left out.
    for (old, first) in [(80, 8082), (65535, 1024), (32767, 61000), (40000, 40001)] {
        program.listen.as_mut().expect("sockets")[0].port = old;
        let plan = numa(&request(&frame, &program)).expect("a plan");
        assert_eq!(news(&plan, old).first(), Some(&first), "{old}");
    }
}

#[test]
fn one_place_is_no_plan() {
    let mut frame = machine();
    let topology = Arc::make_mut(&mut frame.topology);
    topology.nodes.truncate(1);
    let program = server();
    assert!(numa(&request(&frame, &program)).is_err_and(|why| why.contains("only one node has usable CPUs")));
    let halves = numa(&Request { instances: Some(2), ..request(&frame, &program) }).expect("a plan");
    assert_eq!(halves.instances.iter().map(|instance| instance.cpus.as_str()).collect::<Vec<_>>(), ["0-1", "2-3"]);
    let nothing = Program::default();
    assert!(numa(&request(&frame, &nothing)).is_err());
}

#[test]
fn a_node_without_memory_prefers_the_nearest() {
    let (mut frame, program) = (machine(), server());
    let topology = Arc::make_mut(&mut frame.topology);
    topology.nodes[1].has_memory = false;
    topology.nodes[1].distances = vec![(0, 30), (1, 10), (2, 20)];
    let plan = numa(&request(&frame, &program)).expect("a plan");
    assert_eq!((plan.instances[1].memory, plan.instances[1].memory_nodes.as_str()), ("preferred", "2"));
}

#[test]
fn only_its_own_cpus_are_cut() {
    let (frame, program) = (machine(), server());
    let plan = numa(&Request { allowed: Some(set("2-5,99")), ..request(&frame, &program) }).expect("a plan");
    let cpus: Vec<_> = plan.instances.iter().map(|instance| instance.cpus.as_str()).collect();
    assert_eq!(cpus, ["2-3", "4-5"]);
    assert!(plan.instances[0].start.contains("--physcpubind=2-3 --membind=0"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    /// Whatever stands on a command line: no panic, nothing that steers a terminal, one line for each start.
    #[test]
    fn no_command_line_breaks_a_plan(
        argv in prop::collection::vec("[^\u{0}]{0,24}|--?[a-zD.]{1,8}=?/?[a-z/.]{0,12}|/[a-z/.]{0,12}|-Xm[xs][0-9a-z]{0,22}", 1..12),
        directory in "/?[^\u{0}]{0,12}",
        ports in prop::collection::vec(any::<u16>(), 0..6),
        per in any::<bool>(),
        instances in prop::option::of(0u32..20),
    ) {
        let frame = machine();
        let listener = |port| Listener { port, protocol: "tcp".into(), address: "::\u{1b}[2J".into(), netns: 1, queued: None, backlog: None };
        let listen = Some(ports.into_iter().map(listener).collect());
        let program = Program { comm: argv[0].chars().take(15).collect(), argv, directory, listen, ..server() };
        let per = if per { Per::Node } else { Per::Package };
        if let Ok(plan) = numa(&Request { per, instances, ..request(&frame, &program) }) {
            let text = plan.text();
            prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
            for instance in &plan.instances {
                prop_assert_eq!(instance.argv.len() >= program.argv.len(), true);
                prop_assert!(!instance.start.contains('\n'), "{:?}", instance.start);
                prop_assert_eq!(instance.unit_text.matches("\nExecStart=").count(), 1);
                prop_assert!(!instance.name.contains('/'));
            }
        }
    }
}
