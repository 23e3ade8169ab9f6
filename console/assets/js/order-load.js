"use strict";
// Which events the Order view holds: one span of ticks under one filter, fetched as a whole, or
// continued at its end while it follows the present. Bounded by the server's limit.
(function (M) {
  const LIMIT = 4000;

  class OrderLoad {
    constructor(app, changed) {
      this.app = app;
      this.changed = changed;
      this.clear();
    }

    clear() {
      this.from = NaN;
      this.to = NaN;
      this.key = "";
      this.events = [];
      this.gaps = [];
      this.spans = [];
      this.more = false;
      this.error = null;
      this.busy = false;
    }

    /** filter: { entity, process, kinds: [..]|null, anomalies } */
    async want(filter, from, to) {
      [from, to] = [Math.max(0, Math.floor(from)), Math.ceil(to)];
      const key = JSON.stringify(filter);
      this.next = { filter, from, to, key };
      if (this.busy) return;
      this.busy = true;
      while (this.next) {
        const next = this.next;
        this.next = null;
        if (next.key === this.key && next.from === this.from && next.to === this.to) break;
        await this.fetch(next);
      }
      this.busy = false;
    }

    async fetch({ filter, from, to, key }) {
      // The newest tick may not be told by everybody yet: some are asked for again.
      const goesOn = key === this.key && !this.more && from >= this.from && from <= this.to && to >= this.to;
      const start = goesOn ? Math.max(from, this.to - 4) : from;
      const { source } = this.app;
      try {
        const [found, ribbon] = await Promise.all([
          source.events({
            from: start,
            to,
            entity: filter.entity,
            process: filter.process,
            kind: filter.kinds ? filter.kinds.join(",") : null,
            anomalies: filter.anomalies,
            limit: LIMIT,
          }),
          filter.entity ? source.ownership(filter.entity, from, to) : { spans: [] },
        ]);
        const events = found.events.map((event) => this.app.model.normal(event));
        const known = new Set(events.map((event) => event.id));
        const kept = goesOn ? this.events.filter((event) => event.tick >= from && !known.has(event.id)) : [];
        this.events = kept.concat(events);
        this.more = found.more;
        this.gaps = mergeGaps(goesOn ? this.gaps : [], found.gaps || []).filter((gap) => gap.to >= from);
        this.spans = ribbon.spans || [];
        this.error = null;
      } catch (error) {
        this.error = error;
        if (!goesOn) this.events = [];
      }
      [this.from, this.to, this.key] = [from, to, key];
      this.changed();
    }
  }

  function mergeGaps(a, b) {
    const all = new Map();
    for (const gap of [...a, ...b]) all.set(`${gap.process}/${gap.from}`, gap);
    return [...all.values()].slice(-500);
  }

  /** What a reader must know of what is shown: { text, bad } or null. Pure. */
  M.orderNotice = function (load, gaps, stale) {
    if (load.error) return { text: `${load.error.message}. ${load.error.hint || ""}`.trim(), bad: true };
    if (load.more) {
      const last = load.events.at(-1);
      return { text: `Only the first ${M.words.count(load.events.length)} events of ticks ${load.from} to ${load.to} are shown, up to tick ${last ? last.tick : load.from}. Choose an entity, fewer kinds, or a shorter span to see all.`, bad: true };
    }
    if (gaps.length) {
      const lost = gaps.reduce((sum, gap) => sum + (gap.lost || 0), 0);
      const why = gaps.find((gap) => gap.why);
      return { text: `Hatched: ${gaps.length === 1 ? "a gap" : `${gaps.length} gaps`} in the data${lost ? `, ${M.words.count(lost)} events lost` : ""}${why ? ` (${why.why})` : ""}. What happened there cannot be known.`, bad: true };
    }
    if (stale) return { text: "No connection: this is what was known before.", bad: true };
    return null;
  };

  M.OrderLoad = OrderLoad;
})(globalThis.March);
