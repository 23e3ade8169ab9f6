"use strict";
// The card of one ordered handoff: first what would happen, then, once confirmed, the five steps of
// the protocol as their events come in, and what it cost.
(function (M) {
  const { el, words } = M;
  const PAUSE_MS = 400;

  class HandoffCard {
    /** `to` may be null: then it is chosen on the card. `onEnd` is called when it is closed. */
    constructor(app, entity, to, onEnd) {
      this.app = app;
      this.entity = String(entity);
      this.to = to;
      this.onEnd = onEnd;
      this.hard = false;
      this.hold = 200;
      this.asked = 0;
      this.seen = new Map();
      this.body = el("div.body");
      this.root = el("section.card.handoff", { "aria-label": `Move entity ${this.entity}` }, [
        el("header", {}, [
          el("h2", {}, ["Move ", el("code", {}, this.entity)]),
          M.button("✕", () => this.close(), { class: "icon", "aria-label": "Close" }),
        ]),
        this.body,
      ]);
      this.root.addEventListener("keydown", (event) => {
        if (event.key === "Escape") this.close();
      });
      this.off = [
        app.model.on("events", (events) => this.heard(events)),
        app.model.on("act", (act) => this.told(act)),
      ];
      if (to) this.ask();
      else this.choose();
    }

    close() {
      this.off.forEach((f) => f());
      clearInterval(this.timer);
      this.root.remove();
      if (this.onEnd) this.onEnd();
    }

    destinations() {
      return M.choice(
        "Destination",
        this.app.model.cellapps().map((process) => [process.name, process.name]),
        () => this.to,
        (name) => {
          this.to = name;
          this.ask();
        },
      );
    }

    choose() {
      M.put(this.body, el("p", {}, "To which cellapp?"), this.destinations());
      setTimeout(() => this.body.querySelector("button")?.focus());
    }

    async ask() {
      const asked = ++this.asked;
      M.put(this.body, this.destinations(), el("p.muted", { role: "status" }, "Asking what would happen…"));
      try {
        const facts = await this.app.source.act("handoff", { entity: this.entity, to: this.to, hold: this.hold, dry_run: true });
        if (asked === this.asked) this.show(facts);
      } catch (error) {
        if (asked === this.asked) M.put(this.body, this.destinations(), M.failure(error));
      }
    }

    show(facts) {
      this.dry = facts;
      const { model } = this.app;
      const route = el("p.route", {}, [
        M.chip(model, facts.from), ` epoch ${facts.epoch} `, el("span", { "aria-label": "to" }, "→"), " ",
        M.chip(model, facts.to), ` epoch ${facts.to_epoch ?? "–"}`,
      ]);
      if (facts.refusal) {
        M.put(this.body, this.destinations(), route, el("div.refusal", { role: "alert" }, [
          el("b", {}, "It would be refused"),
          el("p", {}, facts.refusal),
          el("p.muted", {}, `Nothing was changed: ${facts.from} stays the owner, epoch ${facts.epoch}.`),
        ]));
        M.tell(`Refused: ${facts.refusal}`);
        return;
      }
      const load = facts.destination_load_percent;
      const confirm = M.button("Move it", () => this.go(), { class: "primary" });
      this.prediction = el("p.muted.small", { role: "status" });
      M.put(this.body,
        this.destinations(),
        route,
        M.facts([
          ["What moves", [words.bytes(facts.state_bytes), facts.timers !== undefined && facts.timers !== null ? `, ${facts.timers} timer${facts.timers === 1 ? "" : "s"}` : ""]],
          ["Ghosts now at", facts.ghosts && facts.ghosts.length ? facts.ghosts.join(", ") : "nowhere"],
          ["Watched by", facts.witness || "no client"],
          ["Expected gap", `${words.ticks(facts.expected_gap_ticks)}${facts.expected_gap_ticks === 1 ? ": no tick is missed" : ""}`],
          ["Load there", load === null || load === undefined ? "–" : `${load} %`],
        ]),
        el("label.row", {}, ["Stays there for ", el("input", {
          type: "number", min: 0, max: 100000, value: this.hold, class: "short",
          onchange: (event) => (this.hold = M.clamp(Number(event.target.value) || 0, 0, 100000)),
        }), " ticks"]),
        el("label.check", {}, [el("input", {
          type: "checkbox", checked: this.hard,
          onchange: (event) => {
            this.hard = event.target.checked;
            this.predict();
          },
        }), ` Make it hard: pause ${facts.to} for ${PAUSE_MS} ms meanwhile`]),
        this.prediction,
        el("div.actions", {}, [confirm, M.button("Cancel", () => this.close())]),
      );
      this.predict();
      M.tell(`Would move ${this.entity} from ${facts.from} to ${facts.to}. Expected gap ${words.ticks(facts.expected_gap_ticks)}.`);
      confirm.focus({ preventScroll: true });
    }

    predict() {
      const more = Math.ceil(PAUSE_MS / this.app.model.stepMs);
      M.say(this.prediction, this.hard
        ? `Predicted: the grant waits until ${this.to} runs again, so the gap is about ${words.ticks(more + 1)}; one owner throughout, nothing lost.`
        : "");
    }

    async go() {
      const body = { entity: this.entity, to: this.to, hold: this.hold, dry_run: false };
      M.put(this.body, el("p.muted", { role: "status" }, "Ordering…"));
      this.from = this.app.model.lastTick() - 1;
      try {
        if (this.hard) await this.app.source.act("pause", { name: this.to, for_ms: PAUSE_MS });
        this.act = (await this.app.source.act("handoff", body)).act;
      } catch (error) {
        M.put(this.body, M.failure(error), el("div.actions", {}, M.button("Ask again", () => this.ask())));
        return;
      }
      this.steps = el("ol.steps");
      this.sum = el("div.sum", { role: "status" });
      M.put(this.body, this.steps, this.sum);
      this.draw();
      // The feed tells it first; asking as well finds what the feed had to leave out.
      this.timer = setInterval(() => this.look(), 400);
      const known = this.app.model.acts.get(this.act);
      if (known) this.told(known);
    }

    async look() {
      if (document.hidden) return;
      this.looks = (this.looks || 0) + 1;
      try {
        const found = await this.app.source.events({ entity: this.entity, from: this.from, limit: 2000 });
        this.heard(found.events.map((event) => this.app.model.normal(event)));
      } catch {
        /* the next look may do better */
      }
      if (this.over || this.looks > 60) clearInterval(this.timer);
    }

    heard(events) {
      if (!this.steps) return;
      let news = false;
      for (const event of events) {
        if (event.entity !== this.entity || event.tick < this.from || this.seen.has(event.id)) continue;
        if (this.seen.size < 5000) this.seen.set(event.id, event);
        news = true;
      }
      if (news) this.draw();
    }

    told(act) {
      if (act.id !== this.act) return;
      this.done = act;
      this.draw();
    }

    draw() {
      if (!this.steps) return;
      const found = M.handoffOf([...this.seen.values()], this.entity, this.from);
      this.over = found.state === "refused" || found.steps.every(Boolean) || (this.done && this.done.state === "failed");
      M.put(this.steps, M.HANDOFF_STEPS.map(([, name, what], i) => {
        const event = found.steps[i];
        const next = !event && found.state !== "refused" && (i === 0 || found.steps[i - 1]);
        return el(`li.${event ? "lit" : next ? "next" : "dark"}`, {}, [
          el("span.lamp", { "aria-hidden": "true" }),
          el("b", {}, name),
          event
            ? el("button.link", { type: "button", onclick: () => this.app.showEvent(event) }, `${event.process}, tick ${event.tick}`)
            : el("span.muted", {}, next ? "waiting" : ""),
          el("small.muted", {}, what),
        ]);
      }));
      M.put(this.sum, this.summary(found));
    }

    summary(found) {
      const { app } = this;
      const failed = found.state === "refused" || (this.done && this.done.state === "failed");
      if (failed) {
        const event = found.refused;
        const why = event ? event.text : words.value(this.done && this.done.result && (this.done.result.error ?? this.done.result));
        M.tell(`The handoff was refused: ${why}`);
        return el("div.refusal", {}, [el("b", {}, "Refused"), el("p", {}, why), el("p.muted", {}, `${this.dry.from} goes on, epoch ${this.dry.epoch}; nothing was lost.`)]);
      }
      if (found.state !== "done") return null;
      const digest = found.digestsEqual === null ? "not told" : found.digestsEqual ? "equal before and after" : "DIFFERENT";
      M.tell(`Done: ${found.to} owns ${this.entity}, gap ${words.ticks(found.gap)}.`);
      return [
        M.facts([
          ["Owner now", [M.chip(app.model, found.to), ` epoch ${found.newEpoch}`]],
          ["Gap", `${words.ticks(found.gap)}${found.gap === 1 ? ": no tick missed" : ""}`],
          ["State", `digest ${digest}`],
          ["Came meanwhile", found.meanwhile ? `${words.count(found.meanwhile.commands)} commands, ${words.count(found.meanwhile.refused)} refused` : undefined],
        ]),
        el("div.actions", {}, [
          M.button("See it in Order", () => app.showEvent(found.steps[1] || found.steps[0])),
          this.done && M.button("Copy command", () => M.copy(this.done.command, "Command")),
          M.button("Close", () => this.close()),
        ]),
      ];
    }
  }

  M.HandoffCard = HandoffCard;
})(globalThis.March);
