use super::{Queues, compact};
use crate::testing::{drawn, list, over_time, picture, style_of, survives, with_cx};
use crate::{Action, Charset, Cx, Outcome, Panel, Role, Subject, Theme, demo};

#[test]
fn every_machine_size_and_action() {
    survives(|| Box::new(Queues::default()));
}

#[test]
fn pictures() {
    for size in [(80, 22), (120, 38), (200, 58)] {
        let text = picture(&mut Queues::default(), &demo::server(), size, &[]);
        insta::assert_snapshot!(format!("{}x{}", size.0, size.1), text);
    }
    insta::assert_snapshot!("matrix", picture(&mut Queues::default(), &demo::server(), (120, 22), &[Action::Mode]));
    insta::assert_snapshot!("wide", picture(&mut Queues::default(), &demo::wide(), (120, 22), &[]));
    let open = picture(&mut Queues::default(), &demo::server(), (120, 38), &[Action::Down, Action::Open]);
    insta::assert_snapshot!("open", open);
    insta::assert_snapshot!("compact", list(compact, &demo::server(), 60, 6));
}

#[test]
fn steps_go_from_thing_to_thing() {
    with_cx(&demo::server(), Charset::Unicode, |cx| {
        let mut panel = Queues::default();
        drawn(&mut panel, cx, 120, 38);
        let nic = |name: &str| Outcome::Selected(Subject::Nic(name.into()));
        assert_eq!(panel.act(Action::Down, cx), nic("eth0"));
        assert_eq!(panel.act(Action::Down, cx), nic("eth0"), "its queue");
        assert_eq!(panel.act(Action::Down, cx), nic("eth1"));
        assert_eq!(panel.act(Action::Up, cx), nic("eth0"));
        assert_eq!(panel.act(Action::Up, cx), nic("eth0"));
        assert_eq!(panel.act(Action::Up, cx), Outcome::Ignored);
    });
}

#[test]
fn idle_queues_take_one_line() {
    let mut frame = demo::wide();
    for queue in frame.nics[1].queues.iter_mut().skip(3) {
        (queue.packets_per_second, queue.per_second) = (Some(0.0), Some(0.7));
    }
    let hidden = picture(&mut Queues::default(), &frame, (120, 38), &[]);
    assert!(hidden.contains("+ 61 idle queues") && !hidden.contains(" q9 "), "{hidden}");
    let shown = picture(&mut Queues::default(), &frame, (120, 38), &[Action::Idle]);
    assert!(!shown.contains("idle queues") && shown.contains(" q9 "), "{shown}");
}

#[test]
fn what_a_direction_has_not_is_no_gap() {
    let mut frame = demo::server();
    let nic = frame.nics.iter_mut().find(|nic| nic.queues.len() > 2).expect("an interface with queues");
    (nic.queues[0].direction, nic.queues[0].xps_cpus) = ("rx".into(), None);
    (nic.queues[1].direction, nic.queues[1].rps_cpus) = ("tx".into(), None);
    let text = picture(&mut Queues::default(), &frame, (200, 58), &[Action::Idle]);
    for name in [" rx 0 ", " tx 1 "] {
        let line = text.lines().find(|line| line.contains(name)).unwrap_or_default();
        assert!(line.contains('—') && !line.contains('?'), "{line}");
    }
}

#[test]
fn a_remote_queue_and_few_channels_stand_out() {
    let mut frame = demo::server();
    frame.nics[1].queues[0].node = topotop_model::Known::Value(0);
    with_cx(&frame, Charset::Unicode, |cx| {
        let buf = drawn(&mut Queues::default(), cx, 120, 38);
        let warn = Theme::default_theme().style(Role::Warn).fg;
        assert_eq!(style_of(&buf, "≠n2").and_then(|style| style.fg), warn);
        assert_eq!(style_of(&buf, "1/8").and_then(|style| style.fg), warn);
    });
}

#[test]
fn a_cpu_selected_elsewhere_marks_its_queues_and_processes() {
    let subject = Subject::Cpu(17);
    with_cx(&demo::server(), Charset::Unicode, |cx| {
        let cx = Cx { selected: Some(&subject), ..*cx };
        let queues = crate::testing::text(&drawn(&mut Queues::default(), &cx, 120, 38));
        assert!(queues.contains("• q0       141 c17"), "{queues}");
        let processes = crate::testing::text(&drawn(&mut crate::processes::Processes::default(), &cx, 120, 38));
        assert!(processes.lines().any(|line| line.starts_with('•') && line.contains("ksoftirqd/17")), "{processes}");
    });
}

#[test]
fn one_sample_has_counts_and_no_rates() {
    let mut frame = demo::server();
    frame.interval_seconds = None;
    for nic in &mut frame.nics {
        for rates in [&mut nic.rx, &mut nic.tx] {
            (rates.packets_per_second, rates.bytes_per_second, rates.drops_per_second) = (None, None, None);
        }
        nic.queues.iter_mut().for_each(|queue| (queue.packets_per_second, queue.per_second) = (None, None));
    }
    let text = picture(&mut Queues::default(), &frame, (120, 38), &[]);
    assert!(text.contains("SINCE BOOT") && text.contains("112M packets") && !text.contains("pkt/s"), "{text}");
    assert!(text.contains("no rates yet: one sample"), "{text}");
}

#[test]
fn charts_take_the_rows_that_the_list_leaves() {
    for size in [(80, 22), (120, 38), (200, 58)] {
        let text = over_time(&mut Queues::default(), size, &[]);
        insta::assert_snapshot!(format!("over_time_{}x{}", size.0, size.1), text);
        // No empty lower half where there is something to show.
        let lines: Vec<&str> = text.lines().collect();
        let blank = lines.windows(4).filter(|lines| lines.iter().all(|line| line.trim().is_empty())).count();
        assert_eq!(blank, 0, "{text}");
    }
    insta::assert_snapshot!("over_time_open", over_time(&mut Queues::default(), (200, 58), &[Action::Open]));
}

#[test]
fn charts_stay_with_one_of_balanced_queues() {
    let mut history = topotop_model::history::History::default();
    let mut frame = demo::server();
    let at = frame.nics.iter().position(|nic| nic.queues.len() > 2).expect("an interface with queues");
    frame.nics = vec![frame.nics[at].clone()];
    let mut subjects = Vec::new();
    for second in 0..30_u32 {
        frame.stamp = demo::server_at(second.into()).stamp;
        // Each of them has its turn at being a little busier than the others; queue 1 does a third more than any.
        for queue in &mut frame.nics[0].queues {
            let turn = if queue.queue == second % 7 { 40_000.0 } else { 0.0 };
            let mean = if queue.queue == 1 { 140_000.0 } else { 100_000.0 };
            queue.packets_per_second = Some(mean + turn);
        }
        history.push(&frame);
        with_cx(&frame, Charset::Unicode, |cx| {
            let cx = Cx { history: &history, ..*cx };
            let (_, queue) = super::over_time::subject(&cx, None).expect("a subject");
            subjects.push(queue.expect("a queue").queue);
        });
    }
    assert_eq!(subjects[7..], [1; 23]);
}

#[test]
fn of_queues_that_do_about_as_much_charts_have_the_first() {
    let mut history = topotop_model::history::History::default();
    let mut frame = demo::server();
    let at = frame.nics.iter().position(|nic| nic.queues.len() > 2).expect("an interface with queues");
    frame.nics = vec![frame.nics[at].clone()];
    for second in 0..30_u32 {
        for queue in &mut frame.nics[0].queues {
            queue.packets_per_second = Some(100_000.0 + f64::from((queue.queue * 7919 + second * 613) % 1000));
        }
        history.push(&frame);
        with_cx(&frame, Charset::Unicode, |cx| {
            let cx = Cx { history: &history, ..*cx };
            let (nic, queue) = super::over_time::subject(&cx, None).expect("a subject");
            assert_eq!(queue.map(|queue| queue.queue), nic.queues.first().map(|queue| queue.queue), "{second}");
        });
    }
}
