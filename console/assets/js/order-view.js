"use strict";
// The Order view: filters, the lanes, the hands on them, and what the address says.
(function (M) {
  const { el, words } = M;
  const SLOTS = [1.5, 90];
  const QUIET_GROUPS = ["own", "slot", "refusal"];
  const CAUSAL_LIMIT = 4000;

  class OrderView {
    constructor(app) {
      this.app = app;
      this.canvas = M.get("lanes");
      this.paint = new M.OrderPaint(this.canvas);
      this.panel = new M.OrderPanel(app, this);
      this.load = new M.OrderLoad(app, () => this.loaded());
      this.slot = 56;
      this.scrollX = 0;
      this.scrollY = 0;
      this.by = "applied";
      this.groups = null; // null: what fits the filter
      this.process = null;
      this.anomalies = false;
      this.entity = null;
      this.root = null;
      this.causal = null;
      this.following = true;
      this.hands = new M.OrderHands(this);
      this.buildBar();
      M.theme.onChange(() => (this.dirty = true));
      app.model.on("hello", () => {
        this.load.clear();
        this.buildBar();
      });
      setInterval(() => this.visible && this.following && this.refresh(), 500);
    }

    // --- the bar of filters ---

    buildBar() {
      const change = (more) => this.filter(more);
      const names = [...this.app.model.processes.values()].filter((one) => one.kind !== "manager").map((one) => one.name);
      this.entityField = el("input", { type: "search", inputmode: "numeric", class: "short", placeholder: "any", "aria-label": "Entity", onchange: () => change({ entity: this.entityField.value.trim() || null }) });
      this.processField = el("select", { "aria-label": "Process", onchange: () => change({ process: this.processField.value || null }) }, [
        el("option", { value: "" }, "all processes"),
        ...names.map((name) => el("option", { value: name }, name)),
      ]);
      this.kinds = el("details.menu", {}, [
        el("summary", {}, "Kinds"),
        el("div.sheet", {}, words.GROUPS.map(([group, name]) => el("label", {}, [
          el("input", { type: "checkbox", value: group, onchange: () => change({ groups: [...this.kinds.querySelectorAll("input:checked")].map((box) => box.value).join(",") || "none" }) }),
          ` ${name}`,
        ]))),
      ]);
      this.onlyBad = el("input", { type: "checkbox", onchange: () => change({ anomalies: this.onlyBad.checked ? "1" : null }) });
      this.orders = M.choice("Order by", [
        ["applied", "Applied", "Where each process took it in"],
        ["arrival", "Arrival", "Where it was there; what was held hangs until it was taken in"],
        ["recorded", "Recorded", "One after the other, each after all that could have caused it"],
      ], () => this.by, (by) => change({ by: by === "applied" ? null : by }));
      M.put(M.get("order-bar"),
        el("label", {}, ["Entity ", this.entityField]),
        this.processField,
        this.kinds,
        el("label", {}, [this.onlyBad, " only anomalies"]),
        this.orders,
      );
      M.put(M.get("lanes-zoom"),
        M.button("+", () => this.zoom(1.5), { class: "icon", "aria-label": "Zoom in" }),
        M.button("−", () => this.zoom(1 / 1.5), { class: "icon", "aria-label": "Zoom out" }),
      );
      this.fields();
    }

    fields() {
      this.entityField.value = this.entity || "";
      this.processField.value = this.process || "";
      this.onlyBad.checked = this.anomalies;
      const groups = this.groupsNow();
      this.kinds.querySelectorAll("input").forEach((box) => (box.checked = groups.includes(box.value)));
      M.say(this.kinds.querySelector("summary"), groups.length === words.GROUPS.length ? "All kinds" : `${groups.length} of ${words.GROUPS.length} kinds`);
      this.orders.show();
    }

    groupsNow() {
      if (this.groups) return this.groups;
      return this.entity ? words.GROUPS.map(([group]) => group).filter((group) => group !== "bundle") : QUIET_GROUPS;
    }

    filter(more) {
      this.app.address.set({ event: null, ...more });
    }

    // --- what the address says ---

    enter(state) {
      const known = words.GROUPS.map(([group]) => group);
      this.entity = state.entity || null;
      this.process = state.process || null;
      this.anomalies = Boolean(state.anomalies);
      this.by = ["arrival", "recorded"].includes(state.by) ? state.by : "applied";
      this.groups = state.groups ? state.groups.split(",").filter((group) => known.includes(group)) : null;
      const key = `${this.entity}/${this.process}/${state.groups}`;
      if (key !== this.filtered) {
        this.filtered = key;
        this.slot = this.entity ? 62 : 30;
      }
      this.fields();
      if (state.tick && state.tick !== this.sought) {
        this.sought = state.tick;
        this.following = false;
        this.app.timebar.seek(Number(state.tick));
        this.center = Number(state.tick);
      }
      if ((state.event || null) !== this.root) this.choose(state.event || null);
      this.refresh();
    }

    /** The clock was moved by the bar of time. */
    timeChanged() {
      const { clock } = this.app.model;
      this.following = clock.mode === "live";
      if (!this.following) this.center = Math.round(clock.t);
      if (this.visible) this.refresh();
    }

    // --- which span ---

    span() {
      const { model } = this.app;
      const room = Math.max(200, (this.paint.width || 1000) - this.paint.margin);
      const perTick = this.layout && this.layout.ticks.length ? this.layout.width / Math.max(1, this.layout.to - this.layout.from) : this.slot * 2;
      const ticks = M.clamp(Math.ceil((room / Math.max(1, perTick)) * 2.5), 30, 3000);
      const last = model.lastTick();
      if (this.following) return [Math.max(model.firstTick(), last - ticks), last];
      const center = M.clamp(this.center ?? last, model.firstTick(), last);
      return [Math.max(model.firstTick(), center - ticks / 2), Math.min(last, center + ticks / 2)];
    }

    refresh() {
      if (!this.app.model.hello) return;
      const kinds = this.groupsNow().flatMap(words.kindsOf);
      const all = kinds.length === words.GROUPS.flatMap(([group]) => words.kindsOf(group)).length;
      const filter = { entity: this.entity, process: this.process, kinds: all ? null : kinds, anomalies: this.anomalies };
      this.load.want(filter, ...this.span());
    }

    loaded() {
      const shown = this.load.events;
      if (this.root && !this.rootEvent) this.rootEvent = shown.find((event) => event.id === this.root) || null;
      if (this.rootEvent && this.panelFor !== this.root) this.showRoot();
      this.relayout();
    }

    relayout() {
      const anchor = this.layout && !this.following ? M.tickOfX(this.layout, this.scrollX + this.middle()) : null;
      const offset = anchor === null ? 0 : M.xOfTick(this.layout, anchor) - this.scrollX;
      const { model } = this.app;
      const names = [...model.processes.values()].filter((one) => one.kind === "cellapp" || one.kind === "baseapp").map((one) => one.name);
      const others = [...new Set(this.load.events.map((event) => event.process))].filter((name) => !names.includes(name));
      this.lanes = this.process ? [this.process] : [...names, ...others.sort()];
      this.layout = M.orderLayout({ events: this.load.events, lanes: this.lanes, from: Math.ceil(this.load.from), to: Math.floor(this.load.to), by: this.by, slot: this.slot, gaps: this.gapsShown() });
      this.arrows = M.arrowsOf(this.layout);
      if (this.following) this.scrollX = this.layout.width - this.view();
      else if (this.aim !== undefined || anchor === null) this.centerOn();
      else this.scrollX = M.xOfTick(this.layout, anchor) - offset;
      if (this.causal) this.panel.counted(this.causal);
      this.dirty = true;
    }

    view() {
      return Math.max(50, (this.paint.width || 1000) - this.paint.margin);
    }

    middle() {
      return this.view() / 2;
    }

    centerOn() {
      const node = this.root && this.layout.byId.get(this.root);
      const tick = this.center ?? this.layout.to;
      this.scrollX = (node ? node.x : M.xOfTick(this.layout, tick)) - this.middle();
      delete this.aim;
    }

    // --- choosing events ---

    select(event) {
      this.app.address.set({ event: event ? event.id : null }, true);
      if (event) this.rootEvent = event;
      this.choose(event ? event.id : null);
    }

    choose(id) {
      this.before = this.root;
      this.root = id;
      this.causal = null;
      this.dirty = true;
      if (!id) {
        this.rootEvent = null;
        this.panelFor = null;
        this.panel.empty();
        return;
      }
      if (this.rootEvent && this.rootEvent.id !== id) this.rootEvent = null;
      this.rootEvent = this.rootEvent || this.load.events.find((event) => event.id === id) || null;
      this.aim = id;
      if (this.rootEvent) this.showRoot();
      else this.locate(id);
    }

    /** A link may name an event alone: its past tells where it is. */
    async locate(id) {
      try {
        const found = await this.app.source.past(id, 1);
        if (this.root !== id || this.rootEvent || !found.root) return;
        this.rootEvent = this.app.model.normal(found.root);
        this.following = false;
        this.center = this.rootEvent.tick;
        this.app.model.clock.seek(this.center);
        const group = words.group(this.rootEvent.kind);
        if (!this.groupsNow().includes(group)) this.groups = [...this.groupsNow(), group];
        this.fields();
        this.showRoot();
        this.refresh();
      } catch (error) {
        if (this.root === id) M.toast(error.message, "bad");
      }
    }

    async showRoot() {
      const event = this.rootEvent;
      this.panelFor = event.id;
      if (this.following && this.app.model.clock.mode === "live") this.center = event.tick;
      this.following = false;
      this.center = this.center ?? event.tick;
      this.panel.show(event, null);
      M.tell(`${event.process}, tick ${event.tick}: ${event.text}`);
      try {
        const found = await this.app.source.past(event.id, CAUSAL_LIMIT);
        if (this.root !== event.id) return;
        this.causal = { past: new Set(found.past), future: new Set(found.future), truncated: found.truncated, leftOut: found.left_out };
        this.panel.counted(this.causal);
      } catch (error) {
        if (this.root === event.id) this.panel.counted(null, error);
      }
      this.dirty = true;
    }

    /** Selects the next event in the order that is shown. */
    next(direction) {
      if (!this.layout || !this.layout.nodes.length) return;
      const all = [...this.layout.nodes].sort((a, b) => a.x - b.x || a.lane - b.lane);
      const at = all.findIndex((node) => node.event.id === this.root);
      const from = at >= 0 ? at : all.findIndex((node) => node.x >= this.scrollX + this.middle()) - direction;
      const node = all[M.clamp(from + direction, 0, all.length - 1)];
      this.select(node.event);
      if (node.x < this.scrollX + 40 || node.x > this.scrollX + this.view() - 40) this.scrollX = node.x - this.middle();
    }

    // --- moving ---

    pan(dx, dy) {
      this.following = false;
      this.scrollX -= dx;
      const most = Math.max(0, this.lanes ? this.lanes.length * this.paint.laneHeight(this.lanes.length) + M.OrderPaint.HEAD - this.paint.height : 0);
      this.scrollY = M.clamp(this.scrollY - (dy || 0), 0, most);
      const { layout } = this;
      if (!layout) return;
      this.center = M.tickOfX(layout, this.scrollX + this.middle());
      const near = this.scrollX < 0 || this.scrollX > layout.width - this.view();
      if (near) this.refresh();
      const slack = this.view() * 0.5;
      this.scrollX = M.clamp(this.scrollX, -slack, Math.max(-slack, layout.width - this.view() + slack));
      this.dirty = true;
    }

    zoom(factor, sx) {
      const at = sx === undefined ? this.middle() : sx - this.paint.margin;
      const old = this.layout;
      this.slot = M.clamp(this.slot * factor, ...SLOTS);
      if (!old) return;
      const tick = M.tickOfX(old, this.scrollX + at);
      this.center = tick;
      this.relayout();
      if (!this.following) this.scrollX = M.xOfTick(this.layout, tick) - at;
      this.refresh();
    }

    key(event) {
      const step = event.shiftKey ? 300 : 80;
      const pan = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
      if (pan) this.pan(...pan);
      else if (event.key === "+" || event.key === "=") this.zoom(1.5);
      else if (event.key === "-") this.zoom(1 / 1.5);
      else if (event.key === "]" || event.key === "n") this.next(1);
      else if (event.key === "[" || event.key === "p") this.next(-1);
      else if (event.key === "a") this.filter({ anomalies: this.anomalies ? null : "1" });
      else if (event.key === "Escape" && this.root) this.select(null);
      else return false;
      return true;
    }

    // --- drawing ---

    frame(tick) {
      const { model } = this.app;
      this.paint.resize();
      const now = performance.now();
      if (!this.layout) return;
      const second = Math.floor(now / 250);
      const key = `${this.paint.width}/${this.paint.height}/${second}/${this.following ? "" : tick}`;
      if (!this.dirty && key === this.painted) return;
      this.painted = key;
      this.dirty = false;
      const gaps = this.gapsShown();
      this.paint.draw({
        layout: this.layout, lanes: this.lanes, scrollX: this.scrollX, scrollY: this.scrollY, arrows: this.arrows,
        spans: this.load.spans, gaps, root: this.root && this.causal ? this.root : null,
        past: this.causal ? this.causal.past : new Set(), future: this.causal ? this.causal.future : new Set(),
        hovered: this.hovered, entity: this.entity, model, at: this.following ? NaN : tick, ...this.agesOf(now),
      });
      this.note(M.orderNotice(this.load, gaps, model.stale(now)));
    }

    gapsShown() {
      const seen = (gap) => gap.to >= this.load.from && gap.from <= this.load.to && this.lanes.includes(gap.process);
      const all = new Map();
      for (const gap of [...this.app.model.gaps, ...this.load.gaps]) if (seen(gap)) all.set(`${gap.process}/${gap.from}`, gap);
      return [...all.values()];
    }

    agesOf(now) {
      const ages = new Map();
      const old = new Set();
      const { model } = this.app;
      if (!model.live()) return { ages, old };
      for (const process of model.processes.values()) {
        if (process.age_ms === undefined) continue;
        const age = process.age_ms + (now - model.clusterAt);
        ages.set(process.name, innerWidth < 600 ? words.age(age) : `${words.age(age)} ago`);
        if (age > M.STALE_MS || process.state === "unreachable" || process.state === "dead") old.add(process.name);
      }
      return { ages, old };
    }

    note(notice) {
      const strip = M.get("order-note");
      const empty = !notice && !this.load.error && this.load.events.length === 0 && !this.load.busy;
      const held = this.by !== "arrival" || this.load.events.some((event) => event.arrived !== undefined);
      const text = notice ? notice.text : empty ? "Nothing of these kinds happened in these ticks."
        : held ? "" : "Nothing here is told to have waited: arrival order is applied order.";
      strip.hidden = !text;
      strip.classList.toggle("bad", Boolean(notice && notice.bad));
      M.say(strip, text);
    }

    /** Where an event is on the screen: for tests. */
    screenOf(id) {
      const node = this.layout && this.layout.byId.get(id);
      if (!node) return null;
      const box = this.canvas.getBoundingClientRect();
      return { x: box.left + node.x - this.scrollX + this.paint.margin, y: box.top + this.paint.yOf(node) };
    }
  }

  M.OrderView = OrderView;
})(globalThis.March);
