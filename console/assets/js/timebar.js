"use strict";
// The bar of time under World and Order: what happened when, where the picture stands, and the
// switches for live, pause and pace.
(function (M) {
  const { el, words } = M;
  const RATES = [[1, "1×"], [0.25, "¼×"], [0.1, "⅒×"]];

  class Timebar {
    constructor(app) {
      this.app = app;
      this.rate = 1;
      this.root = M.get("timebar");
      this.range = el("input", {
        type: "range", min: 0, max: 1, step: 1, "aria-label": "Tick",
        oninput: () => this.seek(Number(this.range.value)),
      });
      this.canvas = el("canvas", { "aria-hidden": "true" });
      this.play = M.button("", () => this.toggle(), { class: "icon", "aria-label": "Pause" });
      this.liveButton = M.button("Live", () => this.goLive(), { class: "live", "aria-pressed": "true" });
      this.text = el("output", { "aria-live": "off" });
      this.rates = M.choice("Pace", RATES, () => this.rate, (rate) => {
        this.rate = rate;
        this.app.model.clock.play(rate);
      });
      this.rates.classList.add("rates");
      M.put(this.root, this.play, el("div.track", {}, [this.canvas, this.range]), this.text, this.rates, this.liveButton);
      app.model.on("hello", () => this.update(true));
      M.theme.onChange(() => (this.drawn = ""));
    }

    get clock() {
      return this.app.model.clock;
    }

    toggle() {
      if (this.clock.mode === "paused") {
        if (this.clock.t >= this.app.model.lastTick() - 1) {
          if (this.app.model.live()) return this.goLive();
          this.clock.t = this.app.model.firstTick();
        }
        this.clock.play(this.rate);
      } else this.clock.pause();
      this.app.timeChanged();
      return this.update(true);
    }

    goLive() {
      if (!this.app.model.live()) return;
      this.clock.live();
      this.app.timeChanged();
      this.update(true);
    }

    seek(tick) {
      this.clock.seek(tick);
      this.app.timeChanged();
      this.update(true);
    }

    /** Called with every drawn frame; does something a few times a second. */
    update(now) {
      const time = performance.now();
      if (now !== true && time - (this.updated || 0) < 100) return;
      this.updated = time;
      const { model } = this.app;
      const [first, last] = [Math.floor(model.firstTick()), Math.floor(model.lastTick())];
      const at = Math.floor(Number.isFinite(this.clock.t) ? this.clock.t : last);
      this.range.min = first;
      this.range.max = Math.max(first + 1, last);
      if (document.activeElement !== this.range || this.clock.mode !== "paused") this.range.value = at;
      this.range.setAttribute("aria-valuetext", `tick ${at}`);
      const behind = (last - at) * model.stepMs;
      M.say(this.text, `${words.count(at)}${model.live() && this.clock.mode !== "live" ? `  −${words.age(behind)}` : ""}`);
      const paused = this.clock.mode === "paused";
      this.play.className = `icon ${paused ? "play" : "pause"}`;
      this.play.setAttribute("aria-label", paused ? "Play" : "Pause");
      this.liveButton.hidden = !model.live();
      this.liveButton.setAttribute("aria-pressed", String(this.clock.mode === "live"));
      this.draw(first, last, at);
    }

    draw(first, last, at) {
      const { canvas } = this;
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      const key = `${first}/${last}/${at}/${width}`;
      if (!width || key === this.drawn) return;
      this.drawn = key;
      const ratio = devicePixelRatio || 1;
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      const ctx = canvas.getContext("2d");
      ctx.scale(ratio, ratio);
      const x = (tick) => ((tick - first) / Math.max(1, last - first)) * width;
      const bins = new Float32Array(Math.ceil(width / 3) + 1);
      const bad = new Uint8Array(bins.length);
      const bin = (tick) => M.clamp(Math.floor(x(tick) / 3), 0, bins.length - 1);
      const { model } = this.app;
      for (const move of model.history.moves) if (move.tick >= first) bins[bin(move.tick)]++;
      for (const event of model.events) if (event.anomaly && event.tick >= first) bad[bin(event.tick)] = 1;
      ctx.fillStyle = M.theme.colour("--line-strong");
      const most = Math.max(1, ...bins);
      bins.forEach((n, i) => n && ctx.fillRect(i * 3, height - 3 - (n / most) * (height - 10), 2, (n / most) * (height - 10)));
      ctx.fillStyle = M.theme.colour("--line");
      ctx.fillRect(0, height - 2, width, 2);
      ctx.fillStyle = M.theme.colour("--bad");
      bad.forEach((is, i) => is && ctx.fillRect(i * 3, 1, 2, 4));
      ctx.fillStyle = M.theme.colour("--muted");
      for (const gap of model.gaps) if (gap.to >= first) ctx.fillRect(x(gap.from), height - 2, Math.max(2, x(gap.to + 1) - x(gap.from)), 2);
      ctx.fillStyle = M.theme.colour("--accent");
      ctx.fillRect(M.clamp(x(at) - 1, 0, width - 2), 0, 2, height);
    }
  }

  M.Timebar = Timebar;
})(globalThis.March);
