"use strict";
// The one name that all scripts share, and how they make elements. Whatever comes from a server
// becomes text, never markup: nothing here or elsewhere sets innerHTML.
globalThis.March = globalThis.March || {};

(function (M) {
  /** Makes an element: `el("button.primary", { type: "button", onclick: f }, "text", child)`. */
  M.el = function (what, attributes, ...children) {
    const [tag, ...classes] = what.split(".");
    const element = document.createElement(tag);
    if (classes.length) element.className = classes.join(" ");
    for (const [name, value] of Object.entries(attributes || {})) set(element, name, value);
    M.fill(element, children);
    return element;
  };

  function set(element, name, value) {
    if (value === null || value === undefined || value === false) return;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.entries(value).forEach(([k, v]) => element.style.setProperty(k, v));
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }

  /** Adds children: elements, lists of them, and anything else as text. */
  M.fill = function (element, children) {
    for (const child of [children].flat(9)) {
      if (child === null || child === undefined || child === false) continue;
      element.append(child instanceof Node ? child : String(child));
    }
    return element;
  };

  /** Replaces all children. */
  M.put = function (element, ...children) {
    element.replaceChildren();
    return M.fill(element, children);
  };

  /** Sets text only where it differs, so that what did not change is not laid out again. */
  M.say = function (element, text) {
    const string = String(text);
    if (element.textContent !== string) element.textContent = string;
  };

  M.get = (id) => document.getElementById(id);

  /** A bus: `on` gives a function that ends it. */
  M.bus = function () {
    const listeners = new Map();
    return {
      on(name, f) {
        if (!listeners.has(name)) listeners.set(name, new Set());
        listeners.get(name).add(f);
        return () => listeners.get(name).delete(f);
      },
      emit(name, value) {
        for (const f of listeners.get(name) || []) f(value);
      },
    };
  };

  M.clamp = (value, low, high) => Math.min(high, Math.max(low, value));

  /** Calls `f` at most once every `ms`, and once more at the end if it was asked for meanwhile. */
  M.calm = function (ms, f) {
    let timer = 0;
    let again = false;
    const run = () => {
      again = false;
      f();
      timer = setTimeout(() => {
        timer = 0;
        if (again) run();
      }, ms);
    };
    return () => {
      if (timer) again = true;
      else run();
    };
  };
})(globalThis.March);
