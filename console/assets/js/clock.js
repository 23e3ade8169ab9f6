"use strict";
// Which moment the pages show. Live, it runs a little behind the newest picture, so that there is
// always one to move towards; scrubbed, it stands; played, it runs at a rate. Pure but for `now`,
// which is passed in.
(function (M) {
  /** More than this behind, it jumps instead of hurrying. */
  const JUMP_TICKS = 12;
  const DELAY_TICKS = [1.5, 14];

  class Clock {
    constructor(stepMs) {
      this.stepMs = stepMs;
      this.mode = "live"; // live | paused | play
      this.rate = 1;
      this.t = NaN;
      this.offsets = []; // [now, offset]
      this.lags = []; // [now, lag]
      this.newest = new Map();
      this.at = NaN;
    }

    /** A picture of a process came. */
    heard(process, tick, ageMs, now) {
      const ticks = now / this.stepMs;
      this.offsets.push([now, tick + (ageMs || 0) / this.stepMs - ticks]);
      const before = this.newest.get(process);
      if (before !== undefined) {
        const lag = ticks + this.offset() - before;
        if (lag < 20) this.lags.push([now, lag]);
      }
      this.newest.set(process, tick);
      for (const list of [this.offsets, this.lags]) {
        while (list.length > 2 && (list[0][0] < now - 3000 || list.length > 400)) list.shift();
      }
      if (!Number.isFinite(this.t)) this.t = tick;
    }

    offset() {
      let most = -Infinity;
      for (const [, offset] of this.offsets) if (offset > most) most = offset;
      return most;
    }

    /** How far behind the cluster's present the picture is, in ticks. */
    delay() {
      let most = 0;
      for (const [, lag] of this.lags) if (lag > most) most = lag;
      return M.clamp(most + 0.25, ...DELAY_TICKS);
    }

    /** The tick that the cluster is likely in. */
    present(now) {
      return this.offsets.length ? now / this.stepMs + this.offset() : this.t;
    }

    /** Goes on to `now`, inside what there is. */
    advance(now, first, last) {
      const gone = Number.isFinite(this.at) ? M.clamp(now - this.at, 0, 500) / this.stepMs : 0;
      this.at = now;
      if (this.mode === "live" && this.offsets.length) {
        const target = Math.min(this.present(now) - this.delay(), last);
        const next = this.t + gone;
        const off = target - next;
        this.t = Math.abs(off) > JUMP_TICKS ? target : Math.max(this.t, next + off * Math.min(1, gone * 0.1));
      } else if (this.mode === "play") {
        this.t += gone * this.rate;
        if (this.t >= last) {
          this.t = last;
          this.mode = "paused";
        }
      }
      if (this.mode !== "live" && Number.isFinite(first)) this.t = M.clamp(this.t, first, Math.max(first, last));
      return this.t;
    }

    pause() {
      this.mode = "paused";
    }

    seek(tick) {
      this.mode = "paused";
      this.t = tick;
    }

    play(rate) {
      this.mode = "play";
      this.rate = rate;
    }

    live() {
      this.mode = "live";
    }
  }

  M.Clock = Clock;
})(globalThis.March);
