use super::*;
use crate::testing::{drawn, judged, text};
use crate::{Charset, Cx, demo};
use topotop_model::Known;
use topotop_model::frame::Frame;
use topotop_model::judge::Timeline;

fn with<R>(frame: &Frame, charset: Charset, call: impl FnOnce(&Cx<'_>) -> R) -> R {
    let history = demo::history();
    let judgement = if &*frame.host.name == "db-17" { demo::sick() } else { demo::healthy() };
    let timeline = if judgement.findings.is_empty() { Timeline::default() } else { demo::timeline() };
    judged(frame, &judgement, charset, |cx| call(&Cx { history: &history, timeline: &timeline, ..*cx }))
}

#[test]
fn looks() {
    let (server, wide, tiny, blind) = (demo::server(), demo::wide(), demo::tiny(), demo::blind());
    let frames = [("server", &server), ("wide", &wide), ("tiny", &tiny), ("blind", &blind)];
    for (name, frame) in frames {
        for (width, height) in [(80, 24), (120, 40), (200, 60), (60, 15)] {
            if name == "server" || width <= 120 && height >= 24 {
                let picture = with(frame, Charset::Unicode, |cx| text(&drawn(&mut Overview::new(), cx, width, height)));
                insta::assert_snapshot!(format!("overview_{name}_{width}x{height}"), picture);
            }
        }
    }
    let ascii = with(&server, Charset::Ascii, |cx| text(&drawn(&mut Overview::new(), cx, 120, 40)));
    insta::assert_snapshot!("overview_ascii_120x40", ascii);
}

#[test]
fn the_hot_cpu_is_hot_and_a_click_selects_it() {
    let frame = demo::server();
    with(&frame, Charset::Unicode, |cx| {
        let mut panel = Overview::new();
        let buf = drawn(&mut panel, cx, 120, 40);
        let hit = *panel.hits.iter().find(|hit| hit.cpu == 17).unwrap();
        let cell = &buf[(hit.from, hit.row)];
        assert_eq!((cell.symbol(), Some(cell.fg)), ("▲", cx.theme.style(Role::Critical).fg));
        // Where nothing is found it is as hot as it is.
        let healthy = demo::healthy();
        let plain = drawn(&mut Overview::new(), &Cx { judgement: &healthy, ..*cx }, 120, 40);
        let cell =
            plain.content.iter().find(|cell| cell.symbol() == "█" && Some(cell.fg) == cx.theme.style(Role::Heat4).fg);
        assert!(cell.is_some());
        let click = Action::Click { column: hit.from, row: hit.row };
        assert_eq!(panel.act(click, cx), Outcome::Selected(Subject::Cpu(17)));
        let chosen = Subject::Cpu(17);
        let cx = Cx { selected: Some(&chosen), ..*cx };
        let buf = drawn(&mut panel, &cx, 120, 40);
        assert_eq!(Some(buf[(hit.from, hit.row)].bg), cx.theme.style(Role::Related).bg);
    });
}

fn resource(frame: &Frame, name: &str) -> String {
    with(frame, Charset::Unicode, |cx| {
        // One resource to a row.
        let picture = text(&drawn(&mut Overview::new(), cx, 39, 60));
        let cell = |line: &&str| {
            line.trim_start().strip_prefix(['▲', '●', '◦', '✓', '?']).is_some_and(|line| line.starts_with(name))
        };
        let line = picture.lines().find(cell).unwrap_or_default();
        let words =
            line.split_whitespace().filter(|word| !word.chars().all(|c| ('▁'..='█').contains(&c) || "━─╸".contains(c)));
        words.collect::<Vec<_>>().join(" ")
    })
}

#[test]
fn resources_tell_unknown_from_none() {
    let mut frame = demo::server();
    assert_eq!(resource(&frame, "nic"), "✓nic 4% ↓4% ↑2% eth0");
    assert_eq!(resource(&frame, "remote"), "◦remote 61% postgres 7741");
    // A second interface whose capacity nobody knows: nobody can rule the network out.
    frame.nics[2].capacity_mbps = Known::None;
    frame.nics[2].utilisation = None;
    assert_eq!(resource(&frame, "nic"), "?nic unknown ↓2.4M ↑2.1M eth1");
    // Unless the first one is full.
    frame.nics[1].capacity_mbps = 900.into();
    assert!(resource(&frame, "nic").starts_with("▲nic 99% ↓99% ↑2.1M"), "{}", resource(&frame, "nic"));
    let tiny = demo::tiny();
    assert_eq!(resource(&tiny, "remote"), "✓remote one node");
    assert_eq!(resource(&tiny, "quota"), "✓quota no quota");
    let blind = demo::blind();
    for name in ["core", "thread", "softirq", "disk", "nic", "quota", "memory", "remote"] {
        assert!(resource(&blind, name).starts_with(&format!("?{name} ")), "{}", resource(&blind, name));
    }
}

#[test]
fn what_the_filter_hides_is_not_said_to_be_missing() {
    let frame = demo::server();
    let picture = with(&frame, Charset::Unicode, |cx| {
        let filtered = Cx { filter: "nothing of this", ..*cx };
        text(&drawn(&mut Overview::new(), &filtered, 200, 60))
    });
    for what in ["interfaces", "disks", "cgroups", "processes"] {
        assert!(picture.contains(&format!("{what} match \"nothing of this\"")), "{what}:\n{picture}");
    }
    assert!(!picture.contains("no cgroups") && !picture.contains("no disks"), "{picture}");
}

#[test]
fn what_the_load_waits_for_stands_below_where_nothing_limits() {
    use topotop_model::frame::{OffCpu, WaitClass, WaitShare};
    let mut frame = demo::tiny();
    let shares = vec![WaitShare { class: WaitClass::Lock, share: 0.71, what: "".into() }];
    let process = frame.processes.iter_mut().find(|process| &*process.comm == "nginx").expect("nginx");
    process.cpu_cores = Some(0.4);
    process.off_cpu = Some(OffCpu { samples: 50, threads: 4, seconds: 10.0, shares });
    let picture = with(&frame, Charset::Unicode, |cx| text(&drawn(&mut Overview::new(), cx, 80, 22)));
    let second = picture.lines().nth(1).unwrap_or_default();
    assert_eq!(second, " nginx 812 spends 71% of its time waiting for a lock", "{picture}");
    let limited = demo::server();
    let picture = with(&limited, Charset::Unicode, |cx| text(&drawn(&mut Overview::new(), cx, 80, 22)));
    assert!(picture.lines().nth(1).unwrap_or_default().starts_with(" ▲core"), "{picture}");
}

#[test]
fn nodes_without_cpus_or_memory_are_shown_as_such() {
    let mut frame = demo::server();
    let mut far = frame.nodes[3].clone();
    (far.id, far.busy) = (9, None);
    frame.nodes.push(far);
    frame.nodes[1].memory_total_bytes = 0.into();
    let picture = with(&frame, Charset::Unicode, |cx| text(&drawn(&mut Overview::new(), cx, 100, 40)));
    let line = picture.lines().find(|line| line.contains("no CPUs")).unwrap_or_default();
    assert!(line.contains("9 no CPUs") && line.contains("10.3G"), "{picture}");
    let without_memory = picture.lines().find(|line| line.contains("╰ 1")).unwrap_or_default();
    assert!(without_memory.contains('—'), "{without_memory}");
}

#[test]
fn every_resource_is_there_at_every_width() {
    let frame = demo::server();
    for width in 20..220 {
        let picture = with(&frame, Charset::Unicode, |cx| text(&drawn(&mut Overview::new(), cx, width, 40)));
        let resources = picture.lines().take_while(|line| !line.contains("Nodes")).collect::<String>();
        for name in ["core", "thread", "softirq", "disk", "nic", "quota", "memory", "remote"] {
            assert!(resources.contains(name), "{name} at {width}\n{picture}");
        }
    }
}

#[test]
fn short_lists_stay_in_their_area() {
    type Draw = fn(&Cx<'_>, Rect, &mut Buffer);
    let lists: [Draw; 5] = [
        crate::queues::compact,
        crate::cgroups::compact,
        crate::processes::compact,
        crate::disks::compact,
        |cx, area, buf| timeline::draw(cx, area, buf),
    ];
    for frame in [demo::server(), demo::tiny(), demo::blind()] {
        for (at, draw) in lists.iter().enumerate() {
            for (width, height) in [(60, 5), (40, 1), (100, 2), (3, 3)] {
                let inside = Rect::new(4, 2, width, height);
                let mut buf = Buffer::filled(Rect::new(0, 0, 120, 12), ratatui::buffer::Cell::new("!"));
                with(&frame, Charset::Unicode, |cx| draw(cx, inside, &mut buf));
                for y in 0..12 {
                    for x in 0..120 {
                        let outside = !inside.contains((x, y).into());
                        assert!(!outside || buf[(x, y)].symbol() == "!", "list {at} {width}x{height} wrote {x},{y}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let frame = demo::server();
    let picture = with(&frame, Charset::Unicode, |cx| text(&drawn(&mut Overview::new(), cx, 60, 12)));
    let last = picture.lines().last().unwrap_or_default();
    assert!(last.contains("hidden:") && last.contains("nodes"), "{picture}");
    assert!(picture.contains("→c17") && picture.contains("nvme1n1"), "{picture}");
}

#[test]
fn what_is_unreadable_is_not_counted_beside_no_findings() {
    use topotop_model::rules::{self, Finding, Severity, unreadable_data};
    let (frame, healthy) = (demo::tiny(), demo::healthy());
    let finding = Finding {
        rule: rules::find(unreadable_data::ID.as_str()).expect("a rule"),
        subject: Subject::Host,
        severity: Severity::Info,
        confidence: 1.0,
        since: topotop_model::Stamp::default(),
        evidence: Vec::new(),
        children: Vec::new(),
    };
    let judgement = topotop_model::judge::Judgement { findings: vec![finding], ..healthy };
    judged(&frame, &judgement, Charset::Unicode, |cx| {
        let picture = text(&drawn(&mut Overview::new(), cx, 120, 40));
        assert!(picture.contains("no findings") && !picture.contains("○1"), "{picture}");
    });
}

#[test]
fn uptime_users_load_run_queue_and_swap_stand_in_one_row_at_80_columns() {
    let head = |frame: &Frame, width| {
        with(frame, Charset::Unicode, |cx| crate::testing::row(&drawn(&mut Overview::new(), cx, width, 21), 0))
    };
    let mut frame = demo::server();
    assert_eq!(head(&frame, 80), " up 25h  2 users  load 11.40 9.80 6.10  run queue 12, 5.6 waiting  swap 0");
    frame.memory.swap_free_bytes = (1 << 30).into();
    frame.memory.swap_total_bytes = (4 << 30).into();
    assert_eq!(head(&frame, 80), " up 25h  2 users  load 11.40 9.80 6.10  run queue 12  swap 3.0G/4.0G");
    (frame.host.load, frame.host.run_wait_cores) = (None, None);
    assert_eq!(head(&frame, 80), " up 25h  2 users  load ?  run queue 12  blocked 1  swap 3.0G/4.0G");
    // What was not read is a question mark; where nobody counts users there is nothing to read.
    (frame.host.users, frame.host.uptime_seconds) = (Known::Missing, Known::Missing);
    assert!(head(&frame, 80).starts_with(" up ?  users ?  load "), "{}", head(&frame, 80));
    frame.host.users = Known::None;
    assert!(head(&frame, 80).starts_with(" up ?  load "), "{}", head(&frame, 80));
    frame.host.users = 1.into();
    assert!(head(&frame, 200).starts_with(" up ?  1 user  load "), "{}", head(&frame, 200));
}

#[test]
fn the_part_of_a_critical_finding_comes_before_others() {
    let frame = demo::server();
    for (width, height) in [(80, 24), (80, 18), (60, 15)] {
        let picture = with(&frame, Charset::Unicode, |cx| text(&drawn(&mut Overview::new(), cx, width, height)));
        assert!(picture.contains("\n▲nvme1n1") && picture.contains("\n▲eth0"), "{width}x{height}\n{picture}");
    }
}

#[test]
fn a_list_that_is_cut_says_how_long_it_is() {
    let frame = demo::server();
    let picture = with(&frame, Charset::Unicode, |cx| text(&drawn(&mut Overview::new(), cx, 80, 24)));
    for (title, count) in [("Disks and pressure", "1 of 3 ─"), ("Cgroup memory", "1 of 4 ─"), ("Queues", "1 of 2")]
    {
        let rule = picture.lines().find(|line| line.contains(title)).unwrap_or_default();
        assert!(rule.contains(count), "{picture}");
    }
}
