//! What network namespaces count, and tables of the kernel that can be full.

use super::value::object;
use topotop_model::Known;
use topotop_model::frame;

object! {
    pub(crate) NetNamespace {
        netns: u64,
        pid: Known<u32>,
        established: Known<u64>,
        in_segs_per_second: Option<f64>,
        out_segs_per_second: Option<f64>,
        retrans_segs_per_second: Option<f64>,
        retransmit_ratio: Option<f64>,
        active_opens_per_second: Option<f64>,
        passive_opens_per_second: Option<f64>,
        listen_overflows_per_second: Option<f64>,
        listen_drops_per_second: Option<f64>,
        timeouts_per_second: Option<f64>,
        syn_retrans_per_second: Option<f64>,
        socket_drops_per_second: Option<f64>,
        udp_in_per_second: Option<f64>,
        udp_rcvbuf_errors_per_second: Option<f64>,
        conntrack_entries: Known<u64>,
        conntrack_drops_per_second: Option<f64>,
    }
}

pub(super) fn namespace(row: &frame::NetNamespace) -> NetNamespace {
    NetNamespace {
        netns: row.netns,
        pid: row.pid,
        established: row.established,
        in_segs_per_second: row.in_segs_per_second,
        out_segs_per_second: row.out_segs_per_second,
        retrans_segs_per_second: row.retrans_segs_per_second,
        retransmit_ratio: row.retransmit_ratio(),
        active_opens_per_second: row.active_opens_per_second,
        passive_opens_per_second: row.passive_opens_per_second,
        listen_overflows_per_second: row.listen_overflows_per_second,
        listen_drops_per_second: row.listen_drops_per_second,
        timeouts_per_second: row.timeouts_per_second,
        syn_retrans_per_second: row.syn_retrans_per_second,
        socket_drops_per_second: row.socket_drops_per_second,
        udp_in_per_second: row.udp_in_per_second,
        udp_rcvbuf_errors_per_second: row.udp_rcvbuf_errors_per_second,
        conntrack_entries: row.conntrack_entries,
        conntrack_drops_per_second: row.conntrack_drops_per_second,
    }
}

object! {
    pub(crate) KernelTables {
        files: Known<u64>,
        files_limit: Known<u64>,
        conntrack: Known<u64>,
        conntrack_limit: Known<u64>,
        tasks: Known<u64>,
        tasks_limit: Known<u64>,
    }
}

pub(super) fn tables(tables: &frame::KernelTables) -> KernelTables {
    KernelTables {
        files: tables.files,
        files_limit: tables.files_limit,
        conntrack: tables.conntrack,
        conntrack_limit: tables.conntrack_limit,
        tasks: tables.tasks,
        tasks_limit: tables.tasks_limit,
    }
}
