//! System calls that nothing which only reads ever makes are refused: an error in it could make none of them either.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

/// What changes the machine as a whole, or other processes.
const CHANGES: &[libc::c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_chroot,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_unshare,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setresuid,
    libc::SYS_setregid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_pidfd_getfd,
    libc::SYS_mknodat,
    libc::SYS_open_by_handle_at,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_migrate_pages,
    libc::SYS_ioprio_set,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_quotactl_fd,
    libc::SYS_fanotify_init,
    libc::SYS_kexec_file_load,
];

/// What reading a recording has no use for besides.
const OF_THE_MACHINE: &[libc::c_long] = &[
    libc::SYS_setns,
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_move_pages,
];

/// Calls of Linux 6.13 to 6.17, with the same number for every processor.
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const OPEN_TREE_ATTR: libc::c_long = 467;
const FILE_SETATTR: libc::c_long = 469;

/// TIOCSTI and TIOCLINUX, which type for the user (ioctl_tty(2)).
const TYPING: [u64; 2] = [0x5412, 0x541c];

/// Kinds of ioctl(2) that change a file system, a file's flags, a disk or its mapping, by any descriptor: block devices, SCSI,
/// NVMe, XFS and freezing, ext4, btrfs, device mapper.
const CHANGING: [u64; 7] = [0x12, 0x22, 0x4e, 0x58, 0x66, 0x94, 0xfd];

/// What makes, names, changes or removes files, or opens them in ways that a filter cannot see: an output broker does it.
/// What root may change of its own processes without a capability.
const FILES: &[libc::c_long] = &[
    libc::SYS_openat2,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_truncate,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchmod,
    libc::SYS_fchownat,
    libc::SYS_fchown,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    OPEN_TREE_ATTR,
    FILE_SETATTR,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_sched_setattr,
    libc::SYS_setpriority,
];

/// The same under older numbers.
#[cfg(target_arch = "x86_64")]
const OLDER_FILES: &[libc::c_long] = &[
    libc::SYS_creat,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_FILES: &[libc::c_long] = &[libc::SYS_renameat];

/// Calls that open a file, with the place of their flags.
#[cfg(target_arch = "x86_64")]
const OPENING: &[(libc::c_long, u8)] = &[(libc::SYS_openat, 2), (libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OPENING: &[(libc::c_long, u8)] = &[(libc::SYS_openat, 2)];

/// What a process goes on to do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Without {
    /// Changes of the machine and of other processes.
    Changes,
    /// Also what reading a recording has no use for.
    Machine,
    /// Changes, and all writing to files but by descriptors that it has.
    Files,
}

/// Flags of an open that is no reading: any of these bits.
const WRITING: [u32; 4] = [libc::O_WRONLY as u32, libc::O_RDWR as u32, libc::O_CREAT as u32, libc::O_TRUNC as u32];

fn rules(without: Without) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let more: [&[libc::c_long]; 2] = match without {
        Without::Changes => [&[], &[]],
        Without::Machine => [OF_THE_MACHINE, &[]],
        Without::Files => [FILES, OLDER_FILES],
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        CHANGES.iter().chain(more.into_iter().flatten()).map(|&call| (call, Vec::new())).collect();
    let matching = |place: u8, compare: SeccompCmpOp, value: u64| {
        SeccompRule::new(vec![SeccompCondition::new(place, SeccompCmpArgLen::Dword, compare, value)?])
    };
    if without == Without::Files {
        for &(call, place) in OPENING {
            let any = WRITING.map(|bit| matching(place, SeccompCmpOp::MaskedEq(u64::from(bit)), u64::from(bit)));
            rules.insert(call, any.into_iter().collect::<Result<_, _>>()?);
        }
        // Services trust whoever connects as root. A pair that has a connection gets no other, but one of datagrams does.
        let unix = matching(0, SeccompCmpOp::Eq, libc::AF_UNIX as u64)?;
        rules.insert(libc::SYS_socket, vec![unix]);
        let other = [libc::SOCK_DGRAM, libc::SOCK_RAW];
        let other = other.map(|kind| matching(1, SeccompCmpOp::MaskedEq(0xf), kind as u64));
        rules.insert(libc::SYS_socketpair, other.into_iter().collect::<Result<_, _>>()?);
        // Of root's processes root may change these without a capability.
        for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
            rules.insert(call, vec![matching(0, SeccompCmpOp::Ne, 0)?]);
        }
    }
    // What is typed for the user is done with the user's rights, here or after the end.
    let typing = TYPING.map(|request| matching(1, SeccompCmpOp::Eq, request));
    let changing = if without == Without::Files { &CHANGING[..] } else { &[] };
    let changing = changing.iter().map(|kind| matching(1, SeccompCmpOp::MaskedEq(0xff00), kind << 8));
    rules.insert(libc::SYS_ioctl, typing.into_iter().chain(changing).collect::<Result<_, _>>()?);
    Ok(rules)
}

/// Calls of the x32 interface have numbers of their own, which no rule knows; the architecture is the same.
#[cfg(target_arch = "x86_64")]
fn refuse_x32(program: &mut BpfProgram) {
    use seccompiler::sock_filter;
    const BIT: u32 = 0x4000_0000;
    let load = sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: 0 };
    let test = sock_filter { code: (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16, jt: 0, jf: 1, k: BIT };
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let refuse = sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: refuse };
    // Before all else: for another architecture the bit may mean what it does here.
    program.splice(0..0, [load, test, refuse]);
}

#[cfg(not(target_arch = "x86_64"))]
fn refuse_x32(_: &mut BpfProgram) {}

/// Refuses them from here on, for this process and what it starts. Where the kernel or the processor has no filters nothing
/// is refused.
pub(crate) fn forbid(without: Without) -> Result<(), String> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(()) };
    let rules = rules(without).map_err(|error| error.to_string())?;
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).map_err(|error| error.to_string())?;
    let mut program: BpfProgram = filter.try_into().map_err(|error: BackendError| error.to_string())?;
    refuse_x32(&mut program);
    match seccompiler::apply_filter(&program) {
        // A kernel without filters, or a sandbox that allows no others, goes without.
        Ok(()) | Err(seccompiler::Error::Prctl(_) | seccompiler::Error::Seccomp(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Without, forbid};
    use std::fs::{File, OpenOptions};
    use std::io::{ErrorKind, Read as _, Write as _};

    #[test]
    fn what_reads_as_root_writes_to_what_it_has_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        let mut own = File::create(&path).expect("made");
        let done = std::thread::spawn(move || {
            forbid(Without::Files).expect("forbidden");
            if OpenOptions::new().append(true).open(&path).is_ok() {
                return not_here();
            }
            let denied =
                |done: std::io::Result<()>| done.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
            let other = path.with_extension("new");
            assert!(denied(File::create(&path).map(drop)) && denied(File::create(&other).map(drop)));
            assert!(denied(OpenOptions::new().write(true).open("/proc/self/mem").map(drop)));
            assert!(denied(OpenOptions::new().read(true).write(true).open("/dev/null").map(drop)));
            assert!(denied(std::fs::rename(&path, &other)) && denied(std::fs::hard_link(&path, &other)));
            assert!(denied(std::os::unix::fs::symlink(&path, &other)) && denied(std::fs::remove_file(&path)));
            assert!(
                denied(std::fs::create_dir(&other)) && denied(std::fs::remove_dir(path.parent().expect("a parent")))
            );
            let mode = std::fs::metadata(&path).expect("there").permissions();
            assert!(denied(std::fs::set_permissions(&path, mode)));
            assert!(denied(std::os::unix::net::UnixStream::connect("/none").map(drop)));
            assert!(denied(std::os::unix::net::UnixDatagram::pair().map(drop)));
            x32();
            std::os::unix::net::UnixStream::pair().expect("connected to each other");
            std::process::Command::new("/bin/true").status().expect("a program is started");
            own.write_all(b"text").and_then(|()| own.set_len(2)).expect("its own file");
            let mut text = String::new();
            File::open(&path).and_then(|mut file| file.read_to_string(&mut text)).expect("reading is no matter");
            assert_eq!(text, "te");
        });
        done.join().expect("every assertion holds");
    }

    /// getppid under its other number.
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "a call under another number")]
    fn x32() {
        // SAFETY: without the interface there is no such call, with it one that changes nothing.
        let done = unsafe { libc::syscall(0x4000_0000 | libc::SYS_getppid) };
        assert_eq!((done, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EPERM)));
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn x32() {}

    #[expect(clippy::print_stderr, reason = "a skipped test is reported")]
    fn not_here() {
        eprintln!("not tested: this kernel has no seccomp filters");
    }
}
