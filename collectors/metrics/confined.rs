//! The thread that reads a page connects to its port and does nothing else: it opens no file, starts nothing and has no
//! capability, whatever the page makes of it. Threads have rights of their own: those beside it read on.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, NetPort, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use topotop_model::Reason;

/// The newest kernel interface that is used; older ones refuse what they know.
const KNOWN: ABI = ABI::V5;

/// Confines this thread. Where the kernel has no such thing, it gives its capabilities away all the same.
pub(super) fn confine(port: u16) -> Result<(), Reason> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).map_err(|_| Reason::NotSupported)?;
    connecting_only(port).map_err(|_| Reason::NotSupported)
}

fn connecting_only(port: u16) -> Result<(), RulesetError> {
    let ruleset = Ruleset::default().handle_access(AccessFs::from_all(KNOWN))?;
    let ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?.create()?;
    ruleset.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?.restrict_self().map(drop)
}

#[cfg(test)]
mod tests {
    use super::confine;
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_confined_thread_connects_to_its_port_only() {
        let listen = || TcpListener::bind("127.0.0.1:0").expect("bound");
        let (own, other) = (listen(), listen());
        let done = std::thread::spawn(move || {
            let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
            confine(port(&own)).expect("confined");
            let status = "/proc/thread-self/status";
            let denied = |error: &std::io::Error| error.kind() == ErrorKind::PermissionDenied;
            assert!(TcpStream::connect(own.local_addr().expect("an address")).is_ok());
            if std::fs::read_to_string(status).is_ok() {
                // This kernel has no Landlock.
                return;
            }
            assert!(TcpStream::connect(other.local_addr().expect("an address")).is_err_and(|error| denied(&error)));
            assert!(TcpListener::bind("127.0.0.1:0").is_err_and(|error| denied(&error)));
            assert!(std::fs::write("/dev/null", "1").is_err_and(|error| denied(&error)));
            assert!(std::process::Command::new("/bin/true").status().is_err());
        });
        done.join().expect("every assertion holds");
        assert!(std::fs::read_to_string("/proc/self/status").is_ok(), "the others are not confined");
    }
}
