"use strict";
// The address is the state: `#view=order&tick=1202&entity=42&event=cell-2:9911`. Reading and writing
// are pure; `M.address` binds them to the window.
(function (M) {
  const VIEWS = ["world", "order", "passport", "cluster", "act"];
  const KEYS = ["view", "tick", "entity", "event", "space", "process", "groups", "anomalies", "by"];

  /** Reads a fragment; what it does not know, or cannot be, is left out. */
  M.parseAddress = function (hash) {
    const found = {};
    for (const part of String(hash).replace(/^#/, "").split("&")) {
      const at = part.indexOf("=");
      const key = at < 0 ? part : part.slice(0, at);
      if (!KEYS.includes(key) || at < 0) continue;
      let value;
      try {
        value = decodeURIComponent(part.slice(at + 1).replaceAll("+", " "));
      } catch {
        continue;
      }
      if (value && value.length <= 200) found[key] = value;
    }
    if (found.tick && !/^\d{1,15}$/.test(found.tick)) delete found.tick;
    if (found.entity && !/^\d{1,20}$/.test(found.entity)) delete found.entity;
    if (!VIEWS.includes(found.view)) found.view = found.event ? "order" : "world";
    return found;
  };

  /** Writes it, always in the same order of keys. */
  M.writeAddress = function (state) {
    const parts = KEYS.filter((key) => state[key] !== undefined && state[key] !== null && state[key] !== "");
    const plain = (text) => encodeURIComponent(text).replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%40", "@");
    return `#${parts.map((key) => `${key}=${plain(String(state[key]))}`).join("&")}`;
  };

  const bus = M.bus();
  let state = { view: "world" };

  M.address = {
    VIEWS,
    start() {
      state = M.parseAddress(location.hash);
      addEventListener("hashchange", () => {
        state = M.parseAddress(location.hash);
        bus.emit("change", state);
      });
    },
    get: () => state,
    onChange: (f) => bus.on("change", f),
    /** Merges into the address; `null` removes. A new view is a step of the history, the rest is not. */
    set(more, silent) {
      const next = { ...state, ...more };
      Object.keys(next).forEach((key) => next[key] === null && delete next[key]);
      const hash = M.writeAddress(next);
      const push = next.view !== state.view;
      if (hash === M.writeAddress(state)) return;
      state = next;
      history[push ? "pushState" : "replaceState"](null, "", hash);
      if (!silent) bus.emit("change", state);
    },
    link: (more) => location.href.split("#")[0] + M.writeAddress({ ...state, ...more }),
  };
})(globalThis.March);
