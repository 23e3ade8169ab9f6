"use strict";
// From millimetres of the world to pixels of the screen and back. North is up. Pure.
(function (M) {
  const SCALE = [0.0005, 0.4]; // pixels a millimetre

  class Camera {
    constructor() {
      this.x = 0;
      this.y = 0;
      this.scale = 0.004;
      this.width = 1;
      this.height = 1;
    }

    resize(width, height) {
      this.width = Math.max(1, width);
      this.height = Math.max(1, height);
    }

    /** Shows a whole rectangle [x0, y0, x1, y1], with a margin and room above, in pixels. */
    fit(rect, margin, above = 0) {
      const [x0, y0, x1, y1] = rect;
      this.x = (x0 + x1) / 2;
      this.y = (y0 + y1) / 2;
      const wide = (this.width - 2 * margin) / Math.max(1, x1 - x0);
      const high = (this.height - 2 * margin - above) / Math.max(1, y1 - y0);
      this.scale = M.clamp(Math.min(wide, high), ...SCALE);
      this.y += above / 2 / this.scale;
    }

    toScreen(x, y) {
      return [(x - this.x) * this.scale + this.width / 2, this.height / 2 - (y - this.y) * this.scale];
    }

    toWorld(sx, sy) {
      return [(sx - this.width / 2) / this.scale + this.x, (this.height / 2 - sy) / this.scale + this.y];
    }

    pan(dx, dy) {
      this.x -= dx / this.scale;
      this.y += dy / this.scale;
    }

    /** Zooms so that what is under the point stays there. */
    zoom(factor, sx = this.width / 2, sy = this.height / 2) {
      const [x, y] = this.toWorld(sx, sy);
      this.scale = M.clamp(this.scale * factor, ...SCALE);
      this.x = x - (sx - this.width / 2) / this.scale;
      this.y = y - (this.height / 2 - sy) / this.scale;
    }

    /** A round length that is about `pixels` long: [pixels, metres]. */
    ruler(pixels) {
      const metres = pixels / this.scale / 1000;
      const power = 10 ** Math.floor(Math.log10(metres));
      const round = [5, 2, 1].map((n) => n * power).find((n) => n <= metres) || power;
      return [round * 1000 * this.scale, round];
    }
  }

  M.Camera = Camera;

  /** The rectangle around all cells of a space. */
  M.boundsOf = function (space) {
    const rects = ((space && space.cells) || []).map((cell) => cell.rect).filter(Boolean);
    if (!rects.length) return [-100000, -100000, 100000, 100000];
    const least = (i) => Math.min(...rects.map((rect) => rect[i]));
    const most = (i) => Math.max(...rects.map((rect) => rect[i]));
    return [least(0), least(1), most(2), most(3)];
  };

  /** The cell that a place belongs to; the nearest one for a place outside. */
  M.cellAt = function (space, x, y) {
    let best = null;
    let nearest = Infinity;
    for (const cell of (space && space.cells) || []) {
      const [x0, y0, x1, y1] = cell.rect;
      const away = Math.hypot(Math.max(x0 - x, 0, x - x1), Math.max(y0 - y, 0, y - y1));
      if (away < nearest) [best, nearest] = [cell, away];
    }
    return best;
  };
})(globalThis.March);
