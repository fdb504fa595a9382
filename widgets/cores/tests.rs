use super::*;
use crate::testing::{drawn, row, text, with_cx};
use crate::{Charset, demo};
use ratatui::style::Color;

fn cores(mode: Mode, grouping: Grouping) -> Cores {
    Cores { mode, grouping, ..Cores::default() }
}

/// A context over a frame with its history and a selection.
fn with<R>(frame: &topotop_model::frame::Frame, selected: Option<&Subject>, call: impl FnOnce(&Cx<'_>) -> R) -> R {
    let history = demo::history();
    with_cx(frame, Charset::Unicode, |cx| call(&Cx { history: &history, selected, ..*cx }))
}

#[test]
fn looks() {
    let (server, wide, tiny, blind) = (demo::server(), demo::wide(), demo::tiny(), demo::blind());
    let frames = [("server", &server), ("wide", &wide), ("tiny", &tiny), ("blind", &blind)];
    for (name, frame) in frames {
        for (width, height) in [(80, 24), (120, 40), (200, 60), (60, 15)] {
            if name != "server" && width != 120 && !(name == "wide" && width == 80) {
                continue;
            }
            for mode in [Mode::Heat, Mode::Split, Mode::Time, Mode::Map] {
                let picture = with(frame, None, |cx| text(&drawn(&mut cores(mode, Grouping::L3), cx, width, height)));
                insta::assert_snapshot!(format!("cores_{name}_{width}x{height}_{mode:?}"), picture);
            }
        }
    }
}

#[test]
fn the_hot_cpu_is_hot_in_colour_and_glyph() {
    let frame = demo::server();
    with(&frame, None, |cx| {
        let mut panel = cores(Mode::Heat, Grouping::L3);
        let buf = drawn(&mut panel, cx, 120, 40);
        let (machine, grid) = (&panel.machine, panel.grid.as_ref().unwrap());
        let tile = grid.tile_of(machine, 17).unwrap();
        let cell = &buf[(tile.x + 5, tile.y)];
        assert_eq!((cell.symbol(), Some(cell.fg)), ("█", cx.theme.style(Role::Heat4).fg));
        let cold = grid.tile_of(machine, 16).unwrap();
        assert_eq!(buf[(cold.x + 5, cold.y)].fg, cx.theme.style(Role::Heat0).fg.unwrap());
        // In the other mode its colour says that it is busy with interrupts.
        let mut panel = cores(Mode::Split, Grouping::L3);
        let wide = drawn(&mut panel, cx, 120, 20);
        let tile = panel.grid.as_ref().unwrap().tile_of(&panel.machine, 17).unwrap().clone();
        assert_eq!(wide[(tile.x + 5, tile.y)].fg, cx.theme.style(Role::Softirq).fg.unwrap());
    });
}

#[test]
fn what_is_selected_elsewhere_is_marked_here() {
    let frame = demo::server();
    let marked = |subject: &Subject| {
        with(&frame, Some(subject), |cx| {
            let mut panel = cores(Mode::Heat, Grouping::L3);
            let buf = drawn(&mut panel, cx, 120, 40);
            let grounds = [Role::Related, Role::Selected].map(|role| cx.theme.style(role).bg.unwrap_or(Color::Reset));
            let tiles = &panel.grid.as_ref().unwrap().tiles;
            let mut ids: Vec<u32> = tiles
                .iter()
                .filter(|tile| grounds.contains(&buf[(tile.x + 5, tile.y)].bg))
                .flat_map(|tile| panel.machine.cpus[tile.cpus.clone()].to_vec())
                .collect();
            ids.sort_unstable();
            ids
        })
    };
    assert_eq!(marked(&Subject::Nic("eth0".into())), [17]);
    assert_eq!(marked(&Subject::Nic("eth1".into())), [0, 2, 4, 6]);
    assert_eq!(marked(&Subject::Irq(141)), [17]);
    assert_eq!(marked(&Subject::Process(4121, 0)), [0, 1, 2, 3]);
    assert_eq!(marked(&Subject::Process(7741, 0)), [0u32; 0]);
    assert_eq!(marked(&Subject::Node(3)).len(), 16);
    assert_eq!(marked(&Subject::Cpu(40)), [40]);
}

#[test]
fn keys_and_clicks_move_over_the_drawing() {
    let frame = demo::server();
    with(&frame, None, |cx| {
        let mut panel = cores(Mode::Heat, Grouping::L3);
        drawn(&mut panel, cx, 120, 40);
        let mut go = |action| match panel.act(action, cx) {
            Outcome::Selected(Subject::Cpu(cpu)) => cpu,
            other => panic!("{action:?} {other:?}"),
        };
        assert_eq!(go(Action::Home), 0);
        assert_eq!([go(Action::Down), go(Action::Down), go(Action::Up)], [32, 8, 32]);
        assert_eq!([go(Action::SortNext), go(Action::SortNext)], [1, 33]);
        assert_eq!([go(Action::PageDown), go(Action::PageDown), go(Action::PageUp)], [8, 16, 8]);
        assert_eq!(go(Action::End), 63);
        assert_eq!(go(Action::Down), 63);
        let (column, row) = panel
            .grid
            .as_ref()
            .map(|grid| grid.tile_of(&panel.machine, 17).unwrap())
            .map_or((0, 0), |tile| (tile.x, tile.y));
        assert_eq!(panel.act(Action::Click { column, row }, cx), Outcome::Selected(Subject::Cpu(17)));
        assert_eq!(panel.act(Action::Click { column: 119, row: 39 }, cx), Outcome::Ignored);
        assert_eq!(panel.act(Action::Fold, cx), Outcome::Changed);
        assert!(row_of(&drawn(&mut panel, cx, 120, 40), 0).ends_with("package / node ─"));
    });
}

fn row_of(buf: &Buffer, y: u16) -> String {
    row(buf, y)
}

#[test]
fn pins_of_kernel_threads_are_no_pins() {
    let mut frame = demo::server();
    let mut pins = Pins::default();
    pins.count(&frame);
    assert_eq!(pins.iter().collect::<Vec<_>>(), [(0, 3), (1, 3), (2, 3), (3, 3)]);
    // Where nobody looked at all threads, those that were looked at count.
    frame.processes.iter_mut().for_each(|process| process.thread_affinities.clear());
    pins.count(&frame);
    assert_eq!(pins.iter().collect::<Vec<_>>(), [(0, 3), (1, 3), (2, 3), (3, 3)]);
}

#[test]
fn a_history_of_other_cpus_is_not_shown_as_this_one() {
    let mut frame = demo::tiny();
    with(&frame.clone(), None, |cx| {
        // The history is the server's: 63 values a sample.
        let picture = text(&drawn(&mut cores(Mode::Time, Grouping::L3), cx, 60, 12));
        assert!(picture.lines().nth(1).is_some_and(|line| line.trim_end().ends_with("33%")), "{picture}");
        assert!(!picture.contains('▇'), "{picture}");
    });
    frame.cpus.clear();
    frame.topology = std::sync::Arc::default();
    with(&frame, None, |cx| {
        assert!(text(&drawn(&mut Cores::new(), cx, 60, 12)).contains("no CPU data"));
    });
}

#[test]
fn an_accelerator_hangs_at_its_node_and_is_the_device_of_who_holds_it() {
    use topotop_model::frame::{Accelerator, AcceleratorClient};
    let mut frame = demo::server();
    let clients = vec![AcceleratorClient { pid: 4121, utilisation: Some(0.4), memory_bytes: None }];
    frame.accelerators = vec![
        Accelerator {
            name: "card1".into(),
            driver: "amdgpu".into(),
            node: 2.into(),
            utilisation: Some(0.37),
            memory_used_bytes: (3 << 30).into(),
            memory_total_bytes: (16 << 30).into(),
            clients,
            ..Accelerator::default()
        },
        Accelerator { name: "nvidia0".into(), driver: "nvidia".into(), node: 1.into(), ..Accelerator::default() },
    ];
    let selected = Subject::Process(4121, 0);
    let picture = with_cx(&frame, Charset::Unicode, |cx| {
        text(&drawn(&mut cores(Mode::Map, Grouping::L3), &Cx { selected: Some(&selected), ..*cx }, 100, 24))
    });
    insta::assert_snapshot!(picture);
    // Whoever is taken to it finds it, and the processes that hold it are its chain.
    let device = Subject::Accelerator("card1".into());
    with_cx(&frame, Charset::Unicode, |cx| {
        let mut panel = Cores::new();
        panel.reveal(&device, cx);
        let cx = &Cx { selected: Some(&device), ..*cx };
        assert!(text(&drawn(&mut panel, cx, 100, 24)).contains("card1"));
        let holders = cx.frame.processes.iter().filter(|process| crate::parts::related::uses(cx, process, &device));
        assert_eq!(holders.map(|process| process.pid).collect::<Vec<_>>(), [4121]);
    });
}

#[test]
fn devices_hang_at_their_node_and_a_process_on_several_nodes_is_a_triangle() {
    let mut frame = demo::server();
    let process = frame.processes.iter_mut().find(|process| process.pid == 4121).unwrap();
    process.cpu_by_node = vec![(0, 0.5), (1, 3.5)];
    let memory = process.memory.as_mut().unwrap();
    memory.by_node = vec![(0, 9 << 30), (3, 1 << 30)];
    let disk = frame.disks.iter_mut().find(|disk| disk.node == topotop_model::Known::Value(0)).unwrap();
    let who = topotop_model::frame::WriterId::Process(4121);
    let (bytes_share, ops_share, bytes_per_second) = (Some(0.9), None, 4e8);
    disk.writers = vec![topotop_model::frame::Writer { who, bytes_share, ops_share, bytes_per_second }];
    (disk.name, disk.node) = ("nvme9n1".into(), 2.into());
    let selected = Subject::Process(4121, 0);
    for (width, charset) in [(80, Charset::Unicode), (120, Charset::Unicode), (80, Charset::Ascii)] {
        let picture = with_cx(&frame, charset, |cx| {
            text(&drawn(&mut cores(Mode::Map, Grouping::L3), &Cx { selected: Some(&selected), ..*cx }, width, 22))
        });
        let line = |word: &str| picture.lines().position(|line| line.contains(word)).expect(&picture);
        let (zero, one, two, three) = (line("node 0"), line("node 1"), line("node 2"), line("node 3"));
        let within = |device: &str| line(&format!(" {device} "));
        assert!((two..three).contains(&within("nvme9n1")), "{picture}");
        assert!(zero < one && one < two, "{picture}");
        assert_eq!((line(" memory 90%"), line(" CPU 88%")), (zero, one), "{picture}");
        assert!(picture.contains("memory 90% on node 0, nvme9n1 on node 2"), "{picture}");
    }
    // What is selected on the map is selected everywhere.
    with_cx(&frame, Charset::Unicode, |cx| {
        let mut panel = cores(Mode::Map, Grouping::L3);
        drawn(&mut panel, cx, 120, 40);
        assert_eq!(panel.act(Action::Home, cx), Outcome::Selected(Subject::Node(0)));
        let node = Subject::Node(0);
        let below = panel.act(Action::Down, &Cx { selected: Some(&node), ..*cx });
        assert!(matches!(below, Outcome::Selected(Subject::Nic(_) | Subject::Disk(_))), "{below:?}");
    });
}

#[test]
fn a_sample_in_which_a_cpu_was_not_read_is_a_gap() {
    let mut history = topotop_model::history::History::default();
    for second in 0..=40 {
        let mut frame = demo::server_at(second);
        if (10..20).contains(&second) {
            frame.cpus.iter_mut().find(|cpu| cpu.id == 3).expect("CPU 3").shares = None;
        }
        history.push(&frame);
    }
    let (frame, selected) = (demo::server(), Subject::Cpu(3));
    with_cx(&frame, Charset::Unicode, |cx| {
        let cx = &Cx { history: &history, selected: Some(&selected), ..*cx };
        let rows = text(&drawn(&mut cores(Mode::Time, Grouping::Flat), cx, 100, 80));
        let columns = |name: &str| -> Vec<char> {
            let line = rows.lines().find(|line| line.contains(name)).expect(&rows);
            line.chars().skip(16).take(78).collect()
        };
        let gaps = |columns: &[char]| columns.iter().skip_while(|c| **c == ' ').filter(|c| **c == ' ').count();
        assert_eq!((gaps(&columns("c3 ")), gaps(&columns("c5 "))), (10, 0), "{rows}");
        let detail = text(&drawn(&mut cores(Mode::Heat, Grouping::Flat), cx, 100, 60));
        assert!(detail.lines().any(|line| line.contains("??????????")), "{detail}");
    });
}

#[test]
fn the_grouping_is_whole_beside_the_mode_or_not_there() {
    let (server, wide, mut first) = (demo::server(), demo::wide(), demo::server());
    first.interval_seconds = None;
    let mut whole = 0;
    let narrow = (20..100).step_by(4).flat_map(|width| [(&server, width), (&first, width)]);
    for (frame, width) in narrow.chain([(&wide, 40), (&wide, 80)]) {
        for mode in [Mode::Heat, Mode::Split, Mode::Time, Mode::Map] {
            let rule =
                with_cx(frame, Charset::Unicode, |cx| row_of(&drawn(&mut cores(mode, Grouping::L3), cx, width, 6), 0));
            let there = rule.ends_with("─ package / node / L3 ─");
            whole += usize::from(there);
            assert!(there || !rule.contains("L3"), "{mode:?} {width} {rule}");
            let (named, legend) = (rule.contains(mode.name().as_str()), mode == Mode::Split && width >= 90);
            assert!(named || legend || width < 60, "{mode:?} {width} {rule}");
        }
    }
    assert!(whole > 40, "{whole}");
}

#[test]
fn on_large_machines_the_chart_of_a_cpu_says_that_it_has_no_kinds_of_time() {
    let (wide, large) = (demo::wide(), demo::large());
    for (frame, expected) in [(&wide, true), (&large, false)] {
        let history = demo::history_of(frame);
        let detail = with_cx(frame, Charset::Unicode, |cx| {
            let area = Rect::new(0, 0, 80, 30);
            let mut buf = Buffer::empty(area);
            detail::draw(&Cx { history: &history, ..*cx }, &Pins::default(), 3, area, &mut buf);
            text(&buf)
        });
        let line = detail.lines().find(|line| line.contains("utilisation over time")).expect(&detail);
        assert_eq!(line.contains("CPU time by mode: only up to 256 CPUs"), expected, "{detail}");
    }
}

#[test]
fn rows_of_many_cpus_begin_with_a_number_and_wide_screens_are_used() {
    let (wide, server) = (demo::wide(), demo::server());
    let drawn_at = |frame, width, height| {
        with(frame, None, |cx| text(&drawn(&mut cores(Mode::Heat, Grouping::L3), cx, width, height)))
    };
    let many = drawn_at(&wide, 120, 40);
    let row = many.lines().find(|line| line.contains("p0 node 2")).unwrap_or_default();
    assert!(row.contains(" c64 ") && row.contains(" c96 "), "{many}");
    let few = drawn_at(&server, 200, 60);
    let row = few.lines().find(|line| line.contains("p0 node 0")).unwrap_or_default();
    assert!(crate::parts::names::width(row) > 170 && row.contains('━'), "{few}");
}
