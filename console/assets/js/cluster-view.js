"use strict";
// The Cluster view: who is there, how they feel, who hears whom, what the store says.
(function (M) {
  const { el, words } = M;
  const GOOD = ["serving", "leading", "standby"];
  const TONE = { draining: "warn", drained: "warn", unreachable: "bad", dead: "bad" };

  class ClusterView {
    constructor(app) {
      this.app = app;
      this.root = M.get("view-cluster");
      app.model.on("cluster", () => this.visible && this.update());
      setInterval(() => this.visible && this.age(), 250);
    }

    enter() {
      this.update();
    }

    update() {
      const frame = this.app.model.cluster;
      if (!frame) {
        M.put(this.root, el("p.muted.empty", {}, this.app.model.live() ? "Waiting for the first report…" : "A recording holds no state of the cluster; World, Order and Passport show what it does hold."));
        return;
      }
      const left = this.root.scrollTop;
      const open = this.openCounters();
      M.put(this.root,
        el("div.stack", {}, [
          this.overview(frame),
          el("section", {}, [el("h2", {}, "Processes"), el("div.grid", {}, frame.processes.map((process) => this.process(process, frame, open)))]),
          this.links(frame),
          this.verdicts(frame),
        ]),
      );
      this.root.scrollTop = left;
      this.age();
    }

    openCounters() {
      return new Set([...this.root.querySelectorAll("details[open]")].map((details) => details.dataset.of));
    }

    overview(frame) {
      const { store } = frame;
      const handoffs = this.app.model.history.moves.filter((move) => move.tick > frame.tick - 1000 / this.app.model.stepMs * 10).length;
      return el("section.overview", { "aria-label": "At a glance" }, [
        stat("Tick", words.count(frame.tick), `step ${words.age(this.app.model.stepMs)}`),
        stat("Processes", `${frame.processes.filter((one) => GOOD.includes(one.state)).length} of ${frame.processes.length}`, "serving"),
        stat("Reals", words.count(sum(frame.processes, "reals")), `${words.count(sum(frame.processes, "ghosts"))} ghosts`),
        stat("Sessions", words.count(sum(frame.processes, "sessions")), "clients"),
        stat("Handoffs", words.count(handoffs), "seen in the last 10 s"),
        store && stat("Store", store.ok ? "healthy" : "away", `revision ${words.count(store.revision)}`, store.ok ? "good" : "bad", store.age_ms),
      ]);
    }

    process(process, frame, open) {
      const tone = TONE[process.state] || (process.reasons && process.reasons.length ? "warn" : "good");
      const counters = Object.entries(process.counters || {});
      return el("article.card.process", { "data-name": process.name, "aria-label": process.name }, [
        el("header", {}, [
          el("h3", {}, M.chip(this.app.model, process.name)),
          el(`span.tag.${tone}`, {}, process.state),
          el("span.age.muted", { "data-age": process.age_ms }, ""),
        ]),
        (process.reasons || []).map((reason) => el("p.reason", {}, reason)),
        M.facts([
          ["Life", el("code", { title: process.incarnation }, words.short(process.incarnation))],
          ["Tick", [words.count(process.tick), lag(frame.tick - process.tick)]],
          ["Lease", process.lease_ms === null || process.lease_ms === undefined ? "none" : `${words.age(process.lease_ms)} left`],
          process.kind === "cellapp" && ["Reals, ghosts", `${words.count(process.reals)}, ${words.count(process.ghosts)}`],
          process.kind === "baseapp" && ["Entities", words.count(process.entities)],
          process.kind === "baseapp" && ["Sessions, slots", `${words.count(process.sessions)}, ${words.count(process.slots)}`],
        ]),
        process.budget && process.budget.phases && process.budget.phases.length > 0 && budget(process.budget),
        counters.length > 0 && el("details", { "data-of": process.name, open: open.has(process.name) }, [
          el("summary", {}, `${counters.length} counters`),
          M.facts(counters.map(([name, value]) => [name.replaceAll("_", " "), words.count(value)])),
        ]),
      ]);
    }

    links(frame) {
      const rows = frame.processes.flatMap((process) => (process.links || []).map((link) => ({ from: process.name, ...link })));
      if (!rows.length) return null;
      const names = [...new Set(rows.flatMap((row) => [row.from, row.peer]))];
      const at = new Map(rows.map((row) => [`${row.from}>${row.peer}`, row]));
      const cell = (from, to) => {
        const link = at.get(`${from}>${to}`);
        if (!link) return el("td.none", {}, from === to ? "" : "·");
        const tone = !link.up ? "bad" : link.stall_ms > 200 || link.queued > 64 ? "warn" : "good";
        const text = link.up ? `${link.queued} / ${link.unacked}` : "down";
        return el(`td.${tone}`, { title: `${from} to ${to}` }, [text, link.stall_ms > 0 && el("small", {}, ` ${words.age(link.stall_ms)}`)]);
      };
      return el("section", {}, [
        el("h2", {}, "Links"),
        el("p.muted.small", {}, "From each row to each column: bundles queued / sent and not yet acknowledged; then how long the oldest waits."),
        el("div.scroll", { tabindex: 0, role: "region", "aria-label": "Links" }, el("table.links", {}, [
          el("thead", {}, el("tr", {}, [el("td"), ...names.map((name) => el("th", { scope: "col" }, name))])),
          el("tbody", {}, names.map((from) => el("tr", {}, [el("th", { scope: "row" }, M.chip(this.app.model, from)), ...names.map((to) => cell(from, to))]))),
        ])),
      ]);
    }

    verdicts(frame) {
      const verdicts = frame.verdicts || [];
      return el("section", {}, [
        el("h2", {}, "Verdicts"),
        verdicts.length === 0
          ? el("p.muted", {}, "Nobody was given up.")
          : el("ol.history", {}, [...verdicts].reverse().map((verdict) => el("li", {}, [
              el("span.number.muted", {}, verdict.tick === null ? "–" : words.count(verdict.tick)),
              M.chip(this.app.model, verdict.name),
              el("span.tag.bad", {}, verdict.verdict),
              el("span", {}, verdict.why),
            ]))),
      ]);
    }

    /** Ages grow between two reports; what is old turns grey. */
    age() {
      const { model } = this.app;
      const since = performance.now() - model.clusterAt;
      const cut = model.live() && (model.link.state !== "open" || since > M.STALE_MS);
      this.root.classList.toggle("stale", Boolean(model.cluster) && cut);
      for (const element of this.root.querySelectorAll("[data-age]")) {
        const age = Number(element.dataset.age) + since;
        M.say(element, `${words.age(age)} ago`);
        const card = element.closest(".process");
        if (card) card.classList.toggle("stale", age > M.STALE_MS);
      }
    }
  }

  const sum = (list, name) => list.reduce((all, one) => all + (one[name] || 0), 0);

  function stat(name, value, more, tone, age) {
    return el("div.stat", {}, [
      el("span.muted", {}, name),
      el(`b${tone ? `.${tone}` : ""}`, {}, value),
      el("small.muted", {}, [more, age !== undefined && [", ", el("span", { "data-age": age }, "")]]),
    ]);
  }

  const lag = (ticks) => (ticks > 4 ? el("span.tag.warn", {}, `${words.count(ticks)} behind`) : null);

  const SCALES = [2, 5, 10, 20, 50, 100];

  /** The step as a bar: phases at their median, the 99th percentile as a mark. */
  function budget(budget) {
    const step = budget.step_us || 50000;
    const total = budget.total || [0, 0];
    const bar = el("div.budget", { role: "img", "aria-label": `Median ${words.micros(total[0])}, 99th percentile ${words.micros(total[1])}, of a step of ${words.micros(step)}` });
    // A step that is used to a tenth would be a sliver: the bar then is a part of it, and says so.
    const whole = SCALES.find((one) => total[1] <= (one / 100) * step) || 100;
    const scale = (whole / 100) * step;
    budget.phases.forEach(([name, p50], i) => {
      bar.append(el(`i.phase.p${i % 6}`, { title: `${name}: ${words.micros(p50)}`, style: { width: `${((p50 / scale) * 100).toFixed(2)}%` } }));
    });
    bar.append(el("i.p99", { style: { left: `${Math.min(100, (total[1] / scale) * 100).toFixed(2)}%` } }));
    const part = (total[1] / step) * 100;
    return el("div.budgets", {}, [
      el("div.row.between.small", {}, [
        el("span.muted", {}, ["Tick ", el("b", {}, words.micros(total[0])), " median, ", el("b", {}, words.micros(total[1])), " p99"]),
        el("span", { class: part > 80 ? "bad" : "muted" }, `${part < 10 ? part.toFixed(1) : Math.round(part)} %`),
      ]),
      bar,
      el("small.muted", {}, whole === 100 ? "the whole bar is the step" : `the whole bar is ${whole} % of the step`),
      el("ul.phases.small", {}, budget.phases.map(([name, p50, p99], i) => el("li", {}, [el(`i.phase.p${i % 6}`), `${name} `, el("span.muted", {}, `${words.micros(p50)} · ${words.micros(p99)}`)]))),
    ]);
  }

  M.ClusterView = ClusterView;
})(globalThis.March);
