//! Signals of a crash give the terminal back before they end the program: nobody else can by then.
#![expect(unsafe_code, reason = "a handler of fatal signals may only make system calls")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What ends the program at the instruction that it is in.
const CRASHES: [libc::c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGSYS];

/// The terminal as it was, and the bytes that leave the screen.
static BEFORE: OnceLock<(libc::termios, &'static [u8])> = OnceLock::new();
static OURS: AtomicBool = AtomicBool::new(false);

/// Remembers the modes of standard output's terminal, which is about to be changed, and gives it back in a crash.
pub(crate) fn restore_on_crash(leave: &'static [u8]) {
    let mut modes = std::mem::MaybeUninit::<libc::termios>::zeroed();
    // SAFETY: the structure outlives the call, which writes no more than it.
    if unsafe { libc::tcgetattr(libc::STDOUT_FILENO, modes.as_mut_ptr()) } != 0 {
        return;
    }
    // SAFETY: zeroed, and filled by the call that succeeded.
    let first = BEFORE.set((unsafe { modes.assume_init() }, leave)).is_ok();
    OURS.store(true, Ordering::SeqCst);
    if first {
        for &signal in &CRASHES {
            install(signal);
        }
    }
}

/// The terminal is given back: a crash leaves it alone.
pub(crate) fn forget() {
    OURS.store(false, Ordering::SeqCst);
}

fn install(signal: libc::c_int) {
    let handler: extern "C" fn(libc::c_int) = on_crash;
    // SAFETY: the structure is plain data; the handler makes system calls only, on the stack for signals where there is
    // one, and is in place once.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND | libc::SA_NODEFER;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Gives the terminal back and lets the signal do what it does.
extern "C" fn on_crash(signal: libc::c_int) {
    if let Some((modes, leave)) = BEFORE.get().filter(|_| OURS.swap(false, Ordering::SeqCst)) {
        // SAFETY: both calls may be made in a handler; the modes and the bytes are never changed.
        unsafe {
            libc::write(libc::STDOUT_FILENO, leave.as_ptr().cast(), leave.len());
            libc::tcsetattr(libc::STDOUT_FILENO, libc::TCSANOW, modes);
        }
    }
    // SAFETY: the default action is in place again and ends the program.
    unsafe {
        libc::raise(signal);
    }
}
