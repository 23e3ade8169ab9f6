"use strict";
// What follows from what: a graph of events, walked both ways. Pure.
(function (M) {
  const MOMENTS = ["step", "flush", "release-1", "release-2", "release-3"];

  /** The running number at the end of an id; ids are opaque but for that. */
  const number = (id) => Number(/\d+$/.exec(String(id)) || 0);
  /** Within a moment bundles are taken in first, then facts happen, then bundles are sent. */
  const phase = (event) => (event.kind === "received" ? 0 : event.kind === "sent" ? 2 : 1);

  /** Where in its tick: a cellapp's step first, then what a base does half a step later. */
  M.momentRank = (moment) => {
    const at = MOMENTS.indexOf(moment);
    return at < 0 ? 1 : at;
  };
  M.MOMENTS = MOMENTS;

  /** Orders events of any processes for showing: by tick, moment, process, number. */
  M.compareEvents = function (a, b) {
    return (
      a.tick - b.tick ||
      M.momentRank(a.moment) - M.momentRank(b.moment) ||
      (a.process < b.process ? -1 : a.process > b.process ? 1 : 0) ||
      phase(a) - phase(b) ||
      number(a.id) - number(b.id)
    );
  };

  /** The edges that events themselves tell: each process's own order, bundles, and named causes. */
  M.edgesOf = function (events) {
    const edges = [];
    const last = new Map();
    const sent = new Map();
    const known = new Set(events.map((event) => event.id));
    const sorted = [...events].sort(M.compareEvents);
    for (const event of sorted) if (event.kind === "sent" && event.message) sent.set(event.message, event.id);
    const own = new Map();
    for (const event of sorted) {
      const life = `${event.process}@${event.incarnation}`;
      if (!own.has(life)) own.set(life, []);
      own.get(life).push(event);
    }
    for (const list of own.values()) {
      for (const event of list) {
        const life = `${event.process}@${event.incarnation}`;
        if (last.has(life)) edges.push([last.get(life), event.id, "program"]);
        last.set(life, event.id);
        if (event.kind === "received" && sent.has(event.message)) {
          edges.push([sent.get(event.message), event.id, `message:${event.message}`]);
        }
        for (const cause of event.cause || []) {
          if (known.has(cause)) edges.push([cause, event.id, "message"]);
        }
      }
    }
    return edges;
  };

  /** Everything before and after an event, nearest first, at most `limit` each way. */
  M.pastAndFuture = function (root, edges, limit) {
    const back = new Map();
    const ahead = new Map();
    const put = (map, key, value) => (map.has(key) ? map.get(key).push(value) : map.set(key, [value]));
    for (const [from, to] of edges) {
      put(back, to, from);
      put(ahead, from, to);
    }
    let truncated = false;
    const walk = (map) => {
      const seen = new Set([root]);
      const queue = [root];
      for (let at = 0; at < queue.length; at++) {
        for (const next of map.get(queue[at]) || []) {
          if (seen.has(next)) continue;
          if (seen.size > limit) {
            truncated = true;
            return queue.slice(1);
          }
          seen.add(next);
          queue.push(next);
        }
      }
      return queue.slice(1);
    };
    return { past: walk(back), future: walk(ahead), edges, truncated };
  };

  /** The shortest chain from one event to another, as edges; null if none leads there. */
  M.chain = function (a, b, edges) {
    const ahead = new Map();
    for (const edge of edges) {
      if (!ahead.has(edge[0])) ahead.set(edge[0], []);
      ahead.get(edge[0]).push(edge);
    }
    const came = new Map([[a, null]]);
    const queue = [a];
    for (let at = 0; at < queue.length && !came.has(b); at++) {
      for (const edge of ahead.get(queue[at]) || []) {
        if (came.has(edge[1])) continue;
        came.set(edge[1], edge);
        queue.push(edge[1]);
      }
    }
    if (!came.has(b)) return null;
    const path = [];
    for (let edge = came.get(b); edge; edge = came.get(edge[0])) path.unshift(edge);
    return path;
  };
})(globalThis.March);
