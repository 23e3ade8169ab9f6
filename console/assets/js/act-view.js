"use strict";
// The Act view: what an operator can do, and the list of all that was done, with its result and the
// command that does it again.
(function (M) {
  const { el, words } = M;
  const DRILLS = [
    ["kill-cellapp", "Kill a cellapp under load: its entities go on elsewhere within the bound."],
    ["kill-baseapp", "Kill a baseapp under load: its slots wait for it, and nothing confirmed is lost."],
    ["partition-cells", "Cut the network between two cellapps."],
    ["rolling-restart", "Drain and restart everybody under load: no client notices."],
  ];

  class ActView {
    constructor(app) {
      this.app = app;
      this.root = M.get("view-act");
      this.output = new Map();
      app.model.on("act", () => this.visible && this.calm());
      app.model.on("hello", () => {
        if (this.visible) this.build();
      });
      this.calm = M.calm(200, () => this.list());
    }

    enter() {
      this.build();
      this.refresh();
    }

    async refresh() {
      try {
        const { acts } = await this.app.source.acts();
        acts.forEach((act) => this.app.model.take_act({ t: "act", ...act }));
      } catch (error) {
        M.toast(error.message, "bad");
      }
      this.list();
    }

    build() {
      const { app } = this;
      const may = app.mayAct();
      this.table = el("div.acts");
      this.result = el("div", { role: "status" });
      M.put(this.root, el("div.stack", {}, [
        !may && el("p.strip", {}, app.model.live() ? "This console shows only: acts are switched off." : "This is a recording: there is nobody to act on."),
        may && app.model.hello.token && this.tokenForm(),
        may && el("div.grid", {}, [this.handoff(), this.drain(), this.pause(), this.drill()]),
        this.result,
        el("section", {}, [
          el("div.row.between", {}, [
            el("h2", {}, "What was done"),
            el("div.actions", {}, [
              M.button("Copy as script", () => this.script((text) => M.copy(text, "Script"))),
              M.button("Save as script", () => this.script((text) => M.saveAs("acts.sh", text, "text/x-shellscript"))),
            ]),
          ]),
          this.table,
        ]),
      ]));
      this.list();
    }

    tokenForm() {
      const field = el("input", { type: "password", autocomplete: "off", "aria-label": "Operator token", value: this.app.source.token || "", oninput: () => (this.app.source.token = field.value) });
      return el("label.row", {}, ["Operator token ", field, el("small.muted", {}, "kept until this page is closed")]);
    }

    names(kinds) {
      return [...this.app.model.processes.values()].filter((one) => kinds.includes(one.kind)).map((one) => one.name);
    }

    select(label, names) {
      return el("select", { "aria-label": label }, names.map((name) => el("option", { value: name }, name)));
    }

    card(title, text, content) {
      return el("form.card", { "aria-label": title, onsubmit: (event) => event.preventDefault() }, [el("h2", {}, title), el("p.muted.small", {}, text), content]);
    }

    handoff() {
      const entity = el("input", { type: "search", inputmode: "numeric", class: "short", "aria-label": "Entity to move", placeholder: "entity" });
      return this.card("Hand over", "Moves one entity to another cellapp. What would happen is shown first.", el("div.row", {}, [
        entity,
        M.button("Ask first…", () => (entity.value.trim() ? this.app.moveEntity(entity.value.trim(), null) : entity.focus()), { class: "primary" }),
      ]));
    }

    drain() {
      const name = this.select("Process to drain", this.names(["cellapp", "baseapp"]));
      return this.card("Drain", "Its entities, cells or slots go to others; it stays, with nothing, until it is stopped.", el("div.row", {}, [
        name,
        M.button("Drain…", () => this.confirm(`Drain ${name.value}?`, "Everything that it keeps goes to other processes. Clients follow by themselves. Starting it again gives it its share back.", "drain", { name: name.value })),
      ]));
    }

    pause() {
      const name = this.select("Process to pause", this.names(["cellapp", "baseapp"]));
      const ms = el("input", { type: "number", min: 50, max: 60000, step: 50, value: 1000, class: "short", "aria-label": "For how many milliseconds" });
      return this.card("Pause", "Chaos: the process stands still as if it were suspended. From a second on others may give it up.", el("div.row", {}, [
        name, ms, " ms ",
        M.button("Pause…", () => this.confirm(`Pause ${name.value} for ${words.age(Number(ms.value))}?`, Number(ms.value) >= 1000
          ? "That is long enough to be given up: its entities may go on elsewhere under higher epochs, and its unconfirmed ticks are lost, at most four."
          : "That is short: others wait for it, and it catches up.", "pause", { name: name.value, for_ms: Number(ms.value) }), { class: "danger" }),
      ]));
    }

    drill() {
      const name = this.select("Drill", DRILLS.map(([drill]) => drill));
      const what = el("small.muted", { role: "status" });
      const tell = () => M.say(what, (DRILLS.find(([drill]) => drill === name.value) || [])[1]);
      name.addEventListener("change", tell);
      tell();
      return this.card("Run a drill", "Starts a cluster of its own, does one bad thing to it, measures, audits. This cluster is left alone.", [
        el("div.row", {}, [name, M.button("Run…", () => this.confirm(`Run the drill ${name.value}?`, "It takes up to two minutes of both cores.", "drill", { name: name.value }))]),
        what,
      ]);
    }

    confirm(title, text, what, body) {
      const yes = M.button(title.split(" ")[0], async () => {
        M.closeDialog();
        await this.do(what, body);
      }, { class: what === "pause" ? "danger" : "primary", "data-first": true });
      M.openDialog(title, el("div.body", {}, [el("p", {}, text), el("div.actions", {}, [yes, M.button("Cancel", () => M.closeDialog())])]));
    }

    async do(what, body) {
      M.put(this.result, el("p.muted", {}, "Ordering…"));
      try {
        const { act } = await this.app.source.act(what, body);
        M.put(this.result, null);
        M.toast(`Ordered: ${what} ${body.name}, act ${act}`);
        this.open = act;
        this.refresh();
      } catch (error) {
        M.put(this.result, M.failure(error));
        this.result.scrollIntoView({ block: "nearest" });
      }
    }

    async script(f) {
      try {
        f(await this.app.source.script());
      } catch (error) {
        M.put(this.result, M.failure(error));
      }
    }

    list() {
      if (!this.table) return;
      const acts = [...this.app.model.acts.values()].sort((a, b) => b.id - a.id);
      const open = new Set([...this.table.querySelectorAll("details[open]")].map((one) => Number(one.dataset.act)));
      if (this.open) open.add(this.open);
      this.open = null;
      M.put(this.table, acts.length === 0
        ? el("p.muted.empty", {}, "Nothing was done from here yet.")
        : acts.map((act) => this.row(act, open.has(act.id))));
    }

    row(act, open) {
      const tone = { done: "good", failed: "bad", running: "warn" }[act.state] || "";
      const result = act.result && Object.keys(act.result).length ? Object.entries(act.result) : [];
      return el("details.act", { "data-act": act.id, open }, [
        el("summary", {}, [
          el("span.number.muted", {}, `#${act.id}`),
          el(`span.tag${tone ? `.${tone}` : ""}`, {}, act.state),
          el("code", {}, act.command),
          el("span.muted", {}, `tick ${words.count(act.at_tick)}, ${act.who}`),
        ]),
        el("div.body", {}, [
          result.length > 0 && M.facts(result.map(([name, value]) => [name.replaceAll("_", " "), words.value(value)])),
          (act.output || []).length > 0 && el("pre", { tabindex: 0, "aria-label": "Output" }, act.output.join("\n")),
          el("div.actions", {}, [
            M.button("Copy command", () => M.copy(act.command, "Command")),
            act.args && act.args.entity && M.button("See it in Order", () => this.app.address.set({ view: "order", entity: String(act.args.entity), tick: String(act.at_tick), event: null })),
          ]),
        ]),
      ]);
    }
  }

  M.ActView = ActView;
})(globalThis.March);
