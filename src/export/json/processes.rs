//! Processes.

use super::sockets;
use super::value::{ById, Set, Text, by_id, object, set, text};
use topotop_model::Known;
use topotop_model::frame::{self, AffinityGroup};

object! {
    pub(crate) Process {
        pid: u32,
        starttime: u64,
        comm: Text,
        cmdline: Option<Text>,
        cgroup: Option<Text>,
        state: Option<String>,
        kernel: bool,
        uid: Known<u32>,
        threads: Known<u64>,
        cpu_cores: Option<f64>,
        cpu_by_node: Option<ById<f64>>,
        wait_share: Option<f64>,
        run_wait_cores: Option<f64>,
        io_delay_cores: Option<f64>,
        blocked_threads: Option<u32>,
        last_cpu: Known<u32>,
        affinity: Option<Set>,
        thread_affinities: Option<Vec<Affinity>>,
        mems_allowed: Option<Set>,
        policy: Option<Text>,
        rss_bytes: Known<u64>,
        memory_by_node: Option<ById<u64>>,
        file_by_node: Option<ById<u64>>,
        memory_source: Option<&'static str>,
        memory_error: Option<f64>,
        memory_age_seconds: Option<f64>,
        remote_ratio: Option<f64>,
        read_bytes_per_second: Option<f64>,
        write_bytes_per_second: Option<f64>,
        majflt_per_second: Option<f64>,
        listen: Option<Vec<sockets::Listener>>,
        peers: Option<Vec<sockets::Peer>>,
        jvm: Option<sockets::Jvm>,
        beam: Option<Beam>,
    }
}

object! {
    pub(crate) Affinity {
        cpus: Set,
        count: u32,
    }
}

object! {
    pub(crate) Beam {
        bind_type_configured: Known<Text>,
        bound_now: Known<bool>,
        schedulers: Known<u64>,
        schedulers_active: Option<u64>,
        pinned: ById<u32>,
    }
}

pub(super) fn process(process: &frame::Process) -> Process {
    let memory = process.memory.as_ref();
    Process {
        pid: process.pid,
        starttime: process.starttime,
        comm: Text::from(&process.comm),
        cmdline: text(&process.cmdline),
        cgroup: text(&process.cgroup),
        state: process.state.is_ascii_alphabetic().then(|| process.state.to_string()),
        kernel: process.kernel,
        uid: process.uid,
        threads: process.threads,
        cpu_cores: process.cpu_cores,
        cpu_by_node: by_id(&process.cpu_by_node),
        wait_share: process.wait_share,
        run_wait_cores: process.run_wait_cores,
        io_delay_cores: process.io_delay_cores,
        blocked_threads: process.state.is_ascii_alphabetic().then_some(process.blocked_threads),
        last_cpu: process.last_cpu,
        affinity: set(process.affinity.as_ref()),
        thread_affinities: (!process.thread_affinities.is_empty())
            .then(|| process.thread_affinities.iter().map(affinity).collect()),
        mems_allowed: set(process.mems_allowed.as_ref()),
        policy: text(&process.policy),
        rss_bytes: process.rss_bytes,
        memory_by_node: memory.map(|memory| ById(memory.by_node.clone())),
        file_by_node: memory.and_then(|memory| by_id(&memory.file_by_node)),
        memory_source: memory.map(|memory| memory.source.name()),
        memory_error: memory.map(|memory| memory.error),
        memory_age_seconds: memory.map(|memory| memory.age_seconds),
        remote_ratio: memory.and_then(|memory| memory.remote_ratio),
        read_bytes_per_second: process.read_bytes_per_second,
        write_bytes_per_second: process.write_bytes_per_second,
        majflt_per_second: process.majflt_per_second,
        listen: process.listen.as_ref().map(|list| list.iter().map(sockets::listener).collect()),
        peers: (!process.peers.is_empty()).then(|| process.peers.iter().map(sockets::peer).collect()),
        jvm: process.jvm.as_ref().map(sockets::jvm),
        beam: process.beam.as_ref().map(beam),
    }
}

fn affinity(group: &AffinityGroup) -> Affinity {
    Affinity { cpus: Set::from(&group.cpus), count: group.count }
}

fn beam(beam: &frame::Beam) -> Beam {
    Beam {
        bind_type_configured: beam.bind_type_configured.as_ref().map(Text::from),
        bound_now: beam.bound_now,
        schedulers: beam.schedulers,
        schedulers_active: beam.schedulers_active,
        pinned: ById(beam.pinned.clone()),
    }
}
