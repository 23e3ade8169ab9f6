"use strict";
// The panel beside the map: what is selected, or who is here if nothing is.
(function (M) {
  const { el, words } = M;

  class WorldFacts {
    constructor(app, world) {
      this.app = app;
      this.world = world;
      this.root = M.get("world-panel");
      this.facts = el("section.card.selected", { hidden: true, "aria-label": "Selected entity" });
      this.cards = el("div.cards");
      this.summary = el("section.card.summary");
      M.put(this.root, this.cards, this.facts, this.summary);
    }

    /** Shows a card above the rest. */
    addCard(card) {
      M.put(this.cards, card.root);
      this.root.classList.add("open");
      this.root.scrollTop = 0;
    }

    update(scene) {
      this.root.classList.toggle("open", Boolean(this.world.selected) || this.cards.childElementCount > 0);
      this.showSelected(scene);
      this.showSummary(scene);
    }

    showSelected(scene) {
      const id = this.world.selected;
      this.facts.hidden = !id;
      if (!id) {
        this.built = null;
        return;
      }
      if (this.built !== id) this.build(id);
      const found = scene.selected;
      const { model } = this.app;
      if (!found) {
        M.put(this.list, el("p.muted", {}, "Not in the pictures of this space at this tick."));
        return;
      }
      const real = found.real;
      const ghosts = found.ghosts.map((ghost) => el("li", {}, [M.chip(model, ghost.process), ` ${words.ticks(ghost.age)} old`]));
      M.put(this.list, M.facts([
        ["Real at", real ? M.chip(model, real.process) : "nobody shown: on its way"],
        ["Epoch", real ? real.epoch : found.ghosts[0].epoch],
        ["Kind", M.kindName(model.hello, real ? real.kind : found.ghosts[0].kind)],
        ["Place", real ? `${words.metres(real.x)}, ${words.metres(real.y)}` : "–"],
        ["Speed", real ? `${((real.perTick / model.stepMs) * 1).toFixed(1)} m/s` : "–"],
        ["Ghosts", ghosts.length ? el("ul.plain", {}, ghosts) : "none"],
      ]));
    }

    build(id) {
      this.built = id;
      this.list = el("div");
      const act = this.app.mayAct();
      M.put(this.facts,
        el("header", {}, [
          el("h2", {}, ["Entity ", el("code", {}, id)]),
          M.button("✕", () => this.world.select(null), { class: "icon", "aria-label": "Select nothing" }),
        ]),
        this.list,
        el("div.actions", {}, [
          act && M.button("Move to…", () => this.app.moveEntity(id, null), { class: "primary", title: "m" }),
          M.button("Follow", (event) => {
            this.world.following = !this.world.following;
            event.target.setAttribute("aria-pressed", String(this.world.following));
          }, { "aria-pressed": String(this.world.following), title: "f" }),
          M.button("Order", () => this.app.address.set({ view: "order", entity: id, event: null })),
          M.button("Passport", () => this.app.address.set({ view: "passport", entity: id })),
        ]),
      );
    }

    showSummary(scene) {
      const { model } = this.app;
      const rows = new Map(model.cellapps().map((process) => [process.name, { reals: 0, ghosts: 0, late: null }]));
      for (const { frame, late } of scene.shown) {
        const row = rows.get(frame.process);
        if (row) Object.assign(row, { reals: frame.reals.n, ghosts: frame.ghosts.n, late });
      }
      const key = JSON.stringify([...rows]) + (scene.moves.length > 0) + M.theme.choice() + this.world.space;
      if (key === this.summed) return;
      this.summed = key;
      M.put(this.summary,
        el("h2", {}, "In this space"),
        el("table.small", {}, [
          el("thead", {}, el("tr", {}, ["Cellapp", "Reals", "Ghosts"].map((name, i) => el(i ? "th.number" : "th", { scope: "col" }, name)))),
          el("tbody", {}, [...rows].map(([name, row]) => el("tr", {}, [
            el("th", { scope: "row" }, M.chip(model, name)),
            el("td.number", {}, words.count(row.reals)),
            el("td.number", {}, words.count(row.ghosts)),
          ]))),
        ]),
        el("ul.legend", {}, [
          el("li", {}, [el("i.dot.real"), "real: the one copy that is simulated"]),
          el("li", {}, [el("i.dot.ghost"), "ghost: a mirror, in its owner's colour; fainter with age"]),
          el("li", {}, [el("i.dot.move"), "handoff: the old owner's ring opens into the new one's"]),
        ]),
        this.app.mayAct() && el("p.muted.small", {}, "Drag a real over a border to hand it over. On a touch screen select it first."),
      );
    }
  }

  M.WorldFacts = WorldFacts;
})(globalThis.March);
