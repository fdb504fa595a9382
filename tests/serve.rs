//! `serve`: who is let in, what a request gets, and that hostile clients cost nothing.

use crate::common::pty::TOPOTOP;
use crate::common::synthetic::Machine;
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What has to come comes in that time on a loaded machine too.
const PATIENCE: Duration = Duration::from_mins(1);

/// A service, ended with its test.
struct Service {
    child: Child,
    /// Where it says that it listens.
    place: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Service {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(TOPOTOP);
        command.arg("serve").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let place = line.trim().strip_prefix("serving ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        let place = place.trim_start_matches("http://").trim_end_matches("/metrics").to_owned();
        Self { child, place }
    }

    /// On a port that is free.
    fn on_loopback(arguments: &[&str]) -> Self {
        let service = Self::start(&[&["--listen", "127.0.0.1:0"], arguments].concat());
        service.wait_for("/healthz", 200);
        service
    }

    fn of_a_machine(arguments: &[&str]) -> (Self, tempfile::TempDir) {
        let dir = tempfile::tempdir().expect("a directory");
        Machine::SMALL.write(dir.path(), 0);
        let root = ["--root", dir.path().to_str().expect("a path"), "--interval", "200ms"];
        (Self::on_loopback(&[&root, arguments].concat()), dir)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.place).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        stream
    }

    fn send(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // It may refuse before it has read everything.
        let _ = stream.write_all(request);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8_lossy(&reply).into_owned()
    }

    fn get(&self, path: &str, fields: &str) -> String {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n").as_bytes())
    }

    fn wait_for(&self, path: &str, status: u16) {
        let start = Instant::now();
        while self::status(&self.get(path, "")) != status {
            assert!(start.elapsed() < PATIENCE, "{path} is never {status}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Descriptors that are sockets: those of files come and go with what is sampled.
    fn sockets(&self) -> usize {
        let links = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("descriptors").flatten();
        let targets = links.filter_map(|link| std::fs::read_link(link.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }

    fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("a status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("resident memory");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

fn status(reply: &str) -> u16 {
    reply.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}

fn body(reply: &str) -> &str {
    reply.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

fn series(reply: &str) -> usize {
    body(reply).lines().filter(|line| line.starts_with("topotop_")).count()
}

/// What it says when it does not start.
fn refused(arguments: &[&str]) -> String {
    let mut command = Command::new("timeout");
    let output = command.args(["-s", "KILL", "60", TOPOTOP, "serve"]).args(arguments).output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    error
}

#[test]
fn pages_are_served_by_accept_and_names_only_if_wanted() {
    let (service, _dir) = Service::of_a_machine(&[]);
    let text = service.get("/metrics", "");
    assert!(text.contains("Content-Type: text/plain; version=0.0.4") && !text.contains("# EOF"), "{text}");
    let open = service.get("/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
    assert!(open.contains("application/openmetrics-text; version=1.0.0") && open.ends_with("# EOF\n"), "{open}");
    assert!(body(&open).contains("topotop_node_memory_size_bytes{node=\"1\"}"), "{open}");
    assert!(!open.contains("worker") && !open.contains("load.slice"), "names: {open}");
    for path in ["/snapshot.json", "/findings.json"] {
        assert_eq!(status(&service.get(path, "")), 403);
    }
    assert_eq!(status(&service.get("/nowhere", "")), 404);
    let (service, _dir) = Service::of_a_machine(&["--expose-names"]);
    let snapshot: serde_json::Value = serde_json::from_str(body(&service.get("/snapshot.json", ""))).expect("JSON");
    assert_eq!(snapshot["schema"], "topotop.snapshot/1");
    let findings: serde_json::Value = serde_json::from_str(body(&service.get("/findings.json", ""))).expect("JSON");
    assert!(findings["rules"].as_array().is_some_and(|rules| !rules.is_empty()), "{findings}");
}

#[test]
fn only_get_and_head_are_answered() {
    let (service, _dir) = Service::of_a_machine(&[]);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "PATCH"] {
        let reply = service.send(format!("{method} /metrics HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        assert!(status(&reply) == 405 && reply.contains("Allow: GET, HEAD"), "{method}: {reply}");
    }
    let head = service.send(b"HEAD /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(status(&head) == 200 && body(&head).is_empty() && !head.contains("Content-Length: 0"), "{head}");
    // Two requests in one go, on a connection that stays open.
    let both = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n";
    assert_eq!(service.send(both).matches("200 OK").count(), 2);
}

#[test]
fn strangers_are_not_let_in() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("token");
    let path = file.to_str().expect("a path");
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:9977"] {
        assert!(refused(&["--listen", listen]).contains("--token-file"), "{listen}");
    }
    let mode = |mode| std::fs::set_permissions(&file, Permissions::from_mode(mode)).expect("set");
    std::fs::write(&file, "0123456789abcdef0123\n").expect("written");
    for (bits, why) in [(0o604, "readable by every user"), (0o602, "writable by others")] {
        mode(bits);
        assert!(refused(&["--token-file", path]).contains(why), "{bits:o}");
    }
    mode(0o600);
    for token in ["", "short\n", "with blanks in it, and long\n"] {
        std::fs::write(&file, token).expect("written");
        assert!(refused(&["--token-file", path]).contains("token"), "{token:?}");
    }
    assert!(refused(&["--listen", "nowhere"]).contains("address"));
    std::fs::write(&file, "0123456789abcdef0123\nnot this\n").expect("written");
    let (service, _machine) = Service::of_a_machine(&["--token-file", path]);
    assert_eq!(status(&service.get("/healthz", "")), 200);
    for wrong in ["", "Authorization: Bearer 0123456789abcdef012\r\n", "Authorization: Basic 0123456789abcdef0123\r\n"]
    {
        let reply = service.get("/metrics", wrong);
        assert!(status(&reply) == 401 && reply.contains("WWW-Authenticate: Bearer"), "{reply}");
    }
    assert_eq!(status(&service.get("/metrics", "Authorization: Bearer 0123456789abcdef0123\r\n")), 200);
}

#[test]
fn a_token_is_a_file_of_some_bytes() {
    let dir = tempfile::tempdir().expect("a directory");
    let fifo = dir.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).expect("made");
    for path in [fifo.as_path(), dir.path(), Path::new("/dev/zero")] {
        let start = Instant::now();
        let error = refused(&["--token-file", path.to_str().expect("a path")]);
        assert!(error.contains("not a regular file") && start.elapsed() < PATIENCE, "{error}");
    }
}

/// A socket that takes datagrams, and one whose owner is too busy to accept: neither is replaced, nor waited for.
#[test]
fn sockets_that_somebody_has_open_are_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    let (datagrams, busy) = (path("datagrams"), path("busy"));
    let _datagrams = std::os::unix::net::UnixDatagram::bind(&datagrams).expect("bound");
    let owner = rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM, None);
    let owner = owner.expect("a socket");
    rustix::net::bind(&owner, &rustix::net::SocketAddrUnix::new(&busy).expect("an address")).expect("bound");
    rustix::net::listen(&owner, 0).expect("listens");
    let _waiting = UnixStream::connect(&busy).expect("connected");
    for path in [&datagrams, &busy] {
        let error = refused(&["--socket", path.to_str().expect("a path")]);
        assert!(error.contains("another process"), "{error}");
        assert!(path.symlink_metadata().is_ok_and(|facts| facts.file_type().is_socket()));
    }
}

#[test]
fn a_socket_is_for_its_owner_and_a_dead_one_is_replaced() {
    let dir = tempfile::tempdir().expect("a directory");
    Machine::SMALL.write(dir.path(), 0);
    let path = dir.path().join("s");
    let arguments = ["--socket", path.to_str().expect("a path"), "--root", dir.path().to_str().expect("a path")];
    for _ in 0..2 {
        let service = Service::start(&arguments);
        assert_eq!(Path::new(&service.place), path);
        let metadata = path.symlink_metadata().expect("a socket");
        assert!(metadata.file_type().is_socket());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        let mut stream = UnixStream::connect(&path).expect("connected");
        // A proxy passes on the name that it was asked by.
        stream.write_all(b"GET / HTTP/1.0\r\nHost: metrics.example\r\n\r\n").expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        assert!(reply.contains("/metrics"), "{reply}");
        assert!(refused(&arguments).contains("another process"));
    }
    let mut service = Service::start(&arguments);
    let pid = rustix::process::Pid::from_child(&service.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told to end");
    assert!(service.child.wait().expect("it ends").success());
    assert!(!path.exists(), "the socket's file goes with it");
    // Not what another one has put there meanwhile.
    let mut service = Service::start(&arguments);
    let pid = rustix::process::Pid::from_child(&service.child);
    std::fs::remove_file(&path).expect("removed");
    let _other = std::os::unix::net::UnixListener::bind(&path).expect("another socket");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told to end");
    assert!(service.child.wait().expect("it ends").success());
    assert!(path.exists());
    let file = dir.path().join("file");
    std::fs::write(&file, "kept").expect("written");
    assert!(refused(&["--socket", file.to_str().expect("a path")]).contains("not a socket"));
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "kept");
}

/// Descriptors that are no listening stream sockets are none that somebody meant to serve on, and no other place is
/// opened in their stead.
#[test]
fn descriptors_that_are_no_sockets_are_refused() {
    const SCRIPT: &str = r#"
import os, socket, sys
kind = sys.argv[1]
def pair():
    return socket.socketpair()[0]
def seqpacket():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(""); s.listen(); return s
made = {
    "file": lambda: open("/proc/self/maps"), "pipe": lambda: os.fdopen(os.pipe()[0]), "connected": pair,
    "datagram": lambda: socket.socket(type=socket.SOCK_DGRAM), "not listening": socket.socket, "seqpacket": seqpacket,
    "closed": lambda: None,
}[kind]()
if made is not None:
    os.dup2(made.fileno(), 3); os.set_inheritable(3, True)
else:
    try: os.close(3)
    except OSError: pass
os.environ.update(LISTEN_FDS=sys.argv[2], LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[3], sys.argv[3:])
"#;
    for kind in ["file", "pipe", "connected", "datagram", "not listening", "seqpacket", "closed"] {
        for count in ["1", "4294967295"] {
            let mut command = Command::new("timeout");
            command.args(["-s", "KILL", "20", "python3", "-c", SCRIPT, kind, count, TOPOTOP, "serve"]);
            let output = command.output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(2) && said.contains("LISTEN_FDS"), "{kind} {count}: {said}");
        }
    }
}

/// As systemd hands it over: descriptor 3 and the number of the process.
#[test]
fn a_socket_of_systemd_is_taken_over() {
    let dir = tempfile::tempdir().expect("a directory");
    Machine::SMALL.write(dir.path(), 0);
    let script = r#"
import os, socket, sys
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
os.dup2(s.fileno(), 3); os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])
"#;
    let mut command = Command::new("python3");
    command.args(["-c", script, TOPOTOP, "serve", "--root"]).arg(dir.path()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("python3 runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let place = line.trim().trim_start_matches("serving http://").trim_end_matches("/metrics").to_owned();
    let service = Service { child, place };
    assert!(!service.place.ends_with(":9977"), "{line}");
    // The first scrape is the one that makes systemd start the service.
    assert_eq!(status(&service.get("/metrics", "")), 200);
}

#[test]
fn a_recording_is_served() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.rec");
    let recording = crate::common::synthetic_recording::SyntheticRecording::default();
    recording.write(&path);
    let shown = path.to_str().expect("a path");
    let service = Service::on_loopback(&["--from", shown]);
    let reply = service.get("/metrics", "");
    assert!(reply.contains("topotop_online_cpus{node=\"0\"} 4\n"), "{reply}");
    assert!(refused(&["--from", shown, "--root", "/"]).contains("--root"));
}

/// A machine that stops answering is not shown as it was.
#[test]
fn a_service_that_no_longer_samples_is_unhealthy() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.rec");
    crate::common::synthetic_recording::SyntheticRecording { seconds: 2, ..Default::default() }.write(&path);
    let service = Service::on_loopback(&["--from", path.to_str().expect("a path")]);
    std::fs::remove_file(&path).expect("removed");
    service.wait_for("/healthz", 503);
    assert_eq!(status(&service.get("/metrics", "")), 503);
}

/// Names that escape, forge labels and steer terminals: every line of a page is a series or a comment of its own.
#[test]
fn hostile_names_are_labels_and_no_more() {
    let dir = tempfile::tempdir().expect("a directory");
    crate::common::hostile_names(dir.path());
    let root = dir.path().to_str().expect("a path");
    let service = Service::on_loopback(&["--root", root, "--interval", "200ms", "--expose-names"]);
    for accept in ["text/plain", "application/openmetrics-text"] {
        let page = service.get("/metrics", &format!("Accept: {accept}\r\n"));
        for line in body(&page).lines() {
            assert!(line.starts_with("# ") || line.starts_with("topotop_"), "{line:?}");
        }
        assert!(!body(&page).contains(|c: char| c.is_control() && c != '\n'), "{page:?}");
    }
    for path in ["/snapshot.json", "/findings.json"] {
        let reply = service.get(path, "");
        serde_json::from_str::<serde_json::Value>(body(&reply)).expect("JSON");
        assert!(!body(&reply).contains(|c: char| c.is_control() && c != '\n'), "{path}");
    }
    for path in ["/../../etc/passwd", "/%2e%2e/metrics", "//metrics", "/metrics/", "http://a/metrics", "*"] {
        let reply = service.get(path, "");
        assert!(status(&reply) == 404 && !reply.contains("etc"), "{path}: {reply}");
    }
}

/// A page of somebody else, in a browser on this machine, whose name he lets lead to 127.0.0.1 (DNS rebinding).
#[test]
fn a_page_of_another_name_reads_nothing_without_a_token() {
    let (service, _dir) = Service::of_a_machine(&["--expose-names"]);
    for path in ["/metrics", "/snapshot.json", "/findings.json", "/"] {
        let ask = |host: &str| {
            let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            status(&service.send(request.as_bytes()))
        };
        assert_eq!((ask("evil.example:9977"), ask("localhost:9977"), ask("127.0.0.1")), (403, 200, 200), "{path}");
    }
}

#[test]
fn huge_and_broken_heads_are_refused() {
    let (service, _dir) = Service::of_a_machine(&[]);
    let huge = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(1 << 20));
    assert_eq!(status(&service.send(huge.as_bytes())), 431);
    let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "X: a\r\n".repeat(1000));
    assert_eq!(status(&service.send(many.as_bytes())), 431);
    assert_eq!(status(&service.send(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")), 400);
    assert_eq!(status(&service.send(b"GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\nGET /a HT")), 413);
    assert_eq!(status(&service.get("/healthz", "")), 200);
}

/// A thousand connections that ask for nothing, or for a page that they do not take: others are served all the same, and
/// nothing is left when they are gone.
#[test]
fn connections_are_bounded() {
    let (service, _dir) = Service::of_a_machine(&[]);
    let before = (service.sockets(), service.resident_kib());
    for asks in [false, true] {
        let mut held: Vec<TcpStream> = Vec::new();
        for _ in 0..1000 {
            let mut stream = service.connect();
            if asks {
                let _ = stream.write_all("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50).as_bytes());
            } else {
                let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHo");
            }
            held.push(stream);
            if held.len().is_multiple_of(250) {
                assert_eq!(status(&service.get("/metrics", "")), 200, "beside {}", held.len());
                assert!(service.sockets() <= before.0 + 130, "{} sockets", service.sockets());
            }
        }
    }
    let start = Instant::now();
    while service.sockets() > before.0 {
        assert!(start.elapsed() < PATIENCE, "{} sockets, {} before", service.sockets(), before.0);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(service.resident_kib() < before.1 + (16 << 10), "{} KiB after {}", service.resident_kib(), before.1);
}

/// A machine with 4 cards of 16 queues and 24 disks, as it is `step` seconds after its first sample.
fn large(dir: &Path, machine: Machine, step: u64) {
    machine.write(dir, step);
    let edit = |file: &str, word: &str, more: &dyn Fn(&str) -> String| {
        let path = dir.join(file);
        let text = std::fs::read_to_string(&path).expect("a file");
        let line = text.lines().find(|line| line.contains(word)).expect("a line");
        std::fs::write(&path, format!("{text}{}", more(line))).expect("written");
    };
    edit("proc/net/dev", "eth0:", &|card| {
        (1..4).map(|number| card.replace("eth0:", &format!("eth{number}:")) + "\n").collect()
    });
    edit("proc/diskstats", " sda ", &|disk| {
        let row = |name: &str, number: u8| format!("8 {} {name} ", u32::from(number) * 16);
        disks().map(|(name, number)| disk.replacen("   8       0 sda ", &row(&name, number), 1) + "\n").collect()
    });
    if step > 0 {
        return;
    }
    let link = |target: String, name: String| std::os::unix::fs::symlink(target, dir.join(name)).expect("linked");
    for number in 1..4 {
        let net = format!("devices/pci0000:3a/0000:3c:0{number}.0/net/eth{number}");
        let to = dir.join("sys").join(&net);
        std::fs::create_dir_all(to.parent().expect("a parent")).expect("made");
        let from = dir.join("sys/devices/pci0000:3a/0000:3b:00.0/net/eth0");
        assert!(Command::new("cp").arg("-a").arg(from).arg(&to).status().expect("cp runs").success());
        std::fs::write(to.join("ifindex"), format!("{}\n", 2 + number)).expect("written");
        link(format!("../../{net}"), format!("sys/class/net/eth{number}"));
    }
    for (name, number) in disks() {
        let block = dir.join("sys/devices/pci0000:00/block").join(&name);
        std::fs::create_dir_all(block.join("queue")).expect("made");
        std::fs::write(block.join("size"), "1000000\n").expect("written");
        std::fs::write(block.join("dev"), format!("8:{}\n", u32::from(number) * 16)).expect("written");
        link(format!("../devices/pci0000:00/block/{name}"), format!("sys/block/{name}"));
    }
}

/// Disks beside sda.
fn disks() -> impl Iterator<Item = (String, u8)> {
    (1..24_u8).map(|number| (format!("sd{}", char::from(b'a' + number)), number))
}

#[test]
fn a_large_machine_has_few_series() {
    for (cpus, nodes, least, most) in [(128, 4, 440, 500), (1000, 8, 250, 600)] {
        let dir = tempfile::tempdir().expect("a directory");
        let machine = Machine { cpus, nodes, irqs: 64, queues: 16, cgroups: 50, processes: 50 };
        large(dir.path(), machine, 0);
        let service = Service::on_loopback(&["--root", dir.path().to_str().expect("a path")]);
        // Shares and rates are there from the second sample on.
        let each = if cpus > 128 { "topotop_node_hot_cpus{" } else { "topotop_cpu_softirq_ratio{cpu=\"127\"" };
        let eth3 = "topotop_nic_bytes_total{device=\"eth3\"";
        let wanted = [each, eth3, "topotop_disk_bytes_total{device=\"sdx\"", "topotop_pressure_seconds_total{"];
        let start = Instant::now();
        let mut step = 0;
        let page = loop {
            let page = service.get("/metrics", "");
            if wanted.iter().all(|part| page.contains(part)) {
                break page;
            }
            assert!(start.elapsed() < PATIENCE, "{page}");
            std::thread::sleep(Duration::from_secs(1));
            step += 1;
            large(dir.path(), machine, step);
        };
        let count = series(&page);
        eprintln!("{cpus} CPUs on {nodes} nodes, 4 cards of 16 queues, 24 disks: {count} series");
        assert!((least..=most).contains(&count), "{cpus} CPUs: {count} series");
    }
}

#[test]
fn the_units_are_sandboxed() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        crate::common::not_tested("no systemd-analyze (systemd)");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut paths = Vec::new();
    for name in ["topotop-serve.service", "topotop-serve.socket"] {
        let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist").join(name);
        let text = std::fs::read_to_string(unit).expect("the unit").replace("/usr/bin/topotop", TOPOTOP);
        paths.push(dir.path().join(name));
        std::fs::write(paths.last().expect("a path"), text).expect("written");
    }
    let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).args(&paths).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("topotop-serve"), "{said}");
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=true", "--no-pager", "--threshold=30"]).arg(&paths[0]);
    let output = analyze.output().expect("it runs");
    let unknown = String::from_utf8_lossy(&output.stderr).contains("unrecognized option");
    assert!(unknown || output.status.success(), "more exposed: {}", String::from_utf8_lossy(&output.stdout));
}
