"use strict";
// The Passport view: one entity as each process sees it.
(function (M) {
  const { el, words } = M;
  const EVERY_MS = 1000;
  const ROLES = { base: "base", real: "real", ghost: "ghost", parked: "parked", none: "not here" };

  /** All field names of all rows, in the order in which they are first met. Pure. */
  M.passportFields = function (rows) {
    const names = new Set();
    for (const row of rows) Object.keys(row.fields || {}).forEach((name) => names.add(name));
    return [...names];
  };

  /** Which fields differ: what the server says, or else what can be seen. Pure. */
  M.passportDiffers = function (passport) {
    if (passport.differs) return new Set(passport.differs);
    const differ = new Set();
    for (const name of M.passportFields(passport.rows)) {
      const values = passport.rows.map((row) => (row.fields || {})[name]).filter((value) => value !== undefined);
      if (new Set(values.map((value) => JSON.stringify(value))).size > 1) differ.add(name);
    }
    return differ;
  };

  class PassportView {
    constructor(app) {
      this.app = app;
      this.root = M.get("view-passport");
      this.field = el("input", { type: "search", inputmode: "numeric", "aria-label": "Entity", placeholder: "an entity's number" });
      this.ageText = el("span.muted");
      this.body = el("div.stack");
      const form = el("form.bar", {
        onsubmit: (event) => {
          event.preventDefault();
          app.address.set({ entity: this.field.value.trim() || null });
        },
      }, [el("label", {}, ["Entity ", this.field]), el("button.primary", { type: "submit" }, "Show"), this.ageText]);
      M.put(this.root, form, this.body);
      setInterval(() => this.visible && this.tick(), 250);
    }

    enter(state) {
      if (state.entity !== this.entity) {
        this.entity = state.entity || null;
        this.passport = null;
        this.field.value = this.entity || "";
        M.put(this.body, el("p.muted.empty", {}, this.entity ? "Asking every process…" : "Enter an entity's number, or select one in World or Order."));
        this.asked = -Infinity;
      }
      this.tick();
    }

    tick() {
      const now = performance.now();
      const { model } = this.app;
      if (this.passport) M.say(this.ageText, `asked ${words.age(now - this.heard)} ago`);
      this.body.classList.toggle("stale", Boolean(this.passport) && (model.stale(now) || now - this.heard > 3 * EVERY_MS) && model.live());
      const due = model.live() || !this.passport;
      if (this.entity && due && now - (this.asked || 0) > EVERY_MS && !this.busy && !document.hidden) this.ask(this.entity, now);
    }

    async ask(entity, now) {
      this.busy = true;
      this.asked = now;
      try {
        const passport = await this.app.source.passport(entity);
        if (entity !== this.entity) return;
        this.passport = passport;
        this.heard = performance.now();
        this.show(passport);
      } catch (error) {
        if (entity === this.entity && (!this.passport || error.status === 404)) {
          this.passport = null;
          M.put(this.body, M.failure(error));
        }
      } finally {
        this.busy = false;
      }
    }

    show(passport) {
      const key = JSON.stringify(passport);
      if (key === this.shown && this.body.querySelector("table")) return;
      this.shown = key;
      const { app } = this;
      const differs = M.passportDiffers(passport);
      const focused = document.activeElement && this.body.contains(document.activeElement);
      if (focused) return; // what somebody is using is not taken away; the next answer will do
      M.put(this.body,
        el("div.head", {}, [
          el("h1", {}, [`${M.kindName(app.model.hello, passport.kind ?? "entity")} `, el("code", {}, passport.entity)]),
          this.verdict(passport, differs),
        ]),
        this.table(passport, differs),
        el("div.actions", {}, [
          app.mayAct() && M.button("Move to…", () => app.moveEntity(passport.entity, null), { class: "primary" }),
          M.button("In World", () => app.openEntity(passport.entity)),
          M.button("In Order", () => app.address.set({ view: "order", entity: passport.entity, event: null })),
        ]),
        this.history(passport),
      );
    }

    verdict(passport, differs) {
      const reals = passport.rows.filter((row) => row.role === "real");
      const parts = [];
      if (reals.length > 1) parts.push(el("span.tag.bad", {}, `${reals.length} reals at this moment`));
      else if (reals.length === 1) parts.push(el("span.tag.good", {}, ["one owner: ", reals[0].process, `, epoch ${reals[0].epoch}`]));
      else parts.push(el("span.tag.warn", {}, "no real: on its way, or standing still"));
      if (differs.size) parts.push(el("span.tag.warn", {}, `differs: ${[...differs].join(", ")}`));
      return el("p.tags", {}, parts);
    }

    table(passport, differs) {
      const fields = M.passportFields(passport.rows);
      const head = ["Process", "Role", "Epoch", "Seq", "Tick", "Age", "Digest", ...fields];
      const numbers = new Set(["Epoch", "Seq", "Tick", "Age"]);
      const real = passport.rows.find((row) => row.role === "real");
      return el("div.scroll", { tabindex: 0, role: "region", "aria-label": "As each process sees it" }, el("table.passport", {}, [
        el("thead", {}, el("tr", {}, head.map((name) => el(numbers.has(name) ? "th.number" : "th", { scope: "col", class: differs.has(name) ? "differs" : null }, name)))),
        el("tbody", {}, passport.rows.map((row) => {
          const same = real && row.epoch === real.epoch && row.seq === real.seq;
          const digestDiffers = same && row.digest && real.digest && row.digest !== real.digest;
          return el(`tr.role-${row.role}`, {}, [
            el("th", { scope: "row" }, [M.chip(this.app.model, row.process), el("small.muted", {}, ` ${words.short(row.incarnation ?? "")}`)]),
            el("td", {}, el(`span.role.${row.role}`, {}, ROLES[row.role] || row.role)),
            ...[row.epoch, row.seq, row.tick].map((value) => el("td.number", {}, words.count(value))),
            el("td.number", {}, row.age_ticks === null || row.age_ticks === undefined ? "–" : words.ticks(row.age_ticks)),
            el("td", {}, el("code", { class: digestDiffers ? "differs" : null, title: row.digest ?? "" }, row.digest ? words.short(row.digest) : "–")),
            ...fields.map((name) => {
              const value = (row.fields || {})[name];
              const mark = differs.has(name) && value !== undefined;
              return el(mark ? "td.differs" : "td", {}, value === undefined ? el("span.muted", {}, "–") : [mark && el("span.told", {}, "differs: "), words.value(value)]);
            }),
          ]);
        })),
      ]));
    }

    history(passport) {
      const events = (passport.history || []).map((event) => this.app.model.normal(event));
      return el("section", {}, [
        el("h2", {}, "Ownership, newest first"),
        events.length === 0 && el("p.muted", {}, "Nothing is recorded of it."),
        el("ol.history", {}, [...events].reverse().map((event) => el("li", {}, [
          el("span.number.muted", {}, words.count(event.tick)),
          M.chip(this.app.model, event.process),
          el("button.link", { type: "button", onclick: () => this.app.showEvent(event) }, event.text),
          event.anomaly && el("span.tag.bad", {}, words.reason(event.anomaly)),
        ]))),
      ]);
    }
  }

  M.PassportView = PassportView;
})(globalThis.March);
