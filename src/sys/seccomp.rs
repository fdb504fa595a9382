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

/// What a process without any capability may still do to others of its user: root's to all of root's.
const OTHERS: &[libc::c_long] = &[
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_setpriority,
    libc::SYS_process_mrelease,
];

/// Commands of fcntl(2) by which the kernel signals other processes or makes them wait: F_SETOWN, F_SETSIG, F_SETOWN_EX,
/// F_SETLEASE, F_NOTIFY.
const NOTIFYING: [libc::c_int; 5] = [libc::F_SETOWN, 10, 15, 1024, 1026];

/// Flags of clone(2) that make namespaces; CLONE_NEWTIME is one of clone3(2) only.
const NAMESPACES: [u64; 7] = [
    libc::CLONE_NEWNS as u64,
    libc::CLONE_NEWCGROUP as u64,
    libc::CLONE_NEWUTS as u64,
    libc::CLONE_NEWIPC as u64,
    libc::CLONE_NEWUSER as u64,
    libc::CLONE_NEWPID as u64,
    libc::CLONE_NEWNET as u64,
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

/// What is asked by ioctl(2): of terminals, pipes and sockets, and of interfaces what takes no capability. All else may change
/// a disk, a file system, a flag of a file or a device. tty(4), socket(7); the last four of terminals are TCGETS2 and TCSETS2.
const ASKED: [u64; 21] = [
    0x5401,
    0x5402,
    0x5403,
    0x5404,
    0x540a,
    0x540b,
    0x540f,
    0x5410,
    0x5411,
    0x5413,
    0x5429,
    0x5421,
    0x541b,
    0x5450,
    0x5451,
    0x802c_542a,
    0x402c_542b,
    0x402c_542c,
    0x402c_542d,
    0x8946,
    0x8910,
];

/// Policies that `starvation` sets.
const POLICIES: [libc::c_int; 4] = [
    libc::SCHED_OTHER,
    libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK,
    libc::SCHED_RR,
    libc::SCHED_RR | libc::SCHED_RESET_ON_FORK,
];

/// What makes, names, changes or removes files, or opens them in ways that a filter cannot see: an output broker does it.
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
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_timedsend,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
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
    /// Changes of the machine.
    Machine,
    /// Changes of the machine and of other processes.
    Changes,
    /// Changes, and all writing to files but by descriptors that it has.
    Files,
    /// The same, and what reading a recording has no use for.
    FilesReading,
}

/// Flags of an open that is no reading: any of these bits.
const WRITING: [u32; 4] = [libc::O_WRONLY as u32, libc::O_RDWR as u32, libc::O_CREAT as u32, libc::O_TRUNC as u32];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// True of an argument, by its place: its lower half.
fn when(place: u8, compare: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(place, SeccompCmpArgLen::Dword, compare, value)
}

/// Where it is none of these.
fn but(place: u8, values: impl IntoIterator<Item = u64>) -> Result<Vec<SeccompCondition>, BackendError> {
    values.into_iter().map(|value| when(place, SeccompCmpOp::Ne, value)).collect()
}

/// Where one of the bits is set.
fn any(place: u8, bits: impl IntoIterator<Item = u64>) -> Result<Vec<SeccompRule>, BackendError> {
    bits.into_iter().map(|bit| SeccompRule::new(vec![when(place, SeccompCmpOp::MaskedEq(bit), bit)?])).collect()
}

fn rules(without: Without, child: Option<u32>) -> Result<Rules, BackendError> {
    let more: [&[libc::c_long]; 4] = match without {
        Without::Machine => [&[]; 4],
        Without::Changes => [OTHERS, &[], &[], &[]],
        Without::Files => [OTHERS, FILES, OLDER_FILES, &[]],
        Without::FilesReading => [OTHERS, FILES, OLDER_FILES, OF_THE_MACHINE],
    };
    let mut rules: Rules = CHANGES.iter().chain(more.into_iter().flatten()).map(|&call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_clone, any(0, NAMESPACES)?);
    if without != Without::Machine {
        of_others(&mut rules, child)?;
    }
    // What is typed for the user is done with the user's rights, here or after the end.
    let typing = TYPING.map(|request| SeccompRule::new(vec![when(1, SeccompCmpOp::Eq, request)?]));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
    if matches!(without, Without::Files | Without::FilesReading) {
        of_files(&mut rules)?;
    }
    Ok(rules)
}

/// Other processes are left alone, but for a child that is passed signals on. Of a process that is there alone it may be
/// asked.
fn of_others(rules: &mut Rules, child: Option<u32>) -> Result<(), BackendError> {
    let own = std::process::id();
    let known = [Some(own), Some(0), child].into_iter().flatten().map(u64::from);
    let kill = [but(1, [0])?, but(0, known)?].concat();
    // Its own group is stopped with it, and gets no other signal.
    let group = [but(1, [0, libc::SIGSTOP as u64])?, vec![when(0, SeccompCmpOp::Eq, 0)?]].concat();
    rules.insert(libc::SYS_kill, vec![SeccompRule::new(kill)?, SeccompRule::new(group)?]);
    let notified = NOTIFYING.map(|command| SeccompRule::new(vec![when(1, SeccompCmpOp::Eq, command as u64)?]));
    rules.insert(libc::SYS_fcntl, notified.into_iter().collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(but(0, [u64::from(own)])?)?]);
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
        rules.insert(call, vec![SeccompRule::new(but(0, [0])?)?]);
    }
    let policies = but(1, POLICIES.map(|policy| u64::from(policy.cast_unsigned())))?;
    rules.insert(libc::SYS_sched_setscheduler, vec![SeccompRule::new(policies)?]);
    // Whoever asks where pages are names no nodes to move them to.
    let moved = SeccompCondition::new(3, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.entry(libc::SYS_move_pages).or_insert(vec![SeccompRule::new(vec![moved])?]);
    // Of namespaces only those of networks are entered.
    let network = but(1, [libc::CLONE_NEWNET as u64])?;
    rules.entry(libc::SYS_setns).or_insert(vec![SeccompRule::new(network)?]);
    Ok(())
}

fn of_files(rules: &mut Rules) -> Result<(), BackendError> {
    for &(call, place) in OPENING {
        rules.insert(call, any(place, WRITING.map(u64::from))?);
    }
    // Services trust whoever connects as root. A pair that has a connection gets no other, but one of datagrams does.
    let unix = when(0, SeccompCmpOp::Eq, libc::AF_UNIX as u64)?;
    rules.entry(libc::SYS_socket).or_insert(vec![SeccompRule::new(vec![unix])?]);
    let kinds = [libc::SOCK_DGRAM, libc::SOCK_RAW];
    let kinds = kinds.map(|kind| SeccompRule::new(vec![when(1, SeccompCmpOp::MaskedEq(0xf), kind as u64)?]));
    rules.insert(libc::SYS_socketpair, kinds.into_iter().collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(but(1, ASKED)?)?]);
    Ok(())
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

/// Refuses them from here on, for this process and what it starts; signals go to its `child` alone. Where the kernel or the
/// processor has no filters nothing is refused.
pub(crate) fn forbid(without: Without, child: Option<u32>) -> Result<(), String> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(()) };
    let refuse = |rules: Rules, errno: libc::c_int| {
        let refused = SeccompAction::Errno(errno.cast_unsigned());
        BpfProgram::try_from(SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?)
    };
    let wrong = |error: BackendError| error.to_string();
    let mut first = rules(without, child).and_then(|rules| refuse(rules, libc::EPERM)).map_err(wrong)?;
    refuse_x32(&mut first);
    // Its flags are in memory, which a filter cannot see. glibc falls back to clone(2) where the kernel has no clone3(2).
    let second = refuse(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS).map_err(wrong)?;
    for program in [first, second] {
        match seccompiler::apply_filter(&program) {
            // A kernel without filters, or a sandbox that allows no others, goes without.
            Ok(()) | Err(seccompiler::Error::Prctl(_) | seccompiler::Error::Seccomp(_)) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Without, forbid};
    use rustix::io::Errno;
    use rustix::process::{
        Pid, PidfdFlags, Signal, kill_current_process_group, kill_process, kill_process_group, pidfd_open,
        pidfd_send_signal, setpriority_process, test_kill_process,
    };
    use std::fs::{File, OpenOptions};
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::os::fd::AsRawFd as _;
    use std::process::Command;

    #[test]
    fn what_reads_as_root_writes_to_what_it_has_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        let mut own = File::create(&path).expect("made");
        let done = std::thread::spawn(move || {
            forbid(Without::Files, None).expect("forbidden");
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
            Command::new("/bin/true").status().expect("a program is started");
            own.write_all(b"text").and_then(|()| own.set_len(2)).expect("its own file");
            let mut text = String::new();
            File::open(&path).and_then(|mut file| file.read_to_string(&mut text)).expect("reading is no matter");
            assert_eq!(text, "te");
        });
        done.join().expect("every assertion holds");
    }

    #[test]
    fn other_processes_are_left_alone() {
        let mut others = ["30", "31"].map(|time| Command::new("sleep").arg(time).spawn().expect("started"));
        let [own, other] = [&others[0], &others[1]].map(Pid::from_child);
        let done = std::thread::spawn(move || {
            forbid(Without::Changes, Some(own.as_raw_nonzero().get().cast_unsigned())).expect("forbidden");
            if kill_process(other, Signal::CONT).is_ok() {
                return not_here();
            }
            assert_eq!(kill_process(other, Signal::KILL), Err(Errno::PERM));
            assert_eq!(kill_process_group(other, Signal::KILL), Err(Errno::PERM));
            assert_eq!(test_kill_process(other), Ok(()), "whether it is there may be asked");
            let held = pidfd_open(other, PidfdFlags::empty());
            assert!(held.is_err() || pidfd_send_signal(held.expect("held"), Signal::KILL) == Err(Errno::PERM));
            assert_eq!(setpriority_process(Some(other), 5), Err(Errno::PERM));
            assert_eq!(kill_process(own, Signal::KILL), Ok(()), "what is passed on to a child");
            assert_eq!(kill_current_process_group(Signal::CONT), Err(Errno::PERM));
            assert_eq!(owner_of_a_pipe(other), libc::EPERM);
            assert!(namespace().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied));
            Command::new("/bin/true").status().expect("a program is started without clone3");
            std::thread::spawn(|| ()).join().expect("a thread too");
        });
        done.join().expect("every assertion holds");
        assert!(others[1].try_wait().expect("a child").is_none());
        for child in &mut others {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// What comes of having the kernel signal another process for a pipe.
    #[expect(unsafe_code, reason = "no library asks for it")]
    fn owner_of_a_pipe(owner: Pid) -> i32 {
        let (reader, _writer) = std::io::pipe().expect("a pipe");
        // SAFETY: the descriptor is open, and the call takes numbers only.
        let done = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETOWN, owner.as_raw_nonzero().get()) };
        if done == 0 { 0 } else { std::io::Error::last_os_error().raw_os_error().unwrap_or_default() }
    }

    /// A child in a namespace of users of its own.
    #[expect(unsafe_code, reason = "no library asks for it without unshare")]
    fn namespace() -> std::io::Result<()> {
        // SAFETY: what is refused makes no child, and a child ends at once.
        match unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD, 0, 0, 0, 0) } {
            -1 => Err(std::io::Error::last_os_error()),
            0 => crate::sys::fork::leave(),
            _ => Ok(()),
        }
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
