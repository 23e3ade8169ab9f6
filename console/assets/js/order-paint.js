"use strict";
// Draws the lanes.
(function (M) {
  const { words } = M;
  const HEAD = 34;
  const MARGIN = () => (innerWidth < 600 ? 78 : 112);

  class OrderPaint extends M.OrderMarks {
    get margin() {
      return MARGIN();
    }

    resize() {
      const ratio = Math.min(3, devicePixelRatio || 1);
      const { clientWidth: width, clientHeight: height } = this.canvas;
      if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
      }
      this.ratio = ratio;
      this.width = width;
      this.height = height;
    }

    laneHeight(count) {
      return Math.max(66, Math.min(150, (this.height - HEAD) / Math.max(1, count)));
    }

    /** scene: { layout, lanes, scrollX, scrollY, arrows, spans, gaps, root, past, future, hovered, explained, model, at } */
    draw(scene) {
      const { ctx } = this;
      ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      ctx.fillStyle = M.theme.colour("--surface");
      ctx.fillRect(0, 0, this.width, this.height);
      this.h = this.laneHeight(scene.lanes.length);
      this.x = (x) => x - scene.scrollX + this.margin;
      this.y = (lane) => HEAD + lane * this.h - scene.scrollY;
      ctx.save();
      ctx.beginPath();
      ctx.rect(this.margin, 0, this.width - this.margin, this.height);
      ctx.clip();
      this.rules(scene);
      this.bands(scene);
      this.holes(scene);
      this.ribbon(scene);
      if (scene.layout.dense) this.bars(scene);
      else {
        this.arrows(scene);
        this.held(scene);
        scene.layout.nodes.forEach((node) => this.node(node, scene));
      }
      this.head(scene);
      ctx.restore();
      this.sides(scene);
    }

    bands(scene) {
      const { ctx } = this;
      ctx.strokeStyle = M.theme.colour("--line");
      ctx.lineWidth = 1;
      scene.lanes.forEach((_, i) => {
        const y = Math.round(this.y(i)) + 0.5;
        ctx.beginPath();
        ctx.moveTo(this.margin, y), ctx.lineTo(this.width, y);
        ctx.stroke();
      });
    }

    seen(x, w) {
      return x + w >= this.margin && x <= this.width;
    }

    rules(scene) {
      const { ctx } = this;
      const { layout } = scene;
      const bottom = Math.min(this.height, this.y(scene.lanes.length));
      const even = M.theme.colour("--stripe");
      const line = M.theme.colour("--line");
      const wide = layout.width / Math.max(1, layout.ticks.length) > 12;
      for (const column of layout.ticks) {
        const x = this.x(column.x);
        if (!this.seen(x, column.w)) continue;
        if (column.quiet) {
          ctx.fillStyle = even;
          ctx.fillRect(x, HEAD, column.w, bottom - HEAD);
        } else if (column.tick % 2 === 0 && wide) {
          ctx.fillStyle = even;
          ctx.fillRect(x, HEAD, column.w, bottom - HEAD);
        }
        if (wide || column.tick % 10 === 0) {
          ctx.fillStyle = line;
          ctx.fillRect(Math.round(x), HEAD, 1, bottom - HEAD);
        }
      }
      ctx.strokeStyle = line;
      ctx.setLineDash([2, 4]);
      ctx.beginPath();
      let last = null;
      for (const moment of layout.moments) {
        const x = Math.round(this.x(moment.x)) + 0.5;
        if (last === moment.tick && this.seen(x, 1)) ctx.moveTo(x, HEAD), ctx.lineTo(x, bottom);
        last = moment.tick;
      }
      ctx.stroke();
      ctx.setLineDash([]);
    }

    holes(scene) {
      const { ctx } = this;
      for (const gap of scene.gaps) {
        const lane = scene.lanes.indexOf(gap.process);
        if (lane < 0) continue;
        const x = this.x(M.xOfTick(scene.layout, gap.from));
        const w = Math.max(6, this.x(M.xOfTick(scene.layout, gap.to + 1)) - x);
        if (!this.seen(x, w)) continue;
        ctx.fillStyle = this.hatch();
        ctx.fillRect(x, this.y(lane) + 1, w, this.h - 1);
        this.text(x + 6, this.y(lane) + this.h - 10, gap.lost ? `${words.count(gap.lost)} events lost` : "not recorded", "--bad", 11, 600);
      }
    }

    ribbon(scene) {
      const { ctx } = this;
      for (const span of scene.spans) {
        const lane = scene.lanes.indexOf(span.process);
        const { from, to } = scene.layout;
        if (lane < 0 || span.from > to || (span.to !== null && span.to < from)) continue;
        const x = Math.max(this.margin - 4, this.x(M.xOfTick(scene.layout, Math.max(from, span.from))));
        const end = span.to === null || span.to > to ? this.x(scene.layout.width) : this.x(M.xOfTick(scene.layout, span.to + 1));
        const w = Math.min(end, this.width + 4) - x;
        if (w <= 0) continue;
        const y = this.y(lane) + 6;
        ctx.fillStyle = scene.model.colourOf(span.process);
        ctx.globalAlpha = 0.9;
        ctx.beginPath();
        ctx.roundRect(x, y, w, 14, 4);
        ctx.fill();
        ctx.globalAlpha = 1;
        if (w > 60) this.text(x + 8, y + 11, `real, epoch ${span.epoch}`, "--on-owner", 11, 600);
      }
    }

    bars(scene) {
      const { ctx } = this;
      const sums = new Map();
      let most = 1;
      for (const { event, lane, x } of scene.layout.nodes) {
        const key = `${lane}/${x}`;
        const sum = sums.get(key) || { lane, x, n: 0, bad: false, own: false };
        sum.n++;
        sum.bad = sum.bad || Boolean(event.anomaly);
        sum.own = sum.own || words.group(event.kind) === "own";
        sums.set(key, sum);
        most = Math.max(most, sum.n);
      }
      const w = Math.max(1, (scene.layout.ticks[0] || { w: 2 }).w - 0.5);
      for (const { lane, x, n, bad, own } of sums.values()) {
        const sx = this.x(x);
        if (!this.seen(sx, w)) continue;
        const room = this.h - 34;
        const high = Math.max(2, (n / most) * room);
        const base = this.y(lane) + this.h - 6;
        ctx.fillStyle = scene.model.colourOf(scene.lanes[lane]);
        ctx.globalAlpha = own ? 1 : 0.45;
        ctx.fillRect(sx - w / 2, base - high, w, high);
        ctx.globalAlpha = 1;
        if (bad) {
          ctx.fillStyle = M.theme.colour("--bad");
          ctx.fillRect(sx - 1.5, this.y(lane) + 23, 3, 6);
        }
      }
    }

    tone(node, scene) {
      if (!scene.root) return { alpha: 1 };
      const { id } = node.event;
      if (id === scene.root) return { alpha: 1, root: true };
      if (scene.past.has(id)) return { alpha: 1, lit: "--past" };
      if (scene.future.has(id)) return { alpha: 0.9, lit: "--future" };
      return { alpha: 0.22 };
    }

    yOf(node) {
      return this.y(node.lane) + Math.min(this.h * 0.5, 46);
    }

    arrows(scene) {
      const { ctx } = this;
      for (const arrow of scene.arrows) {
        const [x1, x2] = [this.x(arrow.from.x), this.x(arrow.to.x)];
        if (Math.max(x1, x2) < this.margin || Math.min(x1, x2) > this.width) continue;
        const [a, b] = [this.tone(arrow.from, scene), this.tone(arrow.to, scene)];
        const lit = a.alpha > 0.5 && b.alpha > 0.5 ? b.lit || a.lit : null;
        const dim = scene.root && !lit;
        const own = arrow.thick ? scene.model.colourOf(arrow.owner) : M.theme.colour("--arrow");
        const colour = lit ? M.theme.colour(lit) : own;
        this.arrow(x1, this.yOf(arrow.from), x2, this.yOf(arrow.to), colour, arrow.thick ? 3 : lit ? 2 : 1.25, dim ? 0.15 : arrow.thick ? 0.85 : 0.8);
      }
      ctx.globalAlpha = 1;
    }

    /** What waited before it was taken in hangs under the lane until then. */
    held(scene) {
      const { ctx } = this;
      for (const node of scene.layout.nodes) {
        const { event } = node;
        if (event.arrived === undefined || event.arrived >= event.tick) continue;
        const there = this.x(M.xOfTick(scene.layout, scene.layout.by === "arrival" ? event.tick : event.arrived));
        const [left, right] = [Math.min(there, this.x(node.x)), Math.max(there, this.x(node.x))];
        if (!this.seen(left, right - left)) continue;
        const y = this.y(node.lane) + this.h - 12;
        ctx.globalAlpha = this.tone(node, scene).alpha;
        ctx.strokeStyle = M.theme.colour("--warn");
        ctx.lineWidth = 2;
        ctx.setLineDash([4, 3]);
        ctx.beginPath();
        ctx.moveTo(left, y), ctx.lineTo(right, y), ctx.lineTo(right, this.yOf(node) + 6);
        ctx.stroke();
        ctx.setLineDash([]);
        if (right - left > 60) this.text(left + 2, y - 4, `held ${words.ticks(event.tick - event.arrived)}`, "--warn", 10.5, 600);
      }
      ctx.globalAlpha = 1;
    }

    node(node, scene) {
      const { ctx } = this;
      const [x, y] = [this.x(node.x), this.yOf(node)];
      if (!this.seen(x - 30, 60)) return;
      const { event } = node;
      const tone = this.tone(node, scene);
      const group = words.group(event.kind);
      const colour = event.anomaly ? M.theme.colour("--bad") : scene.model.colourOf(event.process);
      ctx.globalAlpha = tone.alpha;
      ctx.fillStyle = ctx.strokeStyle = colour;
      ctx.lineWidth = 1.75;
      this.glyph(x, y, event.anomaly ? "cross" : group);
      if (tone.lit || tone.root || scene.hovered === event.id) {
        ctx.strokeStyle = M.theme.colour(tone.lit || "--ink");
        ctx.lineWidth = tone.root ? 2.5 : 1.75;
        ctx.beginPath();
        ctx.arc(x, y, tone.root ? 10 : 8.5, 0, 7);
        ctx.stroke();
      }
      this.label(node, x, y, scene);
      ctx.globalAlpha = 1;
    }

    label(node, x, y, scene) {
      if (node.room < 26) return;
      const { event } = node;
      const strong = event.anomaly || words.group(event.kind) === "own";
      const room = node.room - 3;
      const colour = event.anomaly ? "--bad" : strong ? "--ink" : "--muted";
      this.fit(x, y + 20, words.label(event.kind), room, colour, 11, strong ? 600 : 400);
      const more = scene.entity || event.anomaly || !event.entity ? M.nodeDetail(event) : event.entity;
      if (this.h > 76) this.fit(x, y + 33, more, room, event.anomaly ? "--bad" : "--muted", 10.5, 400);
    }

    head(scene) {
      const { ctx } = this;
      ctx.fillStyle = M.theme.colour("--surface");
      ctx.fillRect(this.margin, 0, this.width, HEAD);
      let free = this.margin;
      for (const column of scene.layout.ticks) {
        const x = this.x(column.x);
        if (!this.seen(x, column.w)) continue;
        if (column.quiet) {
          if (column.quiet > 1) this.fit(x + column.w / 2, 28, `·${column.quiet}·`, column.w, "--muted", 10.5, 400);
          continue;
        }
        const at = Math.max(x + 5, this.margin + 4);
        const room = x + column.w - at;
        if (at < free || (column.w < 34 && column.tick % 10 !== 0)) continue;
        this.text(at, 15, String(column.tick), "--ink", 12, 600);
        free = at + ctx.measureText(String(column.tick)).width + 8;
        if (room < 20) continue;
      }
      for (const moment of scene.layout.moments) {
        if (moment.w < 40) continue;
        const x = Math.max(this.x(moment.x) + 5, this.margin + 4);
        const room = this.x(moment.x) + moment.w - x;
        if (room > 28 && x < this.width) {
          const name = M.MOMENTS[moment.rank].replace("release-", room < 52 ? "r" : "release ");
          this.text(x, 28, name, "--muted", 10.5, 400);
        }
      }
      if (Number.isFinite(scene.at)) {
        const x = this.x(M.xOfTick(scene.layout, scene.at));
        const w = this.x(M.xOfTick(scene.layout, Math.floor(scene.at) + 1)) - x;
        ctx.fillStyle = M.theme.colour("--accent");
        ctx.fillRect(x, 0, Math.max(2, w), 3);
      }
    }

    sides(scene) {
      const { ctx } = this;
      ctx.fillStyle = M.theme.colour("--surface");
      ctx.fillRect(0, 0, this.margin - 0.5, this.height);
      ctx.fillStyle = M.theme.colour("--line-strong");
      ctx.fillRect(this.margin - 1, 0, 1, this.height);
      scene.lanes.forEach((name, i) => {
        const y = this.y(i);
        if (y < HEAD - this.h || y > this.height) return;
        ctx.save();
        ctx.beginPath();
        ctx.rect(0, HEAD, this.margin - 4, this.height - HEAD);
        ctx.clip();
        ctx.fillStyle = M.theme.colour("--line");
        ctx.fillRect(0, Math.round(y), this.margin, 1);
        ctx.fillStyle = scene.model.colourOf(name);
        ctx.beginPath();
        ctx.roundRect(10, y + 9, 4, 28, 2);
        ctx.fill();
        this.text(20, y + 20, name, "--ink", 12.5, 600);
        const process = scene.model.processes.get(name) || {};
        this.text(20, y + 35, scene.ages.get(name) || process.kind || "", scene.old.has(name) ? "--bad" : "--muted", 11, 400);
        ctx.restore();
      });
      ctx.fillStyle = M.theme.colour("--surface");
      ctx.fillRect(0, 0, this.margin - 1, HEAD);
      this.text(10, 15, "tick", "--muted", 11, 400);
    }
  }

  OrderPaint.HEAD = HEAD;
  M.OrderPaint = OrderPaint;
})(globalThis.March);
