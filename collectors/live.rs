//! Facts of a running machine that have no file: asked of the kernel live, read from a captured tree otherwise.
//!
//! `capture` writes what the kernel answered below `topotop/` in the tree; [`Captured`] reads it there.

mod text;

pub(crate) use text::{File, capture_nics, capture_space, space_path};

pub use crate::sys::ethtool::{Channels, Driver};
pub use crate::sys::qdisc::Qdisc;
pub use crate::sys::xdp::Xdp;

use crate::Root;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use topotop_model::Reason;

/// Size and free space of a mounted file system (statvfs).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Its size.
    pub total_bytes: u64,
    /// Free for ordinary users.
    pub free_bytes: u64,
    /// Its inodes.
    pub inodes_total: u64,
    /// Free inodes.
    pub inodes_free: u64,
    /// In use: with what is free less than the size where some is kept back for root or by a quota. Older captures do
    /// not tell.
    pub used_bytes: Option<u64>,
}

/// Queries to the kernel. Each may wait for a lock: call them from a worker.
pub trait Live: Send + Sync + std::fmt::Debug {
    /// Driver of an interface.
    fn driver(&self, _nic: &str) -> Result<Driver, Reason> {
        Err(Reason::NotSupported)
    }

    /// Channels of an interface.
    fn channels(&self, _nic: &str) -> Result<Channels, Reason> {
        Err(Reason::NotSupported)
    }

    /// Ring entries of an interface: only `rx` and `tx` are set.
    fn rings(&self, _nic: &str) -> Result<Channels, Reason> {
        Err(Reason::NotSupported)
    }

    /// The receive queue of each entry of an interface's RSS indirection table.
    fn indirection(&self, _nic: &str) -> Result<Vec<u32>, Reason> {
        Err(Reason::NotSupported)
    }

    /// The driver's own counters, by its names, in its order.
    fn statistics(&self, _nic: &str) -> Result<Vec<(String, u64)>, Reason> {
        Err(Reason::NotSupported)
    }

    /// What shapes the packets of interfaces.
    fn shapers(&self) -> Result<Vec<Qdisc>, Reason> {
        Err(Reason::NotSupported)
    }

    /// Programs that handle packets of interfaces before the network stack does.
    fn programs(&self) -> Result<Vec<Xdp>, Reason> {
        Err(Reason::NotSupported)
    }

    /// The node that each page of another process is on: negative where it is not resident.
    fn page_nodes(&self, _pid: u32, _addresses: &[u64]) -> Result<Vec<i32>, Reason> {
        Err(Reason::NotSupported)
    }

    /// Space of a mounted file system.
    fn space(&self, _mount: &str) -> Result<Space, Reason> {
        Err(Reason::NotSupported)
    }
}

/// This machine's kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl Live for Kernel {
    fn space(&self, mount: &str) -> Result<Space, Reason> {
        statvfs(mount)
    }

    fn driver(&self, nic: &str) -> Result<Driver, Reason> {
        crate::sys::ethtool::driver(nic)
    }

    fn channels(&self, nic: &str) -> Result<Channels, Reason> {
        crate::sys::ethtool::channels(nic)
    }

    fn rings(&self, nic: &str) -> Result<Channels, Reason> {
        crate::sys::ethtool::rings(nic)
    }

    fn indirection(&self, nic: &str) -> Result<Vec<u32>, Reason> {
        crate::sys::ethtool::indirection(nic)
    }

    fn statistics(&self, nic: &str) -> Result<Vec<(String, u64)>, Reason> {
        crate::sys::ethtool::statistics(nic)
    }

    fn shapers(&self) -> Result<Vec<Qdisc>, Reason> {
        crate::sys::qdisc::shapers()
    }

    fn programs(&self) -> Result<Vec<Xdp>, Reason> {
        crate::sys::xdp::programs()
    }

    fn page_nodes(&self, pid: u32, addresses: &[u64]) -> Result<Vec<i32>, Reason> {
        crate::sys::pages::page_nodes(pid, addresses)
    }
}

/// A captured tree.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The tree.
    pub root: Arc<Root>,
}

impl Captured {
    fn read(&self, path: String) -> Result<Vec<u8>, Reason> {
        let mut buf = Vec::new();
        self.root.read(path, &mut buf)?;
        Ok(buf)
    }
}

impl Live for Captured {
    fn driver(&self, nic: &str) -> Result<Driver, Reason> {
        text::parse_driver(&self.read(text::nic_path(nic, "driver"))?)
    }

    fn channels(&self, nic: &str) -> Result<Channels, Reason> {
        text::parse_channels(&self.read(text::nic_path(nic, "channels"))?)
    }

    fn rings(&self, nic: &str) -> Result<Channels, Reason> {
        text::parse_channels(&self.read(text::nic_path(nic, "rings"))?)
    }

    fn indirection(&self, nic: &str) -> Result<Vec<u32>, Reason> {
        text::parse_indirection(&self.read(text::nic_path(nic, "indirection"))?)
    }

    fn statistics(&self, nic: &str) -> Result<Vec<(String, u64)>, Reason> {
        Ok(text::parse_statistics(&self.read(text::nic_path(nic, "statistics"))?))
    }

    fn shapers(&self) -> Result<Vec<Qdisc>, Reason> {
        Ok(crate::sys::qdisc::parse(&self.read(text::SHAPERS.to_owned())?))
    }

    fn programs(&self) -> Result<Vec<Xdp>, Reason> {
        Ok(crate::sys::xdp::parse(&self.read(text::PROGRAMS.to_owned())?))
    }

    fn space(&self, mount: &str) -> Result<Space, Reason> {
        text::parse_space(&self.read(text::space_path(mount))?)
    }
}

fn statvfs(mount: &str) -> Result<Space, Reason> {
    let stat = rustix::fs::statvfs(OsStr::from_bytes(mount.as_bytes())).map_err(crate::root::reason)?;
    let block = stat.f_frsize.max(1);
    Ok(Space {
        total_bytes: stat.f_blocks.saturating_mul(block),
        free_bytes: stat.f_bavail.saturating_mul(block),
        inodes_total: stat.f_files,
        inodes_free: stat.f_favail,
        used_bytes: Some(stat.f_blocks.saturating_sub(stat.f_bfree).saturating_mul(block)),
    })
}
