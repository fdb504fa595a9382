//! System calls that nothing which only reads ever makes are refused: an error in it could make none of them either.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

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

/// Refuses them from here on, for this process and what it starts. Where the kernel or the processor has no filters nothing
/// is refused.
pub(crate) fn forbid(decodes: bool) -> Result<(), String> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(()) };
    let calls = CHANGES.iter().chain(if decodes { OF_THE_MACHINE } else { &[] });
    let rules = calls.map(|&call| (call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).map_err(|error| error.to_string())?;
    let program: BpfProgram = filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
    match seccompiler::apply_filter(&program) {
        // A kernel without filters, or a sandbox that allows no others, goes without.
        Ok(()) | Err(seccompiler::Error::Prctl(_) | seccompiler::Error::Seccomp(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
