"use strict";
// The World view: puts camera, pictures, drawing, hands and panel together.
(function (M) {
  const { el, words } = M;
  const MOVE_TICKS = 18;
  const TRAIL_TICKS = 60;

  class WorldView {
    constructor(app) {
      this.app = app;
      this.canvas = M.get("map");
      this.paint = new M.WorldPaint(this.canvas, () => (app.model.hello && app.model.hello.kinds) || []);
      this.cameras = new Map();
      this.camera = new M.Camera();
      this.space = null;
      this.selected = null;
      this.following = false;
      this.shown = [];
      this.costs = [];
      this.hands = new M.WorldHands(this);
      this.facts = new M.WorldFacts(app, this);
      this.calmFacts = M.calm(120, () => this.facts.update(this.scene));
      app.model.on("hello", () => this.spaces());
      app.model.on("cluster", () => this.spaces());
      M.put(M.get("map-zoom"),
        M.button("+", () => this.camera.zoom(1.4), { class: "icon", "aria-label": "Zoom in" }),
        M.button("−", () => this.camera.zoom(1 / 1.4), { class: "icon", "aria-label": "Zoom out" }),
        M.button("⤢", () => this.fit(), { class: "icon", "aria-label": "Show the whole space", title: "0" }),
      );
    }

    // --- which space ---

    spaceOf() {
      return this.app.model.spaces.find((space) => space.id === this.space) || null;
    }

    spaces() {
      const { spaces } = this.app.model;
      const key = spaces.map((space) => space.id).join();
      if (key === this.listed) return;
      this.listed = key;
      const wanted = Number(this.app.address.get().space);
      const first = spaces.find((space) => space.id === wanted) || spaces[0];
      M.put(M.get("map-tools"), spaces.length > 1 && (this.tabs = M.choice(
        "Space",
        spaces.map((space) => [space.id, space.name || `Space ${space.id}`]),
        () => this.space,
        (id) => this.app.address.set({ space: id }),
      )));
      if (first) this.show(first.id);
    }

    show(id) {
      if (this.space === id) return;
      this.space = id;
      if (!this.cameras.has(id)) this.cameras.set(id, new M.Camera());
      this.camera = this.cameras.get(id);
      if (this.tabs) this.tabs.show();
    }

    fit() {
      this.following = false;
      const small = this.camera.width < 600;
      this.camera.fit(M.boundsOf(this.spaceOf()), small ? 12 : 40, small ? 44 : 0);
      this.camera.fitted = true;
    }

    // --- what the address says ---

    enter(state) {
      const space = Number(state.space);
      if (space && this.app.model.spaces.some((one) => one.id === space)) this.show(space);
      this.selected = state.entity || null;
      if (state.tick && state.tick !== this.sought) {
        this.sought = state.tick;
        this.app.timebar.seek(Number(state.tick));
      }
    }

    select(id) {
      this.selected = id;
      this.following = this.following && Boolean(id);
      this.app.address.set({ entity: id || null, event: null });
      if (id) M.tell(`Entity ${id} selected`);
    }

    /** Shows an entity wherever it is; says so if no picture has it. */
    find(id) {
      for (const space of this.app.model.spaces) {
        const found = M.entityIn(this.app.model.history.at(space.id, this.app.model.clock.t), id);
        if (!found) continue;
        this.show(space.id);
        const anchor = found.real || found.ghosts[0];
        this.camera.x = anchor.x;
        this.camera.y = anchor.y;
        if (this.camera.scale < 0.008) this.camera.scale = 0.012;
        this.camera.fitted = true;
        this.select(id);
        return true;
      }
      return false;
    }

    hover(dot, x, y) {
      this.hovered = dot ? dot.id : null;
      this.canvas.classList.toggle("over", Boolean(dot));
      if (!dot) return this.tip(null);
      const found = M.entityIn(this.shown, dot.id);
      if (!found) return this.tip(null);
      const ghost = dot.role === "ghosts" && found.ghosts.find((one) => one.process === dot.process);
      const kind = M.kindName(this.app.model.hello, (found.real || found.ghosts[0]).kind);
      return this.tip(x, y, [
        el("b", {}, `${kind} ${dot.id}`),
        el("span", {}, ghost
          ? `ghost at ${ghost.process}, of ${ghost.owner}, ${words.ticks(ghost.age)} old`
          : `real at ${found.real.process}, epoch ${found.real.epoch}`),
        !ghost && found.ghosts.length > 0 && el("span", {}, `ghosts at ${found.ghosts.map((one) => one.process).join(", ")}`),
      ]);
    }

    tip(x, y, content) {
      const tip = M.get("map-tip");
      tip.hidden = x === null || x === undefined;
      if (tip.hidden) return;
      M.put(tip, content);
      const left = M.clamp(x + 14, 4, this.camera.width - tip.offsetWidth - 4);
      const top = y + 18 + tip.offsetHeight > this.camera.height ? y - tip.offsetHeight - 10 : y + 18;
      tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    }

    // --- drawing ---

    frame(tick) {
      const began = performance.now();
      const [width, height] = this.paint.resize();
      const resized = width !== this.camera.width || height !== this.camera.height;
      this.camera.resize(width, height);
      if (!this.camera.fitted || (resized && !this.camera.touched && !this.selected)) {
        if (this.spaceOf()) this.fit();
      }
      const { model } = this.app;
      this.shown = Number.isFinite(tick) ? model.history.at(this.space, tick) : [];
      const selected = this.selected ? M.entityIn(this.shown, this.selected) : null;
      if (this.following && selected && selected.real) {
        this.camera.x = selected.real.x;
        this.camera.y = selected.real.y;
      }
      const space = this.spaceOf();
      const { drag } = this.hands;
      if (drag) {
        const real = M.entityIn(this.shown, drag.id)?.real;
        if (real) Object.assign(drag, { from: real, owner: real.process });
      }
      this.scene = {
        space,
        bounds: M.boundsOf(space),
        shown: this.shown,
        moves: M.movesAt(model.history.moves, this.space, tick, MOVE_TICKS),
        selected,
        hovered: this.hovered && this.hovered !== this.selected ? M.entityIn(this.shown, this.hovered) : null,
        over: drag && drag.allowed ? drag.cell : null,
        drag,
        trail: selected ? M.trailOf(model.history, this.space, this.selected, tick, TRAIL_TICKS) : [],
        dim: (late) => model.clock.mode === "live" && (late * model.stepMs > M.STALE_MS || model.link.state !== "open"),
      };
      this.paint.draw(this.camera, this.scene, model);
      this.costs.push(performance.now() - began);
      if (this.costs.length > 600) this.costs.shift();
      this.calmFacts();
    }

    /** The time that drawing took in the last frames, in milliseconds. */
    figures() {
      const sorted = [...this.costs].sort((a, b) => a - b);
      const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
      const dots = this.shown.reduce((sum, { frame }) => sum + frame.reals.n + frame.ghosts.n, 0);
      return { frames: sorted.length, dots, p50: at(0.5), p95: at(0.95), worst: sorted.at(-1) };
    }

    key(event) {
      const { camera } = this;
      const step = event.shiftKey ? 200 : 60;
      const pan = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
      if (pan) {
        this.following = false;
        camera.pan(...pan);
      } else if (event.key === "+" || event.key === "=") camera.zoom(1.4);
      else if (event.key === "-") camera.zoom(1 / 1.4);
      else if (event.key === "0") this.fit();
      else if (event.key === "f" && this.selected) this.following = !this.following;
      else if (event.key === "m" && this.selected && this.app.mayAct()) this.app.moveEntity(this.selected, null);
      else if (event.key === "[" || event.key === "]") this.next(event.key === "]" ? 1 : -1);
      else if (event.key === "Escape" && this.selected) this.select(null);
      else return false;
      return true;
    }

    /** Selects the next real, from the left to the right of the map: the map without a mouse. */
    next(direction) {
      const all = [];
      for (const { frame, alpha } of this.shown) {
        for (let i = 0; i < frame.reals.n; i++) all.push([M.placeOf(frame.reals, i, alpha)[0], frame.reals.ids[i]]);
      }
      if (!all.length) return;
      all.sort((a, b) => a[0] - b[0]);
      const at = all.findIndex(([, id]) => id === this.selected);
      const [, id] = all[(at + direction + all.length) % all.length];
      this.find(id);
    }

    /** Where an entity is on the screen: for tests. */
    screenOf(id) {
      const found = M.entityIn(this.shown, id);
      const anchor = found && (found.real || found.ghosts[0]);
      if (!anchor) return null;
      const box = this.canvas.getBoundingClientRect();
      const [x, y] = this.camera.toScreen(anchor.x, anchor.y);
      return { x: box.left + x, y: box.top + y, process: found.real ? found.real.process : null };
    }
  }

  M.WorldView = WorldView;
})(globalThis.March);
