"use strict";
// The panel beside the lanes: one event with everything known of it, its place in the order, and
// the chain to a second one.
(function (M) {
  const { el, words } = M;

  class OrderPanel {
    constructor(app, view) {
      this.app = app;
      this.view = view;
      this.root = M.get("order-panel");
      this.check = new M.OrderCheck(app);
      this.empty();
    }

    empty() {
      this.root.classList.remove("open");
      M.put(this.root, this.check.root, el("section.card", {}, [
        el("h2", {}, "Order"),
        el("p.muted", {}, "A lane for each process, a column for each tick, a mark for each event. Time is ticks and messages; no clock is trusted."),
        el("ul.legend", {}, [
          ["own", "ownership: the handoff's steps are joined by thick arrows"],
          ["step", "a step, or what the base did with it"],
          ["ghost", "a ghost state, sent or shown"],
          ["command", "a client's command"],
          ["message", "a message between entities"],
          ["cross", "refused or wrong, with its reason"],
        ].map(([glyph, text]) => el("li", {}, [el(`i.mark.${glyph}`, { "aria-hidden": "true" }), text]))),
        el("p.muted", {}, "Click an event: what caused it is lit, what follows from it is tinted, everything else is concurrent and dims. Click a second one with Shift to see why one came before the other."),
      ]));
    }

    show(event, causal, error) {
      this.root.classList.add("open");
      const { app } = this;
      const fields = Object.entries(event.fields || {});
      const march = this.view.before ? `march order explain ${this.view.before} ${event.id}` : `march order watch${event.entity ? ` --entity ${event.entity}` : ""}`;
      M.put(this.root,
        el("section.card", { "aria-label": "Selected event" }, [
          el("header", {}, [
            el("h2", {}, [M.chip(app.model, event.process), " ", words.label(event.kind)]),
            M.button("✕", () => this.view.select(null), { class: "icon", "aria-label": "Select nothing" }),
          ]),
          el("p.said", {}, event.text),
          event.anomaly && el("p.refusal", {}, [el("b", {}, "Refused: "), words.reason(event.anomaly)]),
          words.meaning(event.kind) && el("p.muted.small", {}, words.meaning(event.kind)),
          M.facts([
            ["Event", el("code", {}, event.id)],
            ["Tick", `${words.count(event.tick)}, ${event.moment}`],
            ["Life", el("code", {}, words.short(event.incarnation))],
            event.entity !== null && event.entity !== undefined && ["Entity", el("button.link", { type: "button", onclick: () => this.view.filter({ entity: event.entity }) }, event.entity)],
            event.arrived !== undefined && event.arrived < event.tick && ["Held", `${words.ticks(event.tick - event.arrived)}: there in tick ${event.arrived}`],
          ]),
          fields.length > 0 && el("details", { open: true }, [
            el("summary", {}, "Fields"),
            M.facts(fields.map(([name, value]) => [name, el("code", {}, words.value(value))])),
          ]),
          (this.counts = el("div.counts", { role: "status" }, error ? M.failure(error) : this.countsOf(causal))),
          el("div.actions", {}, [
            event.entity && M.button("Passport", () => app.address.set({ view: "passport", entity: event.entity, event: null })),
            M.button("In World", () => app.address.set({ view: "world", entity: event.entity, tick: String(event.tick), event: null })),
            M.button("Copy link", () => M.copy(app.address.link({ view: "order", event: event.id, tick: event.tick }), "Link")),
            M.button("Copy command", () => M.copy(march, "Command")),
          ]),
        ]),
        (this.why = el("div.cards")),
      );
    }

    countsOf(causal) {
      if (!causal) return el("p.muted.small", {}, "Looking for its past and future…");
      const shown = this.view.layout ? this.view.layout.nodes.map((node) => node.event.id) : [];
      const past = shown.filter((id) => causal.past.has(id)).length;
      const future = shown.filter((id) => causal.future.has(id)).length;
      const rest = Math.max(0, shown.length - past - future - 1);
      const parts = [[past, "before", "past"], [future, "after", "future"], [rest, "concurrent", ""]];
      return [
        el("ul.tally", {}, parts.map(([n, name, tone]) => el(`li${tone ? `.${tone}` : ""}`, {}, [el("b", {}, words.count(n)), ` ${name}`]))),
        (causal.leftOut || []).map((text) => el("p.muted.small", {}, text)),
        causal.truncated && el("p.muted.small", {}, "Its past or future is longer than what was asked for; the rest is dimmed though it may belong to it."),
      ];
    }

    counted(causal, error) {
      if (this.counts) M.put(this.counts, error ? M.failure(error) : this.countsOf(causal));
    }

    /** The chain between two events. */
    async explain(a, b) {
      if (!this.why) return;
      M.put(this.why, el("section.card", {}, el("p.muted", {}, "Looking for the chain…")));
      try {
        this.showChain(a, b, await this.app.source.explain(a, b));
      } catch (error) {
        M.put(this.why, el("section.card", {}, M.failure(error)));
      }
    }

    /** An event in three words, if it is known; else its id. */
    nameOf(id, found) {
      const known = [...(found.hops || []).map((hop) => hop.event), ...this.view.load.events].find((event) => event.id === id);
      if (!known) return el("code", {}, id);
      const event = this.app.model.normal(known);
      return el("span", { title: id }, `${event.process} ${words.label(event.kind)} (tick ${event.tick})`);
    }

    showChain(a, b, found) {
      const words_ = { before: "comes before", after: "comes after", concurrent: "and", same: "is" };
      const hops = (found.hops || []).map((hop) => {
        const event = this.app.model.normal(hop.event);
        return el(hop.on_path === false ? "li.aside" : "li", {}, [
          el("span.via", {}, [hop.via ? `${hop.via}` : "", hop.ticks ? `, ${words.ticks(hop.ticks)}` : ""]),
          el("button.link", { type: "button", onclick: () => this.app.showEvent(event) }, [M.chip(this.app.model, event.process), ` ${event.text}`]),
          el("small.muted", {}, `tick ${event.tick}, ${event.moment}`),
          hop.rule && el("small.rule", {}, hop.rule),
        ]);
      });
      const concurrent = found.relation === "concurrent";
      M.put(this.why, el("section.card.chain", { "aria-label": "Why" }, [
        el("header", {}, [
          el("h2", {}, [this.nameOf(a, found), ` ${words_[found.relation] || found.relation} `, this.nameOf(b, found), concurrent ? " are concurrent" : ""]),
          M.button("✕", () => M.put(this.why), { class: "icon", "aria-label": "Close" }),
        ]),
        concurrent && el("p", {}, "No chain of steps and messages leads from one to the other: they may appear in either order."),
        el("ol.hops", {}, hops),
      ]));
      this.why.firstChild.scrollIntoView({ block: "nearest" });
      M.tell(concurrent ? `${a} and ${b} are concurrent` : `${a} ${words_[found.relation]} ${b}, ${hops.length} hops`);
    }
  }

  M.OrderPanel = OrderPanel;
})(globalThis.March);
