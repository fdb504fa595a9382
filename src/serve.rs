//! `topotop serve`: the last sample over HTTP, for Prometheus. One thread samples, one answers; the machine is only read.

mod connection;
mod door;
mod feed;
mod pages;
mod request;
mod server;

use crate::args::Global;
use crate::source::live::Plan;
use crate::trust;
use door::Door;
use feed::Feed;
use pages::Pages;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use topotop_collectors::Root;
use topotop_model::locale::{error as errors, serve as text};
use topotop_model::text::printable;

/// Where it listens by default.
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9977);

/// What `serve` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct ServeArgs {
    /// Address and port to listen on; an address that other machines reach needs --token-file [default: 127.0.0.1:9977].
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Unix socket to listen on, for its owner only (mode 0600).
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// File with the token that requests must carry (Authorization: Bearer).
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Serve /snapshot.json and /findings.json too, and name the subjects of findings.
    #[arg(long)]
    pub expose_names: bool,
    /// Serve a recording, over and over, instead of this machine.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
}

/// Sockets to listen on, and the token that requests must carry.
pub(crate) struct Doors {
    doors: Vec<Door>,
    token: Option<String>,
}

/// Opens the sockets: those that systemd passes, else those that the arguments name.
pub(crate) fn open(args: &ServeArgs, global: &Global) -> Result<Doors, String> {
    if args.from.is_some() && (global.root.is_some() || global.interval.is_some()) {
        return Err(text::FROM_WITH_LIVE_FLAGS.to_string());
    }
    let token = args.token_file.as_deref().map(token).transpose()?;
    let mut doors = door::inherited()?;
    if let Some(path) = &args.socket {
        doors.push(Door::at(path)?);
    }
    if doors.is_empty() || args.listen.is_some() {
        let address = args.listen.as_deref().map_or(Ok(ADDRESS), address)?;
        // Before the socket is reachable.
        door::require_token(address, token.is_some())?;
        doors.push(Door::on(address)?);
    }
    for door in &doors {
        if let Some(address) = door.address() {
            door::require_token(address, token.is_some())?;
        }
    }
    Ok(Doors { doors, token })
}

fn address(given: &str) -> Result<SocketAddr, String> {
    let local = given.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    // A manifest brackets the address of a node without knowing its family.
    let bracketed = given.strip_prefix('[').and_then(|rest| rest.split_once("]:"));
    let bracketed = bracketed
        .and_then(|(host, port)| Some(SocketAddr::from((host.parse::<Ipv4Addr>().ok()?, port.parse::<u16>().ok()?))));
    let parsed = bracketed.map_or_else(|| local.as_deref().unwrap_or(given).parse::<SocketAddr>(), Ok);
    parsed.map_err(|_| text::NotAnAddress { given: &printable(given) }.to_string())
}

/// The first line of a file.
fn token(path: &Path) -> Result<String, String> {
    let shown = path.display().to_string();
    let wrong = |error: &dyn Display| text::TokenUnreadable { path: &printable(&shown), error }.to_string();
    let file = trust::read(path).map_err(|error| wrong(&trust::said(&error)))?;
    if let Some(why) = file.foreign().or_else(|| file.is_readable_by_all().then(|| text::TOKEN_READABLE.to_string())) {
        return Err(wrong(&why));
    }
    let line = file.text.lines().next().unwrap_or_default().trim();
    let good = (16..=512).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_graphic());
    good.then(|| line.to_owned()).ok_or_else(|| text::BadToken { path: &printable(&shown) }.to_string())
}

/// Samples and answers until a signal ends it.
pub(crate) fn run(
    args: &ServeArgs,
    doors: Doors,
    root: impl FnOnce() -> Result<Root, String>,
    plan: Plan,
) -> Result<(), String> {
    let (ending, theirs) = UnixStream::pair().map_err(|error| errors::Signals { error: &error }.to_string())?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let theirs = theirs.try_clone();
        theirs
            .and_then(|theirs| signal_hook::low_level::pipe::register(signal, theirs))
            .map_err(|error| errors::Signals { error: &error }.to_string())?;
    }
    let feed = Feed::default();
    let pages = Pages::new(feed.clone(), args.expose_names);
    let first = feed.clone();
    let sampling: Box<dyn FnOnce() + Send> = match &args.from {
        Some(path) => Box::new(feed::recording(path.clone(), plan, feed)?),
        None => Box::new(feed::machine(root()?, plan, feed)),
    };
    let thread = std::thread::Builder::new().name("sampler".to_owned()).spawn(sampling);
    thread.map_err(|error| errors::NoThread { error: &error }.to_string())?;
    for door in &doors.doors {
        let line = text::Listening { place: &door.to_string() }.to_string();
        crate::output::print(format!("{line}\n").as_bytes())?;
    }
    first.wait(&ending);
    server::serve(&doors.doors, doors.token, pages, &ending);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses_have_a_port_and_brackets_where_they_are_needed() {
        for (given, meant) in [
            ("127.0.0.1:9977", "127.0.0.1:9977"),
            ("localhost:80", "127.0.0.1:80"),
            ("[::1]:9977", "[::1]:9977"),
            ("[10.0.0.1]:9977", "10.0.0.1:9977"),
        ] {
            assert_eq!(address(given).map(|address| address.to_string()), Ok(meant.to_owned()), "{given}");
        }
        for wrong in
            ["", "localhost", ":9977", "::1:9977", "[[::1]]:9977", "[10.0.0.1]", "[10.0.0.1]:", "[10.0.0.1]:80:80"]
        {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
