"use strict";
// The invariants of a recording as lamps: all that hold, and the first that do not with the fewest
// events that show it.
(function (M) {
  const { el, words } = M;

  /** The lamps in their order: violated ones first, then those that were checked, then the rest. Pure. */
  M.lampsOf = function (verdict) {
    const rank = ({ checked, violations }) => (violations > 0 ? 0 : checked > 0 ? 1 : 2);
    return Object.entries(verdict.invariants || {})
      .map(([name, count]) => ({ name, ...count, tone: ["bad", "good", "none"][rank(count)] }))
      .sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
  };

  class OrderCheck {
    constructor(app) {
      this.app = app;
      this.root = el("section.card.check", { "aria-label": "Invariants", hidden: true });
      app.model.on("hello", () => this.ask());
    }

    async ask() {
      const { app } = this;
      if (app.model.live() || this.asked === app.model.hello.cluster) return;
      this.asked = app.model.hello.cluster;
      try {
        this.show(await app.source.check());
      } catch (error) {
        // A server without an audit, or a file that was exported without one.
        this.root.hidden = true;
        if (error.status >= 500 && error.status !== 501) this.asked = null;
      }
    }

    show(verdict) {
      const lamps = M.lampsOf(verdict);
      const held = lamps.filter((lamp) => lamp.tone === "good").length;
      const tone = { pass: "good", fail: "bad" }[verdict.verdict] || "warn";
      this.root.hidden = false;
      M.put(this.root,
        el("header", {}, [el("h2", {}, "Invariants"), el(`span.tag.${tone}`, {}, verdict.verdict)]),
        (verdict.violations || []).slice(0, 20).map((violation) => this.violation(violation)),
        (verdict.incomplete || []).map((why) => el("p.muted.small", {}, why)),
        el("details", { open: tone === "bad" ? null : true }, [
          el("summary", {}, `${held} held of ${lamps.length}`),
          el("ul.lamps", {}, lamps.map((lamp) => el(`li.${lamp.tone}`, { title: lamp.tone === "none" ? "nothing of it happened" : `checked ${words.count(lamp.checked)} times` }, [
            el("i.lamp", { "aria-hidden": "true" }),
            lamp.name.replaceAll("-", " "),
            el("span.told", {}, lamp.tone === "bad" ? ": violated" : lamp.tone === "good" ? ": held" : ": nothing to check"),
          ]))),
        ]),
      );
    }

    violation(violation) {
      const { app } = this;
      const witness = violation.witness || [];
      const lines = violation.lines || [];
      const last = witness.at(-1);
      const go = (id) => app.address.set({ view: "order", entity: violation.entity ?? null, event: id, tick: null });
      return el("div.refusal", { "data-invariant": violation.invariant }, [
        el("b", {}, violation.invariant.replaceAll("-", " ")),
        el("p", {}, violation.text),
        el("ol.plain.small", {}, witness.map((id, i) => el("li", {}, el("button.link", { type: "button", onclick: () => go(id) }, lines[i] || id)))),
        last && el("div.actions", {}, M.button("Show it", () => go(last), { class: "primary" })),
      ]);
    }
  }

  M.OrderCheck = OrderCheck;
})(globalThis.March);
