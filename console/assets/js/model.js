"use strict";
// What the pages know of the cluster: bounded, and with the moment at which each thing was heard.
(function (M) {
  const EVENTS_MAX = 20000;
  const GAPS_MAX = 500;
  const ACTS_MAX = 500;
  /** Nothing heard for so long: shown in grey. */
  M.STALE_MS = 2500;

  class Model {
    constructor() {
      this.bus = M.bus();
      this.reset();
      this.link = { state: "connecting", since: 0, heard: 0, retryAt: 0, why: "" };
    }

    reset() {
      this.hello = null;
      this.stepMs = 50;
      this.spaces = [];
      this.processes = new Map();
      this.cluster = null;
      this.clusterAt = 0;
      this.events = [];
      this.gaps = [];
      this.acts = new Map();
      this.history = new M.History(50);
      this.clock = new M.Clock(50);
      this.lost = 0;
    }

    on(name, f) {
      return this.bus.on(name, f);
    }

    live() {
      return Boolean(this.hello) && this.hello.mode === "live";
    }

    stale(now) {
      return this.live() && (this.link.state !== "open" || now - this.link.heard > M.STALE_MS);
    }

    normal(event) {
      return M.normalEvent(event, (this.processes.get(event.process) || {}).kind === "cellapp");
    }

    colourOf(name) {
      return M.theme.ofProcess(this.processes.get(name));
    }

    cellapps() {
      return [...this.processes.values()].filter((process) => process.kind === "cellapp");
    }

    firstTick() {
      const seen = this.history.tracks.size ? this.history.first() : Infinity;
      const told = this.hello ? (this.hello.first_tick ?? Infinity) : Infinity;
      if (!this.live()) return Math.min(told, seen);
      const first = Number.isFinite(seen) ? seen : told;
      return Number.isFinite(first) ? Math.max(first, this.lastTick() - 60000 / this.stepMs) : 0;
    }

    lastTick() {
      if (this.hello && this.hello.mode !== "live") return this.hello.last_tick ?? this.hello.tick;
      const seen = this.history.tracks.size ? this.history.last() : 0;
      return Math.max(seen, this.cluster ? this.cluster.tick : 0, this.hello ? this.hello.tick : 0);
    }

    /** One frame of the feed. What is not known is left alone: a newer server may say more. */
    take(frame, now) {
      this.link.heard = now;
      const f = this[`take_${frame.t}`];
      if (f) f.call(this, frame, now);
    }

    take_hello(frame) {
      const again = this.hello && this.hello.cluster === frame.cluster && this.hello.mode === frame.mode;
      if (!again) {
        this.reset();
        this.stepMs = frame.step_ms || 50;
        this.history = new M.History(this.stepMs);
        this.clock = new M.Clock(this.stepMs);
      }
      this.hello = frame;
      this.spaces = frame.spaces || [];
      this.know(frame.processes || []);
      if (frame.mode !== "live" && !again) this.clock.seek(frame.first_tick ?? frame.tick ?? 0);
      this.bus.emit("hello", frame);
    }

    know(list) {
      for (const process of list) {
        const before = this.processes.get(process.name) || {};
        const colour = process.colour ?? before.colour ?? this.processes.size;
        this.processes.set(process.name, { ...before, ...process, colour });
      }
    }

    take_world(frame, now) {
      const packed = this.history.add(frame);
      if (!packed) return;
      if (this.live()) this.clock.heard(`${frame.process}/${frame.space}`, frame.tick, frame.age_ms, now);
      this.bus.emit("world", packed);
    }

    take_cluster(frame, now) {
      this.cluster = frame;
      this.clusterAt = now;
      if (frame.spaces && frame.spaces.length) this.spaces = frame.spaces;
      this.know(frame.processes || []);
      this.bus.emit("cluster", frame);
    }

    take_events(frame) {
      const events = (frame.events || []).map((event) => this.normal(event));
      for (const event of events) this.events.push(event);
      if (this.events.length > EVENTS_MAX * 1.2) this.events = this.events.slice(-EVENTS_MAX);
      this.bus.emit("events", events);
    }

    take_gap(frame) {
      this.gaps.push(frame);
      if (this.gaps.length > GAPS_MAX) this.gaps.shift();
      this.lost += frame.lost || 0;
      this.bus.emit("gap", frame);
    }

    /** The server says why it is going to hang up. */
    take_end(frame) {
      this.link.why = frame.why;
    }

    take_act(frame) {
      const { t: _t, ...act } = frame;
      this.acts.set(act.id, act);
      if (this.acts.size > ACTS_MAX) this.acts.delete(this.acts.keys().next().value);
      this.bus.emit("act", act);
    }

    setLink(state, more) {
      Object.assign(this.link, { state, since: performance.now(), why: "" }, more);
      this.bus.emit("link", this.link);
    }
  }

  M.Model = Model;
})(globalThis.March);
