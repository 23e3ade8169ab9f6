"use strict";
// Draws the world: the ground (cells, borders, grid) only when it changed, the dots as pixels, and
// over them what is chosen, what is on its way, and the names.
(function (M) {
  const GHOST_OLD_TICKS = 20;
  /** More pixels than this are not worth their time; the picture is then a little softer. */
  const PIXELS_MAX = 4e6;

  class WorldPaint {
    constructor(canvas, kinds) {
      this.kinds = kinds; // gives the names of the kinds, in their order
      this.shapes = new Map();
      this.canvas = canvas;
      this.front = canvas.getContext("2d", { alpha: false });
      this.ground = document.createElement("canvas");
      this.ctx = this.ground.getContext("2d", { alpha: false, willReadFrequently: true });
      this.dots = new M.Dots();
      this.rgb = new Map();
      M.theme.onChange(() => {
        this.grounded = "";
        this.rgb.clear();
      });
    }

    resize() {
      const { clientWidth: width, clientHeight: height } = this.canvas;
      const most = Math.sqrt(PIXELS_MAX / Math.max(1, width * height));
      this.ratio = Math.min(2, most, devicePixelRatio || 1);
      const [w, h] = [Math.max(1, Math.round(width * this.ratio)), Math.max(1, Math.round(height * this.ratio))];
      if (this.canvas.width !== w || this.canvas.height !== h) {
        for (const canvas of [this.canvas, this.ground]) [canvas.width, canvas.height] = [w, h];
        this.dots.resize(w, h);
        this.image = new ImageData(this.dots.bytes, w, h);
        this.grounded = "";
      }
      return [width, height];
    }

    /** scene: { space, bounds, shown, moves, selected, hovered, over, drag, trail, dim } */
    draw(camera, scene, model) {
      this.drawGround(camera, scene, model);
      this.drawDots(camera, scene, model);
      this.front.setTransform(1, 0, 0, 1, 0, 0);
      this.front.putImageData(this.image, 0, 0);
      this.ctx = this.front;
      this.ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      for (const move of scene.moves) this.move(camera, move, model);
      this.chosen(camera, scene, model);
      if (scene.drag) this.drag(camera, scene.drag, model);
      this.names(camera, scene, model);
      this.ruler(camera);
    }

    drawGround(camera, scene, model) {
      const cells = (scene.space && scene.space.cells) || [];
      const key = JSON.stringify([camera.x, camera.y, camera.scale, camera.width, camera.height, cells.map((cell) => [cell.rect, model.colourOf(cell.owner), scene.over === cell])]);
      if (key === this.grounded) return;
      this.grounded = key;
      this.ctx = this.ground.getContext("2d");
      this.ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      this.ctx.fillStyle = M.theme.colour("--map");
      this.ctx.fillRect(0, 0, camera.width, camera.height);
      this.cells(camera, scene, model);
      this.grid(camera, scene.bounds);
      const data = this.ctx.getImageData(0, 0, this.ground.width, this.ground.height).data;
      this.under = new Uint32Array(data.buffer);
    }

    cells(camera, scene, model) {
      const { ctx } = this;
      for (const cell of (scene.space && scene.space.cells) || []) {
        const [x, y, w, h] = this.rect(camera, cell.rect);
        const colour = model.colourOf(cell.owner);
        ctx.globalAlpha = scene.over === cell ? 0.26 : 0.1;
        ctx.fillStyle = colour;
        ctx.fillRect(x, y, w, h);
        ctx.globalAlpha = scene.over === cell ? 1 : 0.55;
        ctx.strokeStyle = colour;
        ctx.lineWidth = scene.over === cell ? 2.5 : 1.25;
        ctx.strokeRect(x + 0.75, y + 0.75, w - 1.5, h - 1.5);
      }
      ctx.globalAlpha = 1;
    }

    rect(camera, [x0, y0, x1, y1]) {
      const [left, top] = camera.toScreen(x0, y1);
      return [left, top, (x1 - x0) * camera.scale, (y1 - y0) * camera.scale];
    }

    grid(camera, [x0, y0, x1, y1]) {
      const { ctx } = this;
      const step = camera.ruler(110)[1] * 1000;
      const [left, top] = camera.toScreen(x0, y1);
      const [right, bottom] = camera.toScreen(x1, y0);
      ctx.beginPath();
      for (let x = Math.ceil(x0 / step) * step; x <= x1; x += step) {
        const sx = Math.round(camera.toScreen(x, 0)[0]) + 0.5;
        if (sx > 0 && sx < camera.width) ctx.moveTo(sx, Math.max(0, top)), ctx.lineTo(sx, Math.min(camera.height, bottom));
      }
      for (let y = Math.ceil(y0 / step) * step; y <= y1; y += step) {
        const sy = Math.round(camera.toScreen(0, y)[1]) + 0.5;
        if (sy > 0 && sy < camera.height) ctx.moveTo(Math.max(0, left), sy), ctx.lineTo(Math.min(camera.width, right), sy);
      }
      ctx.strokeStyle = M.theme.colour("--map-grid");
      ctx.lineWidth = 1;
      ctx.stroke();
    }

    /** The shape of a kind: a diamond for the first, then a circle, then a square. */
    shape(kind) {
      let shape = this.shapes.get(kind);
      if (shape === undefined) {
        const named = typeof kind === "number" ? kind : this.kinds().indexOf(kind);
        shape = [1, 0, 2][(named < 0 ? this.shapes.size : named) % 3];
        if (this.shapes.size < 64) this.shapes.set(kind, shape);
      }
      return shape;
    }

    radius(camera) {
      return Math.round(M.clamp(1.7 + camera.scale * 260, 2, 8) * 2) / 2;
    }

    drawDots(camera, scene, model) {
      const radius = this.radius(camera) * this.ratio;
      this.dots.begin(this.under);
      for (const { frame, alpha, late } of scene.shown) {
        const { ghosts } = frame;
        const fresh = scene.dim(late) ? 0.35 : 1;
        const strength = (i) => fresh * (1 - 0.65 * M.clamp((frame.tick - ghosts.state[i]) / GHOST_OLD_TICKS, 0, 1));
        this.part(camera, ghosts, alpha, radius + 1.5 * this.ratio, true, (i) => this.rgbOf(model, ghosts.owners[i]), strength);
      }
      for (const { frame, alpha, late } of scene.shown) {
        const rgb = this.rgbOf(model, frame.process);
        const strength = scene.dim(late) ? 0.35 : 1;
        this.part(camera, frame.reals, alpha, radius, false, () => rgb, () => strength);
      }
    }

    rgbOf(model, name) {
      let rgb = this.rgb.get(name);
      if (!rgb) {
        rgb = M.rgbOf(model.colourOf(name));
        if (model.processes.has(name)) this.rgb.set(name, rgb);
      }
      return rgb;
    }

    part(camera, part, alpha, radius, hollow, rgbOf, strength) {
      const { dots, ratio } = this;
      const scale = camera.scale * ratio;
      const left = (camera.width * ratio) / 2 - camera.x * scale;
      const top = (camera.height * ratio) / 2 + camera.y * scale;
      const { px, py, x, y, kinds } = part;
      const [right, bottom] = [dots.width + radius * 2, dots.height + radius * 2];
      let kind;
      let mask = null;
      for (let i = 0; i < part.n; i++) {
        const sx = left + (px[i] + (x[i] - px[i]) * alpha) * scale;
        const sy = top - (py[i] + (y[i] - py[i]) * alpha) * scale;
        if (sx < -radius * 2 || sy < -radius * 2 || sx > right || sy > bottom) continue;
        if (!mask || kinds[i] !== kind) {
          kind = kinds[i];
          mask = dots.mask(this.shape(kind), hollow, radius);
        }
        dots.plot(sx, sy, mask, rgbOf(i), strength(i));
      }
    }

    /** A handoff: the colour of the old owner opens into the new one's. */
    move(camera, move, model) {
      const { ctx } = this;
      const [x, y] = camera.toScreen(move.x, move.y);
      const part = M.theme.still() ? 0.5 : 1 - (1 - move.part) ** 3;
      const radius = this.radius(camera) + 3;
      ctx.globalAlpha = 1 - move.part;
      ctx.lineWidth = 2;
      ctx.strokeStyle = model.colourOf(move.from);
      ctx.beginPath();
      ctx.arc(x, y, radius + part * 16, 0, 7);
      ctx.stroke();
      ctx.strokeStyle = model.colourOf(move.to);
      ctx.beginPath();
      ctx.arc(x, y, radius + part * 8, 0, 7);
      ctx.stroke();
      ctx.globalAlpha = 1;
    }

    chosen(camera, scene, model) {
      const { ctx } = this;
      const ink = M.theme.colour("--ink");
      for (const [found, strong] of [[scene.hovered, false], [scene.selected, true]]) {
        if (!found) continue;
        const anchor = found.real || found.ghosts[0];
        const [x, y] = camera.toScreen(anchor.x, anchor.y);
        if (strong && scene.trail.length > 1) this.trail(camera, scene.trail, model);
        for (const ghost of found.real ? found.ghosts : []) {
          const [gx, gy] = camera.toScreen(ghost.x, ghost.y);
          ctx.strokeStyle = ink;
          ctx.lineWidth = 1;
          ctx.beginPath();
          ctx.moveTo(x, y), ctx.lineTo(gx, gy);
          ctx.stroke();
        }
        ctx.strokeStyle = ink;
        ctx.lineWidth = strong ? 2 : 1.25;
        ctx.beginPath();
        ctx.arc(x, y, this.radius(camera) + (strong ? 6 : 4), 0, 7);
        ctx.stroke();
        if (strong) this.tag(x + this.radius(camera) + 10, y, found.id);
      }
    }

    trail(camera, trail, model) {
      const { ctx } = this;
      ctx.lineWidth = 2;
      for (let i = 1; i < trail.length; i++) {
        ctx.globalAlpha = (i / trail.length) * 0.8;
        ctx.strokeStyle = model.colourOf(trail[i][3]);
        ctx.beginPath();
        ctx.moveTo(...camera.toScreen(trail[i - 1][1], trail[i - 1][2]));
        ctx.lineTo(...camera.toScreen(trail[i][1], trail[i][2]));
        ctx.stroke();
      }
      ctx.globalAlpha = 1;
    }

    tag(x, y, text) {
      const { ctx } = this;
      ctx.font = `600 12px ${M.theme.colour("--sans")}`;
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      const wide = ctx.measureText(text).width;
      ctx.fillStyle = M.theme.colour("--surface");
      ctx.globalAlpha = 0.9;
      ctx.beginPath();
      ctx.roundRect(x - 4, y - 9, wide + 8, 18, 4);
      ctx.fill();
      ctx.globalAlpha = 1;
      ctx.fillStyle = M.theme.colour("--ink");
      ctx.fillText(text, x, y + 0.5);
    }

    drag(camera, drag, model) {
      const { ctx } = this;
      const [x, y] = camera.toScreen(drag.from.x, drag.from.y);
      ctx.strokeStyle = drag.allowed ? model.colourOf(drag.to) : M.theme.colour("--muted");
      ctx.lineWidth = 2;
      ctx.setLineDash([6, 5]);
      ctx.beginPath();
      ctx.moveTo(x, y), ctx.lineTo(drag.x, drag.y);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.beginPath();
      ctx.arc(drag.x, drag.y, this.radius(camera) + 5, 0, 7);
      ctx.stroke();
    }

    names(camera, scene, model) {
      const { ctx } = this;
      ctx.textBaseline = "alphabetic";
      ctx.textAlign = "left";
      for (const cell of (scene.space && scene.space.cells) || []) {
        const [x, y, w, h] = this.rect(camera, cell.rect);
        const [left, top] = [Math.max(x, 0) + 10, Math.max(y, 0) + 8];
        if (x + w - left < 60 || y + h - top < 30) continue;
        const load = cell.load_percent;
        const text = load === undefined || load === null ? "" : `${Math.round(load)} %`;
        ctx.font = `650 13px ${M.theme.colour("--sans")}`;
        const wide = ctx.measureText(cell.owner ?? "nobody").width;
        ctx.font = `400 12px ${M.theme.colour("--sans")}`;
        const more = text ? ctx.measureText(text).width + 50 : 0;
        ctx.globalAlpha = 0.86;
        ctx.fillStyle = M.theme.colour("--map");
        ctx.beginPath();
        ctx.roundRect(left - 5, top - 3, wide + more + 10, 22, 5);
        ctx.fill();
        ctx.globalAlpha = 1;
        ctx.font = `650 13px ${M.theme.colour("--sans")}`;
        ctx.fillStyle = model.colourOf(cell.owner);
        ctx.fillText(cell.owner ?? "nobody", left, top + 12);
        if (!text) continue;
        ctx.fillStyle = M.theme.colour("--line-strong");
        ctx.fillRect(left + wide + 8, top + 6, 34, 4);
        ctx.fillStyle = load > 80 ? M.theme.colour("--bad") : model.colourOf(cell.owner);
        ctx.fillRect(left + wide + 8, top + 6, (34 * M.clamp(load, 0, 100)) / 100, 4);
        ctx.font = `400 12px ${M.theme.colour("--sans")}`;
        ctx.fillStyle = M.theme.colour("--muted");
        ctx.fillText(text, left + wide + 48, top + 12);
      }
    }

    ruler(camera) {
      const { ctx } = this;
      const [pixels, metres] = camera.ruler(90);
      const [x, y] = [14, camera.height - 16];
      ctx.strokeStyle = ctx.fillStyle = M.theme.colour("--muted");
      ctx.lineWidth = 1.25;
      ctx.beginPath();
      ctx.moveTo(x, y - 4), ctx.lineTo(x, y), ctx.lineTo(x + pixels, y), ctx.lineTo(x + pixels, y - 4);
      ctx.stroke();
      ctx.font = `400 11px ${M.theme.colour("--sans")}`;
      ctx.textAlign = "left";
      ctx.textBaseline = "alphabetic";
      ctx.fillText(metres >= 1 ? `${metres} m` : `${metres * 100} cm`, x + 5, y - 5);
    }
  }

  M.WorldPaint = WorldPaint;
})(globalThis.March);
