#![allow(clippy::unwrap_used)]
use super::*;
use crate::time::{FakeTime, TimeSource};

type Log = Vec<&'static str>;

/// A scheduler whose phases take what the table says, and the clock they take it from.
fn burning(costs: [u64; 6], budget_ns: u64) -> (Scheduler<()>, FakeTime) {
    let time = FakeTime::new(1_000);
    let mut scheduler = Scheduler::new(Tick(0), budget_ns);
    for phase in Phase::ALL {
        let (time, cost) = (time.clone(), costs[phase as usize]);
        scheduler.register(phase, "burn", move |_: &mut ()| time.advance(cost));
    }
    (scheduler, time)
}

#[test]
fn phases_run_in_their_order_and_components_in_the_order_of_registration() {
    let mut scheduler: Scheduler<Log> = Scheduler::new(Tick(5), 100);
    scheduler.register(Phase::Flush, "send", |log: &mut Log| log.push("send"));
    scheduler.register(Phase::Entity, "move", |log: &mut Log| log.push("move"));
    scheduler.register(Phase::Network, "ingress", |log: &mut Log| log.push("ingress"));
    scheduler.register(Phase::Script, "script", |log: &mut Log| log.push("script"));
    scheduler.register(Phase::SyncBuild, "build", |log: &mut Log| log.push("build"));
    scheduler.register(Phase::Entity, "fight", |log: &mut Log| log.push("fight"));
    scheduler.register(Phase::Timer, "timers", |log: &mut Log| log.push("timers"));
    let mut log = Log::new();
    assert_eq!(scheduler.current_tick(), None);
    let report = scheduler.run_tick(&mut log, &mut || 0).unwrap();
    assert_eq!(log, ["ingress", "timers", "move", "fight", "script", "build", "send"]);
    assert_eq!((report.tick, scheduler.current_tick()), (Tick(5), Some(Tick(5))));
    assert_eq!(report.overrun, None);
    assert_eq!(scheduler.components(Phase::Entity).collect::<Vec<_>>(), ["move", "fight"]);
}

#[test]
fn an_overrun_names_the_phase_in_which_the_budget_ran_out_and_the_longest() {
    let (mut scheduler, time) = burning([10, 0, 60, 25, 10, 5], 90);
    let report = scheduler.run_tick(&mut (), &mut || time.now_ns()).unwrap();
    assert_eq!((report.phase_ns, report.tick_ns), ([10, 0, 60, 25, 10, 5], 110));
    let overrun = report.overrun.unwrap();
    assert_eq!((overrun.phase, overrun.longest), (Phase::Script, Phase::Entity));
    assert_eq!((overrun.tick_ns, overrun.budget_ns), (110, 90));
    let text = overrun.to_string();
    assert!(text.contains("ran out in script") && text.contains("longest phase was entity"));
    assert_eq!(scheduler.phase_span(Phase::Script).overruns, 1);
    assert_eq!(scheduler.phase_span(Phase::Entity).overruns, 0);
}

#[test]
fn a_tick_that_takes_exactly_its_budget_is_no_overrun() {
    let (mut scheduler, time) = burning([15; 6], 90);
    assert_eq!(scheduler.run_tick(&mut (), &mut || time.now_ns()).unwrap().overrun, None);
    scheduler.set_tick_budget_ns(89);
    assert!(scheduler.run_tick(&mut (), &mut || time.now_ns()).unwrap().overrun.is_some());
    assert_eq!((scheduler.tick_budget_ns(), scheduler.tick_span().overruns), (89, 1));
}

#[test]
fn statistics_add_up_over_ticks() {
    let (mut scheduler, time) = burning([1, 2, 3, 4, 5, 6], 100);
    for _ in 0..3 {
        scheduler.run_tick(&mut (), &mut || time.now_ns());
    }
    let last = Span { count: 3, total_ns: 15, max_ns: 5, last_ns: 5, overruns: 0 };
    assert_eq!(*scheduler.phase_span(Phase::SyncBuild), last);
    assert_eq!((scheduler.last_tick_ns(), scheduler.tick_span().total_ns), (21, 63));
}

#[test]
fn a_probe_that_goes_back_costs_nothing_and_breaks_nothing() {
    let mut readings = [100, 50, 120, 0, 0, 130, u64::MAX].into_iter();
    let mut scheduler: Scheduler<()> = Scheduler::new(Tick(0), 1);
    let report = scheduler.run_tick(&mut (), &mut || readings.next().unwrap()).unwrap();
    assert_eq!(report.phase_ns, [0, 20, 0, 0, 10, u64::MAX - 130]);
}

#[test]
fn numbers_may_be_passed_over_and_never_come_back() {
    let mut scheduler: Scheduler<()> = Scheduler::new(Tick(0), 0);
    scheduler.run_tick(&mut (), &mut || 0);
    let refused = RefusedTick { asked: Tick(0), next: Tick(1) };
    assert_eq!(scheduler.resume_at(Tick(0)), Err(refused));
    scheduler.resume_at(Tick(7)).unwrap();
    assert_eq!(scheduler.run_tick(&mut (), &mut || 0).unwrap().tick, Tick(7));
    assert_eq!(scheduler.next_tick(), Tick(8));
}

#[test]
fn after_stop_no_tick_runs() {
    let mut scheduler: Scheduler<u32> = Scheduler::new(Tick(0), 0);
    scheduler.register(Phase::Entity, "count", |count: &mut u32| *count += 1);
    let mut count = 0;
    scheduler.run_tick(&mut count, &mut || 0);
    scheduler.stop();
    assert_eq!(scheduler.run_tick(&mut count, &mut || 0), None);
    assert!(scheduler.is_stopped());
    assert_eq!((count, scheduler.current_tick()), (1, Some(Tick(0))));
}

#[test]
fn running_alternates_ticks_and_idle_until_one_of_them_ends_it() {
    let (mut scheduler, time) = burning([1; 6], 100);
    let (probe_time, idle_time) = (time.clone(), time);
    let mut ran = Vec::new();
    scheduler.run(&mut (), &mut || probe_time.now_ns(), &mut |scheduler, (), report| {
        ran.push(report.tick.0);
        idle_time.advance(44);
        match report.tick.0 {
            1 => scheduler.resume_at(Tick(10)).unwrap(),
            11 => scheduler.stop(),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    assert_eq!(ran, [0, 1, 10, 11]);
    let idle = *scheduler.idle_span();
    assert_eq!((idle.count, idle.total_ns, idle.last_ns), (4, 176, 44));
}

#[test]
fn idle_can_break_the_run_and_the_run_can_go_on_later() {
    let (mut scheduler, _) = burning([0; 6], 100);
    let mut once = |_: &mut Scheduler<()>, (): &mut (), _: &TickReport| ControlFlow::Break(());
    scheduler.run(&mut (), &mut || 0, &mut once);
    scheduler.run(&mut (), &mut || 0, &mut once);
    assert_eq!(scheduler.current_tick(), Some(Tick(1)));
}
