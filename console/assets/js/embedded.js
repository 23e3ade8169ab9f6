"use strict";
// The same questions, answered from data inside the page: an exported timeline needs no server.
(function (M) {
  /**
   * One spelling for every teller: kinds in capitals (`owner_changed` is `OwnerChanged`), and a
   * cellapp's only moment is its step: half a step before the moments of bases of that tick. Pure.
   */
  M.normalEvent = function (event, atCellapp) {
    const plain = event.kind === "sent" || event.kind === "received";
    const kind = plain ? event.kind : event.kind.replace(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());
    const moment = atCellapp && event.moment === "flush" ? "step" : event.moment;
    return kind === event.kind && moment === event.moment ? event : { ...event, kind, moment };
  };

  /** Ownership of one entity, from its own events. Pure. */
  M.ownershipOf = function (events, entity) {
    const spans = [];
    const open = new Map();
    const end = (process, tick) => {
      const span = open.get(process);
      if (span) span.to = tick;
      open.delete(process);
    };
    for (const event of events) {
      if (event.entity !== entity) continue;
      const fields = event.fields || {};
      const epoch = event.epoch ?? fields.epoch ?? 0;
      if (event.kind === "Activated" || event.kind === "Unfrozen" || event.kind === "Stepped") {
        const span = open.get(event.process);
        if (span && span.epoch === epoch) continue;
        end(event.process, event.tick);
        const next = { process: event.process, incarnation: event.incarnation, epoch, from: event.tick, to: null };
        open.set(event.process, next);
        spans.push(next);
      } else if (event.kind === "Frozen" || event.kind === "Deactivated") {
        end(event.process, event.tick);
      }
    }
    return spans;
  };

  const HISTORY = ["Created", "Activated", "Frozen", "Unfrozen", "OwnerChanged", "FirstStep", "Deactivated", "HandoffRefused", "Destroyed"];

  const none = (message, hint) => new M.Refused(404, { code: "NOT-HERE", message, hint });

  class Embedded {
    constructor(data) {
      this.data = data;
      const cells = ((data.hello && data.hello.processes) || []).filter((one) => one.kind === "cellapp");
      const names = new Set(cells.map((one) => one.name));
      this.all = (data.events || []).map((event) => M.normalEvent(event, names.has(event.process))).sort(M.compareEvents);
      this.byId = new Map(this.all.map((event) => [event.id, event]));
      // The file tells which events of other processes were news to an event, by their places in it.
      const idAt = (place) => data.events[place].id;
      const news = (data.edges || []).map(([from, to, via]) => [idAt(from), idAt(to), via]);
      this.edges = M.edgesOf(this.all).concat(news);
      this.gaps = data.gaps || [];
    }

    static find() {
      const element = document.getElementById("march-data");
      return element ? new Embedded(JSON.parse(element.textContent)) : null;
    }

    async events(filter) {
      const kinds = filter.kind ? new Set(String(filter.kind).split(",")) : null;
      const fits = (event) =>
        event.tick >= (filter.from ?? -Infinity) &&
        event.tick <= (filter.to ?? Infinity) &&
        (!filter.entity || event.entity === filter.entity || event.other === filter.entity) &&
        (!filter.process || event.process === filter.process) &&
        (!filter.anomalies || event.anomaly) &&
        (!kinds || kinds.has(event.kind) || event.anomaly);
      const found = this.all.filter(fits);
      const limit = filter.limit || 2000;
      return { events: found.slice(0, limit), more: found.length > limit, gaps: this.gaps };
    }

    async past(event, limit) {
      if (!this.byId.has(event)) throw none(`the event ${event} is not in this file`, "export a longer span");
      return { root: this.byId.get(event), ...M.pastAndFuture(event, this.edges, limit || 500) };
    }

    async explain(a, b) {
      for (const id of [a, b]) if (!this.byId.has(id)) throw none(`the event ${id} is not in this file`, "");
      const there = M.chain(a, b, this.edges);
      const back = there ? null : M.chain(b, a, this.edges);
      const path = there || back || [];
      const first = there ? a : b;
      const hops = [{ event: this.byId.get(first), via: "", rule: "", ticks: 0 }];
      for (const [from, to, via] of path) {
        const [x, y] = [this.byId.get(from), this.byId.get(to)];
        hops.push({ event: y, via: String(via).split(":")[0], rule: "", ticks: y.tick - x.tick });
      }
      return { relation: there ? "before" : back ? "after" : "concurrent", hops: path.length ? hops : [] };
    }

    async ownership(entity) {
      return { spans: M.ownershipOf(this.all, entity) };
    }

    async passport(entity) {
      const own = this.all.filter((event) => event.entity === entity);
      if (!own.length) throw none(`nothing in this file is about entity ${entity}`, "export a longer span");
      const rows = new Map();
      const last = this.all.at(-1).tick;
      for (const event of own) {
        const fields = event.fields || {};
        const role = { Stepped: "real", Activated: "real", Unfrozen: "real", GhostApplied: "ghost", Deactivated: "none", GhostEnded: "none", Accepted: "base", OwnerChanged: "base", FirstStep: "base" }[event.kind];
        if (!role) continue;
        rows.set(event.process, {
          process: event.process,
          incarnation: event.incarnation,
          role,
          epoch: event.epoch ?? fields.epoch ?? null,
          seq: event.seq ?? fields.seq ?? null,
          tick: event.tick,
          age_ticks: last - event.tick,
          digest: fields.digest ?? null,
          fields: {},
        });
      }
      const history = own.filter((event) => HISTORY.includes(event.kind)).slice(-200);
      return { entity, kind: null, base: null, rows: [...rows.values()], differs: [], history };
    }

    async world(tick) {
      const best = new Map();
      for (const frame of this.data.worlds || []) {
        const key = `${frame.process}/${frame.space}`;
        if (frame.tick <= tick || !best.has(key)) best.set(key, frame);
      }
      return { tick, worlds: [...best.values()] };
    }

    async check() {
      if (!this.data.check) throw none("this file was exported without its audit", "march audit DIR");
      return this.data.check;
    }

    async acts() {
      return { acts: this.data.acts || [] };
    }

    async script() {
      return ["#!/bin/sh", "set -e", ...(this.data.acts || []).map((act) => act.command), ""].join("\n");
    }

    async act() {
      throw new M.Refused(405, { code: "RECORDED", message: "this page shows a recording", hint: "start `march demo` and act there" });
    }
  }

  M.Embedded = Embedded;
})(globalThis.March);
