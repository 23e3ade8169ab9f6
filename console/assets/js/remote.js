"use strict";
// Questions to the server that served this page. Every failure becomes one shape: what happened,
// whether anything changed, what to do next.
(function (M) {
  const PATIENCE_MS = 20000;
  const ROUNDS_MAX = 8;

  class Refused extends Error {
    constructor(status, error) {
      super(error.message || `the server answered ${status}`);
      this.status = status;
      this.code = error.code || `HTTP ${status}`;
      this.unchanged = error.unchanged !== false;
      this.hint = error.hint || "";
    }
  }
  M.Refused = Refused;

  /** Builds a query, leaving out what is not set. Pure. */
  M.query = function (path, parameters) {
    const parts = Object.entries(parameters || {})
      .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
      .map(([key, value]) => `${key}=${encodeURIComponent(value === true ? 1 : value)}`);
    return parts.length ? `${path}?${parts.join("&")}` : path;
  };

  async function ask(path, options) {
    let answer;
    try {
      answer = await fetch(path, { ...options, signal: AbortSignal.timeout(PATIENCE_MS) });
    } catch (error) {
      const late = error.name === "TimeoutError";
      throw new Refused(0, {
        code: late ? "TIMEOUT" : "UNREACHABLE",
        message: late ? "the console did not answer in time" : "the console cannot be reached",
        unchanged: !(options && options.method === "POST"),
        hint: "the page connects again by itself; is `march manager` still running?",
      });
    }
    if (answer.ok) return answer;
    let error = {};
    try {
      error = (await answer.json()).error || {};
    } catch {
      /* no JSON: the status is all there is */
    }
    throw new Refused(answer.status, error);
  }

  class Remote {
    constructor() {
      this.token = "";
    }

    async json(path, parameters) {
      return (await ask(M.query(path, parameters))).json();
    }

    /** Pages end at a limit or after some time; what was cut by time is asked for again. */
    async events(filter) {
      const page = await this.json("/api/events", filter);
      for (let round = 0; round < ROUNDS_MAX && page.more && page.next; round++) {
        const room = (filter.limit || 2000) - page.events.length;
        if (room <= 0) break;
        const next = await this.json("/api/events", { ...filter, limit: room, after: page.next });
        page.events.push(...next.events);
        page.gaps.push(...(next.gaps || []));
        [page.more, page.next] = [next.more, next.next];
      }
      return page;
    }

    past = (event, limit) => this.json("/api/past", { event, limit });
    explain = (a, b) => this.json("/api/explain", { a, b });
    ownership = (entity, from, to) => this.json("/api/ownership", { entity, from, to });
    passport = (entity) => this.json(`/api/entity/${encodeURIComponent(entity)}`);
    world = (tick) => this.json("/api/world", { tick: Math.round(tick) });
    check = () => this.json("/api/check");
    acts = () => this.json("/api/acts");
    script = async () => (await ask("/api/acts.sh")).text();

    async act(what, body) {
      const headers = { "Content-Type": "application/json", "X-March-Act": "1" };
      if (this.token) headers.Authorization = `Bearer ${this.token}`;
      const answer = await ask(`/api/acts/${what}`, { method: "POST", headers, body: JSON.stringify(body) });
      return answer.json();
    }
  }

  M.Remote = Remote;
})(globalThis.March);
