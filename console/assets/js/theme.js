"use strict";
// Light, dark, or as the system says; and the colours that canvases need, read from the stylesheet.
(function (M) {
  const ORDER = ["auto", "light", "dark"];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const changed = M.bus();
  let cache = null;

  function remembered() {
    try {
      return localStorage.getItem("march-theme");
    } catch {
      return null; // a page from a disk may not remember
    }
  }

  function apply(choice) {
    const root = document.documentElement;
    root.dataset.theme = choice === "auto" ? (dark.matches ? "dark" : "light") : choice;
    root.dataset.choice = choice;
    cache = null;
    changed.emit("theme");
  }

  let choice = ORDER.includes(remembered()) ? remembered() : "auto";

  M.theme = {
    start() {
      apply(choice);
      dark.addEventListener("change", () => apply(choice));
    },
    choice: () => choice,
    set(next) {
      choice = ORDER.includes(next) ? next : "auto";
      try {
        localStorage.setItem("march-theme", choice);
      } catch {
        /* it then holds until the page is closed */
      }
      apply(choice);
    },
    next: () => M.theme.set(ORDER[(ORDER.indexOf(choice) + 1) % ORDER.length]),
    onChange: (f) => changed.on("theme", f),
    /** Whether motion is unwelcome. */
    still: () => still.matches,
    /** The value of a custom property. */
    colour(name) {
      if (!cache) cache = { style: getComputedStyle(document.documentElement), known: new Map() };
      if (!cache.known.has(name)) cache.known.set(name, cache.style.getPropertyValue(name).trim());
      return cache.known.get(name);
    },
    /** The colour of a process: cellapps have their own, everybody else is grey. */
    ofProcess(process) {
      if (!process || process.kind !== "cellapp") return M.theme.colour("--base");
      return M.theme.colour(`--owner-${process.colour % 8}`);
    },
  };
})(globalThis.March);
