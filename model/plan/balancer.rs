//! Load balancer configurations: they listen on the program's old ports, so that clients need no change.

use super::{Port, Program};
use crate::locale::Text;
use crate::locale::plan as text;
use serde::Serialize;
use std::fmt::Write as _;

/// A configuration of a load balancer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Balancer {
    /// `nginx`, `haproxy`, `apache`.
    pub name: &'static str,
    /// Where to put it.
    pub place: Text,
    /// The text.
    pub text: String,
}

/// A port of the program, and where it is on each instance.
struct Front<'a> {
    old: u16,
    backends: Vec<(&'a str, String)>,
}

pub(super) fn all(program: &Program, name: &str, labels: &[&str], ports: &[Port]) -> Vec<Balancer> {
    let mut old: Vec<u16> = ports.iter().filter(|port| port.protocol == "tcp").map(|port| port.old).collect();
    old.sort_unstable();
    old.dedup();
    let fronts: Vec<Front<'_>> = old.iter().map(|old| front(*old, labels, ports)).collect();
    let main = program.busiest_port.filter(|port| old.contains(port)).or(old.first().copied());
    let Some(main) = main.and_then(|main| fronts.iter().find(|front| front.old == main)) else { return Vec::new() };
    vec![
        Balancer { name: "nginx", place: text::PLACE_NGINX, text: nginx(name, &fronts) },
        Balancer { name: "haproxy", place: text::PLACE_HAPROXY, text: haproxy(name, main, &fronts) },
        Balancer { name: "apache", place: text::PLACE_APACHE, text: apache(name, main) },
    ]
}

fn front<'a>(old: u16, labels: &[&'a str], ports: &[Port]) -> Front<'a> {
    let of = |(at, label): (usize, &&'a str)| {
        let port = ports.iter().find(|port| port.instance == at && port.old == old && port.protocol == "tcp")?;
        Some((*label, format!("{}:{}", reached(&port.address), port.new)))
    };
    Front { old, backends: labels.iter().enumerate().filter_map(of).collect() }
}

/// The address that an instance on this machine is reached by.
fn reached(address: &str) -> String {
    match address {
        "" | "0.0.0.0" | "::" | "*" => "127.0.0.1".to_owned(),
        // Keeps only characters of addresses.
        six if six.contains(':') => format!("[{}]", plain(six)),
        four => plain(four),
    }
}

fn plain(address: &str) -> String {
    address.chars().filter(|c| c.is_ascii_hexdigit() || matches!(c, '.' | ':')).collect()
}

/// Any protocol; sticky by client address.
fn nginx(name: &str, fronts: &[Front<'_>]) -> String {
    let mut text = "stream {\n".to_owned();
    for front in fronts {
        let upstream = format!("{}_{}", name.replace(['-', '.'], "_"), front.old);
        // Writing to a String cannot fail.
        let _ = write!(text, "    upstream {upstream} {{\n        hash $remote_addr consistent;\n");
        for (_, backend) in &front.backends {
            let _ = writeln!(text, "        server {backend} max_fails=2 fail_timeout=5s;");
        }
        let _ = write!(
            text,
            "    }}\n    server {{\n        listen {};\n        proxy_connect_timeout 1s;\n        proxy_next_upstream on;\n        proxy_pass {upstream};\n    }}\n",
            front.old
        );
    }
    text + "}\n"
}

/// HTTP with a cookie for the busiest port, other ports sticky by client address.
fn haproxy(name: &str, main: &Front<'_>, fronts: &[Front<'_>]) -> String {
    let mut text = "defaults\n    timeout connect 1s\n    timeout client 60s\n    timeout server 60s\n\n".to_owned();
    for front in fronts {
        let http = front.old == main.old;
        let _ = write!(text, "listen {name}_{}\n    bind :{}\n", front.old, front.old);
        text.push_str(if http {
            "    # for protocols other than HTTP: mode tcp and balance source\n    mode http\n    balance leastconn\n    cookie NODE insert indirect nocache\n    option httpchk GET /\n    http-check expect rstatus ^[234]\n"
        } else {
            "    mode tcp\n    balance source\n"
        });
        for (label, backend) in &front.backends {
            let cookie = if http { format!(" cookie {label}") } else { String::new() };
            let _ = writeln!(text, "    server {label} {backend} check inter 2s fall 2 rise 2{cookie}");
        }
        text.push('\n');
    }
    text
}

/// The busiest port: HTTP only.
fn apache(name: &str, main: &Front<'_>) -> String {
    let mut text = format!("Listen {}\n<VirtualHost *:{}>\n", main.old, main.old);
    let _ = writeln!(
        text,
        "    Header add Set-Cookie \"ROUTE=.%{{BALANCER_WORKER_ROUTE}}e; path=/\" env=BALANCER_ROUTE_CHANGED"
    );
    let _ = writeln!(text, "    <Proxy \"balancer://{name}\">");
    for (label, backend) in &main.backends {
        let _ = writeln!(
            text,
            "        BalancerMember \"http://{backend}\" route={label} hcmethod=GET hcuri=/ hcinterval=2 hcpasses=2 hcfails=2"
        );
    }
    let _ = write!(
        text,
        "        ProxySet lbmethod=bybusyness stickysession=ROUTE\n    </Proxy>\n    ProxyPass \"/\" \"balancer://{name}/\"\n    ProxyPassReverse \"/\" \"balancer://{name}/\"\n</VirtualHost>\n"
    );
    text
}
