"use strict";
// The keyboard: everything that hands can do.
(function (M) {
  const { el } = M;
  const HELP = [
    ["Everywhere", [
      ["1 – 5", "World, Order, Passport, Cluster, Act"],
      ["/", "search: an entity's number, an event like cell-2:9911, or @tick"],
      ["Space", "pause, or go on"],
      ["L", "back to live"],
      [", .", "one tick back, one tick on"],
      ["T", "colours: as the system says, light, dark"],
      ["?", "this help"],
      ["Esc", "close, or select nothing"],
    ]],
    ["World", [
      ["← → ↑ ↓", "pan; with Shift further"],
      ["+ − 0", "zoom in, out, whole space"],
      ["[ ]", "select the real to the left, to the right"],
      ["F", "follow what is selected"],
      ["M", "move it to another cellapp"],
      ["drag", "a real over a border: asks first what would happen"],
    ]],
    ["Order", [
      ["← → ↑ ↓", "pan; with Shift further"],
      ["+ −", "zoom"],
      ["[ ]", "the event before, after"],
      ["A", "only anomalies, or all"],
      ["click", "lights what caused it, tints what follows"],
      ["Shift-click", "on a second event: the chain between them"],
    ]],
  ];

  M.showHelp = () =>
    M.openDialog("Keys", el("div.body.help", {}, HELP.map(([title, keys]) => el("section", {}, [
      el("h3", {}, title),
      el("dl.keys", {}, keys.map(([key, what]) => [el("dt", {}, key.split(" ").map((one) => (/^(–)$/.test(one) ? one : el("kbd", {}, one)))), el("dd", {}, what)])),
    ]))));

  /** Whether the key belongs to what has the focus. */
  function isTyping(target) {
    if (!(target instanceof Element)) return false;
    if (target.matches("input[type=range]")) return false;
    return target.matches("input, select, textarea") || target.isContentEditable;
  }

  function presses(target) {
    return target instanceof Element && target.matches("button, summary, a, input[type=checkbox], [role=region], pre");
  }

  M.startKeys = function (app) {
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (M.get("dialog").open) return;
      if (isTyping(event.target)) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      if ((event.key === " " || event.key === "Enter") && presses(event.target)) return;
      const slides = event.target instanceof Element && event.target.matches("input[type=range]") && event.key.startsWith("Arrow");
      const scrolls = event.target instanceof Element && event.target.matches("[role=region], pre") && event.key.startsWith("Arrow");
      if (slides || scrolls) return;
      if (everywhere(app, event) || (app.view && app.view.key && app.view.key(event))) event.preventDefault();
    });
  };

  function everywhere(app, event) {
    const { key } = event;
    if (key >= "1" && key <= "5") app.go(app.address.VIEWS[Number(key) - 1]);
    else if (key === "/") M.get("search-field").focus();
    else if (key === "?") M.showHelp();
    else if (key === "t" || key === "T") app.nextTheme();
    else if (key === "l" || key === "L") app.timebar.goLive();
    else if (key === " " && app.hasTime()) app.timebar.toggle();
    else if ((key === "," || key === ".") && app.hasTime()) app.timebar.seek(Math.round(app.model.clock.t) + (key === "." ? 1 : -1));
    else return false;
    return true;
  }
})(globalThis.March);
