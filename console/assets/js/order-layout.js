"use strict";
// Where everything stands in the Order view: columns for ticks, inside them one for each output
// moment, inside those a slot for each event. Pure; no clock takes part, only ticks and numbers.
(function (M) {
  const PAD = 7; // beside the slots of a moment
  const QUIET_FROM = 4; // so many ticks without an event are folded into one column
  const QUIET_WIDTH = 30;
  /** Below this many pixels for an event, ticks are bars of how much happened. */
  const DENSE_BELOW = 6;

  /** The tick in which an event stands: where it was decided, or where what it took in was there. */
  M.columnTick = (event, by) => (by === "arrival" && event.arrived !== undefined ? event.arrived : event.tick);

  /** All events one after the other, each after whatever could have caused it. */
  M.mergedOrder = function (events) {
    const own = new Map();
    const place = new Map();
    for (const event of [...events].sort(M.compareEvents)) {
      const life = `${event.process}@${event.incarnation}`;
      if (!own.has(life)) own.set(life, []);
      own.get(life).push(event);
      place.set(event.id, false);
      if (event.kind === "sent" && event.message) place.set(event.message, false);
    }
    const lists = [...own.values()];
    const heads = lists.map(() => 0);
    const waits = (event) =>
      (event.cause || []).some((cause) => place.get(cause) === false) ||
      (event.kind === "received" && place.get(event.message) === false);
    const out = [];
    while (out.length < events.length) {
      let best = -1;
      let any = -1;
      for (let i = 0; i < lists.length; i++) {
        const event = lists[i][heads[i]];
        if (!event) continue;
        if (any < 0 || M.compareEvents(event, lists[any][heads[any]]) < 0) any = i;
        if (!waits(event) && (best < 0 || M.compareEvents(event, lists[best][heads[best]]) < 0)) best = i;
      }
      const chosen = best < 0 ? any : best; // a circle cannot be; if it is, it ends here
      const event = lists[chosen][heads[chosen]++];
      place.set(event.id, true);
      if (event.kind === "sent" && event.message) place.set(event.message, true);
      out.push(event);
    }
    return out;
  };

  /** { events, lanes: [name], from, to, by: "applied"|"arrival"|"recorded", slot: pixels } */
  M.orderLayout = function (input) {
    const lane = new Map(input.lanes.map((name, i) => [name, i]));
    const events = input.events.filter((event) => lane.has(event.process));
    const made = input.by === "recorded" ? byRecord(input, events, lane) : byTick(input, events, lane);
    made.byId = new Map(made.nodes.map((node) => [node.event.id, node]));
    made.dense = input.slot < DENSE_BELOW;
    made.from = input.from;
    made.to = input.to;
    made.by = input.by;
    return made;
  };

  function byTick(input, events, lane) {
    const { slot } = input;
    const dense = slot < DENSE_BELOW;
    const cells = new Map(); // tick → moment → lane → events
    for (const event of [...events].sort(M.compareEvents)) {
      const tick = M.columnTick(event, input.by);
      if (tick < input.from || tick > input.to) continue;
      if (!cells.has(tick)) cells.set(tick, new Map());
      const moments = cells.get(tick);
      const rank = M.momentRank(event.moment);
      if (!moments.has(rank)) moments.set(rank, new Map());
      const lanes = moments.get(rank);
      const at = lane.get(event.process);
      if (!lanes.has(at)) lanes.set(at, []);
      lanes.get(at).push(event);
    }
    const unknown = (tick) => (input.gaps || []).some((gap) => gap.from <= tick && tick <= gap.to);
    const out = { ticks: [], moments: [], nodes: [], width: 0 };
    let x = 0;
    for (let tick = input.from; tick <= input.to; tick++) {
      const moments = cells.get(tick);
      if (!moments) {
        let end = tick;
        const lost = unknown(tick);
        while (end < input.to && !cells.has(end + 1) && unknown(end + 1) === lost) end++;
        const quiet = end - tick + 1;
        if (!dense && lost) {
          const w = M.clamp(quiet * 14, 44, 140);
          out.ticks.push({ tick, end, x, w, quiet });
          x += w;
          tick = end;
          continue;
        }
        if (!dense && quiet >= QUIET_FROM) {
          out.ticks.push({ tick, end, x, w: QUIET_WIDTH, quiet });
          x += QUIET_WIDTH;
          tick = end;
          continue;
        }
        const w = dense ? slot : Math.max(8, slot * 0.5);
        out.ticks.push({ tick, end: tick, x, w, quiet: 0 });
        x += w;
        continue;
      }
      const start = x;
      for (const rank of [...moments.keys()].sort((a, b) => a - b)) {
        const lanes = moments.get(rank);
        const most = Math.max(...[...lanes.values()].map((list) => list.length));
        const w = dense ? 0 : PAD * 2 + most * slot;
        for (const [at, list] of lanes) {
          list.forEach((event, i) => {
            const cx = dense ? start + slot / 2 : x + PAD + (i + 0.5) * slot;
            out.nodes.push({ event, lane: at, x: cx, room: (i + 1 < list.length ? 1 : most - i) * slot });
          });
        }
        if (!dense) out.moments.push({ tick, rank, x, w });
        x += w;
      }
      if (dense) x = start + slot;
      out.ticks.push({ tick, end: tick, x: start, w: x - start, quiet: 0 });
    }
    out.width = x;
    return out;
  }

  function byRecord(input, events, lane) {
    const out = { ticks: [], moments: [], nodes: [], width: 0 };
    const slot = Math.max(input.slot, 3);
    const shown = M.mergedOrder(events.filter((event) => event.tick >= input.from && event.tick <= input.to));
    let last = null;
    shown.forEach((event, i) => {
      out.nodes.push({ event, lane: lane.get(event.process), x: (i + 0.5) * slot, room: slot });
      if (last && last.tick === event.tick) last.w += slot;
      else out.ticks.push((last = { tick: event.tick, end: event.tick, x: i * slot, w: slot, quiet: 0 }));
    });
    out.width = shown.length * slot;
    return out;
  }

  /** The left edge of a tick's column. */
  M.xOfTick = function (layout, tick) {
    const { ticks } = layout;
    if (!ticks.length) return 0;
    let found = ticks[0];
    for (const column of ticks) {
      if (column.tick <= tick && (layout.by !== "recorded" || column.tick >= found.tick)) found = column;
      else if (layout.by !== "recorded") break;
    }
    if (found.quiet) return found.x + found.w * M.clamp((tick - found.tick) / found.quiet, 0, 1);
    return tick > found.end ? found.x + found.w : found.x;
  };

  /** The tick whose column holds this place. */
  M.tickOfX = function (layout, x) {
    const { ticks } = layout;
    if (!ticks.length) return layout.from;
    let low = 0;
    let high = ticks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (ticks[middle].x <= x) low = middle;
      else high = middle - 1;
    }
    const column = ticks[low];
    const part = M.clamp((x - column.x) / Math.max(1, column.w), 0, 0.999);
    return column.quiet ? column.tick + Math.floor(part * column.quiet) : column.tick;
  };

  const CHAIN = ["Frozen", "OwnerChanged", "Activated", "FirstStep", "Deactivated"];

  /** The arrows between shown events of different lanes; those of a handoff are `thick`. */
  M.arrowsOf = function (layout) {
    const arrows = [];
    const sent = new Map();
    for (const node of layout.nodes) {
      if (node.event.kind === "sent" && node.event.message) sent.set(node.event.message, node);
    }
    for (const node of layout.nodes) {
      const { event } = node;
      const causes = (event.cause || []).map((id) => layout.byId.get(id));
      if (event.kind === "received") causes.push(sent.get(event.message));
      for (const from of causes) {
        if (!from || from.lane === node.lane) continue;
        const thick = CHAIN.includes(event.kind) && CHAIN.includes(from.event.kind) && event.entity === from.event.entity;
        arrows.push({ from, to: node, thick, owner: thick ? newOwner(from.event, event) : null });
      }
    }
    return arrows;
  };

  /** Whose the entity becomes by the handoff that this arrow is a part of. */
  function newOwner(from, to) {
    for (const event of [from, to]) {
      const fields = event.fields || {};
      if (event.kind === "Activated") return event.process;
      const named = { OwnerChanged: fields.to ?? event.peer, FirstStep: fields.owner ?? event.peer, Frozen: fields.target ?? event.peer }[event.kind];
      if (named) return M.nodeName(named);
    }
    return to.process;
  }

  /** The second line under an event: what distinguishes it. */
  M.nodeDetail = function (event) {
    const fields = event.fields || {};
    const epoch = event.epoch ?? fields.epoch;
    const seq = event.seq ?? fields.seq;
    const to = M.nodeName(fields.to ?? fields.target ?? event.peer);
    if (event.anomaly) return M.words.reason(event.anomaly);
    if (event.kind === "OwnerChanged") return `${to ? `→ ${to} ` : ""}e${epoch ?? "?"}`;
    if (event.kind === "Frozen") return to ? `→ ${to}` : `e${epoch}`;
    if (event.kind === "sent" || event.kind === "received") return `#${fields.n ?? ""} ${event.peer ?? fields.peer ?? ""}`;
    if (["Activated", "FirstStep", "Deactivated"].includes(event.kind)) return epoch === undefined || epoch === null ? "" : `e${epoch}`;
    return seq === undefined || seq === null ? "" : `s${seq}`;
  };
})(globalThis.March);
