//! The terminal's modes: taken once, given back whatever happens.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// Alternate screen, bracketed paste, no cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?2004h\x1b[?25l";
/// The way back; what was not on is not hurt by being turned off.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";
/// Clicks, wheel and dragging in SGR form. Not motion without a button, which would flood a slow line.
pub(super) const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";
/// The terminal's own mouse.
pub(super) const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// True while the terminal is ours.
static OURS: AtomicBool = AtomicBool::new(false);

/// Takes the terminal.
pub(super) fn enter(mouse: bool) -> std::io::Result<()> {
    crate::sys::crash::restore_on_crash(LEAVE);
    crossterm::terminal::enable_raw_mode()?;
    OURS.store(true, Ordering::SeqCst);
    let mut out = std::io::stdout();
    out.write_all(ENTER)?;
    out.write_all(if mouse { MOUSE_ON } else { MOUSE_OFF })?;
    out.flush()
}

/// Gives the terminal back; does nothing when it is not ours.
pub(super) fn restore() {
    if OURS.swap(false, Ordering::SeqCst) {
        crate::sys::crash::forget();
        let mut out = std::io::stdout();
        // A terminal that is gone needs nothing.
        let _ = out.write_all(LEAVE);
        let _ = out.flush();
        let _ = crossterm::terminal::disable_raw_mode();
    }
}

/// A panic gives the terminal back before it says anything. Panics of a collector cost a section only and are counted
/// there: they leave the screen alone.
pub(super) fn install_panic_hook() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let screen = matches!(std::thread::current().name(), Some("main" | "input"));
        if screen || !OURS.load(Ordering::SeqCst) {
            restore();
            previous(info);
        }
    }));
}

/// Says something on the terminal that was given back.
pub(super) fn tell(text: &str) {
    // Where standard error is gone there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "topotop: {}", topotop_model::text::printable(text));
}

/// True if somebody would wake a stopped process: a shell in another process group of this session.
pub(super) fn can_suspend() -> bool {
    rustix::process::getsid(None).is_ok_and(|leader| leader != rustix::process::getpgrp())
}

/// Stops the whole job, as the terminal's own Ctrl-Z does, until it is continued.
pub(super) fn stop() {
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::STOP);
}
