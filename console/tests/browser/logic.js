// What the pages decide, apart from what they draw. Each test's name is a sentence; the file's value
// is the list of those that are not true.
(function (M) {
  "use strict";
  const same = (a, b, what) => {
    const [x, y] = [JSON.stringify(a), JSON.stringify(b)];
    if (x !== y) throw new Error(`${what || "differs"}: ${x} is not ${y}`);
  };
  const holds = (value, what) => {
    if (!value) throw new Error(what || "does not hold");
  };

  let n = 0;
  const event = (process, tick, moment, kind, more) => ({
    id: `${process}@7:${++n}`, process, incarnation: "7", tick, moment, kind, entity: "42", text: kind, fields: {}, anomaly: null, ...more,
  });

  /** One handoff as journals tell it, with the bundles that carried it. */
  function handoff() {
    n = 0;
    const frozen = event("cell-1", 100, "step", "Frozen", { epoch: 3, fields: { epoch: 3, seq: 9, target: "cell-2@8", digest: "77" } });
    const owner = event("base-1", 100, "release-1", "OwnerChanged", { epoch: 4, fields: { epoch: 4, to: "cell-2@8" }, cause: [frozen.id] });
    const active = event("cell-2", 101, "step", "Activated", { epoch: 4, fields: { epoch: 4, seq: 9, digest: "77" }, cause: [owner.id] });
    const first = event("base-1", 101, "flush", "FirstStep", { epoch: 4, fields: { owner: "cell-2@8" }, cause: [active.id] });
    const gone = event("cell-1", 102, "step", "Deactivated", { epoch: 3, cause: [first.id] });
    return { frozen, owner, active, first, gone, all: [frozen, owner, active, first, gone] };
  }

  const tests = {
    "the address is read and written without loss": () => {
      const hash = "#view=order&tick=1202&entity=42&event=cell-2@7:9911";
      const state = M.parseAddress(hash);
      same(state, { view: "order", tick: "1202", entity: "42", event: "cell-2@7:9911" });
      same(M.parseAddress(M.writeAddress(state)), state);
    },
    "an address that makes no sense shows the world": () => {
      same(M.parseAddress("#view=%E0%A4%A&tick=-1&entity=<b>&x=1"), { view: "world" });
      same(M.parseAddress("#event=a:1").view, "order", "an event is shown where events are");
    },
    "a dot between two pictures is where its alpha says": () => {
      const history = new M.History(50);
      const picture = (tick, x) => ({ process: "cell-1", incarnation: "7", space: 1, tick, reals: [["42", 0, x, 0, 3]], ghosts: [] });
      history.add(picture(100, 0));
      history.add(picture(102, 1000));
      const [{ frame, alpha }] = history.at(1, 101);
      same(M.placeOf(frame.reals, 0, alpha), [500, 0]);
      same(history.at(1, 102)[0].alpha, 1);
    },
    "a real that was a ghost here goes on from where its ghost was": () => {
      const history = new M.History(50);
      const base = { process: "cell-2", incarnation: "8", space: 1 };
      history.add({ ...base, tick: 100, reals: [], ghosts: [["42", 0, 0, 0, 3, "cell-1", 99]] });
      history.add({ ...base, tick: 102, reals: [["42", 0, 800, 0, 4]], ghosts: [] });
      const [{ frame }] = history.at(1, 101);
      same(M.placeOf(frame.reals, 0, 0.5), [400, 0]);
    },
    "a handoff is seen once in the pictures, however often they are shown": () => {
      const history = new M.History(50);
      const add = (process, tick, epoch) => history.add({ process, incarnation: process, space: 1, tick, reals: [["42", 0, 0, 0, epoch]], ghosts: [] });
      add("cell-1", 100, 3);
      add("cell-2", 101, 4);
      add("cell-2", 103, 4);
      add("cell-1", 104, 3); // late news of the old owner
      same(history.moves.map((move) => [move.from, move.to, move.tick]), [["cell-1", "cell-2", 101]]);
      history.clear();
      add("cell-1", 100, 3);
      add("cell-2", 101, 4);
      same(history.moves.length, 1);
    },
    "pictures older than a minute are forgotten": () => {
      const history = new M.History(50);
      for (let tick = 0; tick < 4000; tick += 2) history.add({ process: "c", incarnation: "1", space: 1, tick, reals: [[String(tick), 0, 0, 0, 1]], ghosts: [] });
      const kept = [...history.tracks.values()][0].frames.length;
      holds(kept <= 602 && kept > 590, `${kept} pictures`);
      holds(history.reals.size < 2600 && history.names.old.size + history.names.now.size < 2600, "ids are forgotten too");
    },
    "the shown moment stays behind the newest picture, and moves evenly": () => {
      const clock = new M.Clock(50);
      let newest = 0;
      let least = Infinity;
      let most = -Infinity;
      let before = NaN;
      for (let now = 0; now < 10000; now += 10) {
        if (now % 100 === 30) clock.heard("c", (newest = (now - 30) / 50), 30, now);
        const t = clock.advance(now, 0, newest);
        if (now > 3000) {
          holds(t <= newest + 1e-9, `${t} is beyond the newest picture ${newest}`);
          [least, most] = [Math.min(least, t - before), Math.max(most, t - before)];
        }
        before = t;
      }
      holds(least > 0.15 && most < 0.25, `steps of ${least} to ${most} ticks in 10 ms at 0.2`);
    },
    "a paused moment stands, and a played one ends where the recording does": () => {
      const clock = new M.Clock(50);
      clock.seek(10);
      same([clock.advance(0, 0, 100), clock.advance(1000, 0, 100)], [10, 10]);
      clock.play(0.1);
      clock.advance(1400, 0, 100);
      holds(Math.abs(clock.t - 10.8) < 1e-9, `a tenth of the pace: ${clock.t}`);
      clock.play(1);
      for (let now = 1500; now < 9000; now += 100) clock.advance(now, 0, 100);
      same([clock.t, clock.mode], [100, "paused"]);
    },
    "what is under the pointer is the nearest real before any ghost": () => {
      const history = new M.History(50);
      history.add({ process: "cell-1", incarnation: "7", space: 1, tick: 1, reals: [["1", 0, 100, 0, 1]], ghosts: [["2", 0, 60, 0, 1, "cell-2", 0]] });
      const shown = history.at(1, 1);
      same(M.dotNear(shown, 70, 0, 200).id, "1");
      same(M.dotNear(shown, 20, 0, 80).id, "2");
      same(M.dotNear(shown, 5000, 0, 90), null);
    },
    "the camera zooms about the pointer and finds its way back": () => {
      const camera = new M.Camera();
      camera.resize(800, 600);
      camera.fit([-1000, -1000, 1000, 1000], 20);
      const there = camera.toWorld(100, 500);
      camera.zoom(1.7, 100, 500);
      const [x, y] = camera.toScreen(...there);
      holds(Math.hypot(x - 100, y - 500) < 1e-6);
    },
    "the five steps of a handoff are found, with its gap and its digest": () => {
      const found = M.handoffOf(handoff().all, "42", 99);
      same([found.state, found.gap, found.digestsEqual, found.to, found.newEpoch], ["done", 1, true, "cell-2", 4]);
      holds(found.steps.every(Boolean));
    },
    "a handoff under way has the steps that happened, and a refused one its reason": () => {
      const { frozen, owner } = handoff();
      const half = M.handoffOf([frozen, owner], "42", 0);
      same([half.state, half.steps.filter(Boolean).length], ["running", 2]);
      const refusal = event("base-1", 100, "flush", "HandoffRefused", { anomaly: "refused:TargetBusy" });
      same(M.handoffOf([frozen, refusal], "42", 0).state, "refused");
      same(M.handoffOf([], "42", 0).state, "waiting");
      same(M.handoffOf([frozen], "43", 0).state, "waiting", "another entity's");
    },
    "the past of an event is what leads to it, and nothing else": () => {
      const { all, owner, frozen, active, gone } = handoff();
      const aside = event("cell-3", 100, "step", "Stepped");
      const edges = M.edgesOf([...all, aside]);
      const found = M.pastAndFuture(owner.id, edges, 100);
      same(found.past, [frozen.id]);
      holds(found.future.includes(active.id) && found.future.includes(gone.id) && !found.future.includes(aside.id));
      same(M.chain(frozen.id, gone.id, edges).length > 0, true);
      same(M.chain(aside.id, gone.id, edges), null);
      same(M.pastAndFuture(gone.id, edges, 1).truncated, true);
    },
    "in recorded order nothing comes before what caused it, whatever ticks say": () => {
      n = 0;
      const cause = event("base-1", 105, "flush", "OwnerChanged");
      const effect = event("cell-2", 101, "step", "Activated", { cause: [cause.id] });
      same(M.mergedOrder([effect, cause]).map((one) => one.id), [cause.id, effect.id]);
      const sent = event("cell-1", 9, "step", "sent", { message: "k" });
      const got = event("cell-2", 8, "step", "received", { message: "k" });
      same(M.mergedOrder([got, sent]).map((one) => one.kind), ["sent", "received"]);
    },
    "a tick's column holds its moments in their order, and quiet ticks are folded": () => {
      const { all, frozen, owner, active } = handoff();
      const later = event("cell-1", 130, "step", "Stepped");
      const input = { events: [...all, later], lanes: ["cell-1", "cell-2", "base-1"], from: 95, to: 140, by: "applied", slot: 40 };
      const layout = M.orderLayout(input);
      const x = (one) => layout.byId.get(one.id).x;
      holds(x(frozen) < x(owner) && x(owner) < x(active));
      const folded = layout.ticks.filter((column) => column.quiet);
      same(folded.map((column) => [column.tick, column.quiet]), [[95, 5], [103, 27], [131, 10]]);
      same(M.tickOfX(layout, M.xOfTick(layout, 101) + 1), 101);
      same(layout.nodes.length, 6);
    },
    "ticks without data are not folded away as quiet ones": () => {
      const gaps = [{ process: "cell-3", from: 110, to: 112 }];
      const layout = M.orderLayout({ events: [], lanes: ["cell-3"], from: 100, to: 120, by: "applied", slot: 40, gaps });
      holds(layout.ticks.some((column) => column.tick === 110 && column.end === 112));
    },
    "the arrows of a handoff are thick and have the new owner's colour": () => {
      const { all } = handoff();
      const layout = M.orderLayout({ events: all, lanes: ["cell-1", "cell-2", "base-1"], from: 99, to: 103, by: "applied", slot: 40 });
      same(M.arrowsOf(layout).map((arrow) => [arrow.thick, arrow.owner]), Array(4).fill([true, "cell-2"]));
    },
    "what was held stands where it arrived when arrival is asked for": () => {
      const held = event("cell-2", 105, "step", "received", { arrived: 102 });
      same([M.columnTick(held, "applied"), M.columnTick(held, "arrival")], [105, 102]);
    },
    "ownership of an entity is told by its own events": () => {
      const spans = M.ownershipOf(handoff().all, "42");
      same(spans.map((span) => [span.process, span.epoch, span.from, span.to]), [["cell-2", 4, 101, null]]);
    },
    "events have one spelling, and a cellapp's flush is its step": () => {
      const told = { kind: "owner_changed", moment: "flush" };
      same([M.normalEvent(told, false).kind, M.normalEvent(told, true).moment], ["OwnerChanged", "step"]);
      same(M.normalEvent({ kind: "sent", moment: "flush" }, false).kind, "sent");
    },
    "pauses between two tries grow to a bound and are spread": () => {
      const pauses = [0, 1, 2, 3, 30].map((tries) => M.backoff(tries, 0.5));
      same(pauses, [500, 1000, 2000, 4000, 15000]);
      holds(M.backoff(3, 0) < M.backoff(3, 1));
    },
    "fields that differ are found where the server does not name them": () => {
      const rows = [{ fields: { hp: 90, gold: 1 } }, { fields: { hp: 85 } }];
      same([...M.passportDiffers({ rows })], ["hp"]);
      same([...M.passportDiffers({ rows, differs: [] })], []);
    },
    "a question leaves out what is not set": () => {
      same(M.query("/api/events", { from: 0, entity: null, anomalies: true, kind: "a,b" }), "/api/events?from=0&anomalies=1&kind=a%2Cb");
    },
    "who must know that data is missing is told": () => {
      const load = { events: [{ tick: 7 }], more: true, from: 1, to: 9, error: null };
      holds(M.orderNotice(load, [], false).text.includes("Only the first 1 events"));
      holds(M.orderNotice({ ...load, more: false }, [{ lost: 214 }], false).text.includes("214 events lost"));
      same(M.orderNotice({ ...load, more: false }, [], false), null);
    },
  };

  const wrong = [];
  for (const [name, test] of Object.entries(tests)) {
    try {
      test();
    } catch (error) {
      wrong.push(`${name}: ${error.message}`);
    }
  }
  return { ran: Object.keys(tests).length, wrong };
})(globalThis.March)
