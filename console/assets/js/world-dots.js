"use strict";
// Draws thousands of dots into a picture of pixels. Asking a canvas for each circle costs ten times
// as much where no graphics card helps; this costs the same everywhere. Pure.
(function (M) {
  /** Places between two pixels that are told apart, in each direction: motion stays smooth. */
  const PHASES = 4;

  /** How far a point is outside the shape, in pixels. */
  const OUTSIDE = [
    (x, y, r) => Math.hypot(x, y) - r, // circle
    (x, y, r) => (Math.abs(x) + Math.abs(y) - r * 1.3) * Math.SQRT1_2, // diamond
    (x, y, r) => Math.max(Math.abs(x), Math.abs(y)) - r * 0.88, // square
  ];

  /** `#rrggbb` as [r, g, b]. */
  M.rgbOf = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) || 0);

  class Dots {
    constructor() {
      this.masks = new Map();
      this.resize(1, 1);
    }

    resize(width, height) {
      this.width = width;
      this.height = height;
      this.bytes = new Uint8ClampedArray(width * height * 4);
      this.pixels = new Uint32Array(this.bytes.buffer);
    }

    /** Begins with what is under the dots: the pixels of a picture of the same size. */
    begin(ground) {
      this.pixels.set(ground);
    }

    /** How much of each pixel a dot covers, for each of the places between two pixels. */
    mask(shape, hollow, radius) {
      const key = shape * 1e6 + (hollow ? 5e5 : 0) + Math.round(radius * 16);
      let mask = this.masks.get(key);
      if (mask) return mask;
      const thick = hollow ? Math.max(1.1, radius * 0.34) : 0;
      const reach = Math.ceil(radius * 1.3 + 1);
      const size = reach * 2 + 1;
      const phases = [];
      for (let phase = 0; phase < PHASES * PHASES; phase++) {
        const [fx, fy] = [(phase % PHASES) / PHASES, Math.floor(phase / PHASES) / PHASES];
        const cover = new Uint8Array(size * size);
        for (let y = 0; y < size; y++) {
          for (let x = 0; x < size; x++) {
            let out = OUTSIDE[shape](x - reach - fx, y - reach - fy, radius);
            if (hollow) out = Math.abs(out + thick / 2) - thick / 2;
            cover[y * size + x] = Math.round(255 * M.clamp(0.5 - out, 0, 1));
          }
        }
        phases.push(cover);
      }
      mask = { reach, size, phases };
      if (this.masks.size > 200) this.masks.clear();
      this.masks.set(key, mask);
      return mask;
    }

    /** Puts a dot at a place in pixels. `rgb` is its colour, `alpha` from 0 to 1. */
    plot(x, y, mask, rgb, alpha) {
      const { reach, size } = mask;
      const { width, height, pixels, bytes } = this;
      const cx = Math.floor(x);
      const cy = Math.floor(y);
      const phase = Math.floor((x - cx) * PHASES) + Math.floor((y - cy) * PHASES) * PHASES;
      const cover = mask.phases[phase];
      const r = rgb[0];
      const g = rgb[1];
      const b = rgb[2];
      const solid = 0xff000000 | (b << 16) | (g << 8) | r;
      const top = Math.max(0, reach - cy);
      const bottom = Math.min(size, height - cy + reach);
      const left = Math.max(0, reach - cx);
      const right = Math.min(size, width - cx + reach);
      for (let my = top; my < bottom; my++) {
        let at = (cy - reach + my) * width + cx - reach + left;
        for (let m = my * size + left, end = my * size + right; m < end; m++, at++) {
          const a = cover[m] * alpha;
          if (a < 4) continue;
          if (a > 251) {
            pixels[at] = solid;
            continue;
          }
          const part = a / 255;
          const i = at * 4;
          bytes[i] += (r - bytes[i]) * part;
          bytes[i + 1] += (g - bytes[i + 1]) * part;
          bytes[i + 2] += (b - bytes[i + 2]) * part;
        }
      }
    }
  }

  M.Dots = Dots;
})(globalThis.March);
