"use strict";
// Small pieces that several views use: toasts, the dialog, fact lists, an owner's chip, notices.
(function (M) {
  const { el } = M;

  /** A line at the bottom that goes by itself. */
  M.toast = function (text, kind) {
    const box = M.get("toasts");
    const line = el(`div.toast${kind ? `.${kind}` : ""}`, {}, text);
    box.append(line);
    while (box.children.length > 4) box.firstChild.remove();
    setTimeout(() => line.remove(), kind === "bad" ? 9000 : 5000);
  };

  /** Tells a screen reader, and nobody else. */
  M.tell = (text) => M.say(M.get("told"), text);

  /** A failure as everybody shows it: what, what stayed, what next. */
  M.failure = function (error) {
    const refused = error instanceof M.Refused;
    return el("div.refusal", { role: "alert" }, [
      el("b", {}, refused ? error.code : "This page failed"),
      el("p", {}, error.message),
      refused && el("p.muted", {}, error.unchanged ? "Nothing was changed." : "It is not known whether anything was changed."),
      refused && error.hint && el("p", {}, el("code", {}, error.hint)),
    ]);
  };

  /** A list of facts: [[name, value], …]; a value may be an element. */
  M.facts = (pairs) =>
    el("dl.facts", {}, pairs.filter((pair) => pair && pair[1] !== undefined).map(([name, value]) => [
      el("dt", {}, name),
      el("dd", {}, value === null ? "–" : value),
    ]));

  /** The name of a process with its colour. */
  M.chip = function (model, name) {
    const chip = el("span.chip", {}, [el("i", { "aria-hidden": "true" }), String(name ?? "nobody")]);
    chip.firstChild.style.setProperty("background", model.colourOf(name));
    return chip;
  };

  M.button = (text, onclick, more) => el("button", { type: "button", onclick, ...more }, text);

  /** One of several: a row of buttons of which one is pressed. */
  M.choice = function (label, options, get, set) {
    const row = el("div.choice", { role: "group", "aria-label": label });
    const show = () =>
      [...row.children].forEach((button, i) => button.setAttribute("aria-pressed", String(options[i][0] === get())));
    for (const [value, text, title] of options) {
      row.append(M.button(text, () => {
        set(value);
        show();
      }, { title }));
    }
    row.show = show;
    show();
    return row;
  };

  let ended = null;

  /** Shows the dialog with this content; `onEnd` is called once when it closes. */
  M.openDialog = function (title, content, onEnd) {
    const dialog = M.get("dialog");
    if (dialog.open) dialog.close();
    M.put(dialog, el("header", {}, [
      el("h2", { id: "dialog-title" }, title),
      M.button("✕", () => dialog.close(), { class: "icon", "aria-label": "Close" }),
    ]), content);
    dialog.setAttribute("aria-labelledby", "dialog-title");
    ended = onEnd || null;
    dialog.onclose = () => {
      const f = ended;
      ended = null;
      if (f) f();
    };
    dialog.onclick = (event) => {
      if (event.target === dialog) dialog.close();
    };
    dialog.showModal();
    const first = dialog.querySelector("[data-first]");
    if (first) first.focus();
    return dialog;
  };
  M.closeDialog = () => M.get("dialog").open && M.get("dialog").close();

  /** Copies text; pages from a disk may not, and then say so. */
  M.copy = async function (text, what) {
    try {
      await navigator.clipboard.writeText(text);
      M.toast(`${what} copied`);
    } catch {
      M.openDialog(what, el("div.body", {}, [
        el("p.muted", {}, "The browser does not let this page copy; here it is:"),
        el("textarea", { rows: 8, readonly: true, "data-first": true, "aria-label": what, value: text }),
      ]));
    }
  };

  /** Offers text as a file. */
  M.saveAs = function (name, text, type) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    el("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  };
})(globalThis.March);
