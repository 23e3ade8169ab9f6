"use strict";
// The strokes that the lanes are drawn with: marks of events, arrows, text, and the hatching of what
// is not known.
(function (M) {
  class OrderMarks {
    constructor(canvas) {
      this.canvas = canvas;
      this.ctx = canvas.getContext("2d", { alpha: false });
    }

    glyph(x, y, what) {
      const { ctx } = this;
      ctx.beginPath();
      if (what === "own" || what === "slot") {
        const r = what === "own" ? 6 : 4.5;
        ctx.moveTo(x, y - r), ctx.lineTo(x + r, y), ctx.lineTo(x, y + r), ctx.lineTo(x - r, y), ctx.closePath();
        ctx.fill();
      } else if (what === "ghost") ctx.arc(x, y, 3.75, 0, 7), ctx.stroke();
      else if (what === "command") {
        ctx.moveTo(x - 4, y - 4.5), ctx.lineTo(x + 5, y), ctx.lineTo(x - 4, y + 4.5), ctx.closePath();
        ctx.fill();
      } else if (what === "message") ctx.rect(x - 3.75, y - 3.75, 7.5, 7.5), ctx.fill();
      else if (what === "bundle") ctx.moveTo(x, y - 5), ctx.lineTo(x, y + 5), ctx.stroke();
      else if (what === "cross" || what === "refusal") {
        ctx.lineWidth = 2.5;
        ctx.moveTo(x - 4.5, y - 4.5), ctx.lineTo(x + 4.5, y + 4.5), ctx.moveTo(x + 4.5, y - 4.5), ctx.lineTo(x - 4.5, y + 4.5);
        ctx.stroke();
      } else ctx.arc(x, y, 3.75, 0, 7), ctx.fill();
    }

    arrow(x1, y1, x2, y2, colour, width, alpha) {
      const { ctx } = this;
      const down = y2 > y1 ? 1 : -1;
      const [sy, ey] = [y1 + 6 * down, y2 - 8 * down];
      const bend = Math.min(60, Math.abs(x2 - x1) * 0.5 + 10);
      ctx.globalAlpha = alpha;
      ctx.strokeStyle = ctx.fillStyle = colour;
      ctx.lineWidth = width;
      ctx.beginPath();
      ctx.moveTo(x1, sy);
      ctx.bezierCurveTo(x1 + bend * 0.4, sy + (ey - sy) * 0.45, x2 - bend * 0.4, sy + (ey - sy) * 0.55, x2, ey);
      ctx.stroke();
      const size = 3.5 + width;
      const lean = M.clamp((x2 - x1) / Math.max(40, Math.abs(ey - sy)), -1, 1) * size * 0.5;
      ctx.beginPath();
      ctx.moveTo(x2, ey + 3 * down);
      ctx.lineTo(x2 - size * 0.75 - lean, ey - size * 1.1 * down);
      ctx.lineTo(x2 + size * 0.75 - lean, ey - size * 1.1 * down);
      ctx.closePath();
      ctx.fill();
    }

    /** Text in the middle of a place, with a rim that keeps arrows off it; nothing if it does not fit. */
    fit(x, y, text, room, colour, size, weight) {
      const { ctx } = this;
      if (!text) return;
      ctx.font = `${weight} ${size}px ${M.theme.colour("--sans")}`;
      let shown = text;
      while (shown.length > 4 && ctx.measureText(shown).width > room) shown = `${shown.slice(0, -2)}…`;
      if (shown.length < text.length * 0.6 || ctx.measureText(shown).width > room) return;
      ctx.textAlign = "center";
      ctx.lineJoin = "round";
      ctx.lineWidth = 3;
      ctx.strokeStyle = M.theme.colour("--surface");
      ctx.strokeText(shown, x, y);
      ctx.fillStyle = M.theme.colour(colour);
      ctx.fillText(shown, x, y);
      ctx.textAlign = "left";
    }

    text(x, y, text, colour, size, weight) {
      const { ctx } = this;
      ctx.font = `${weight} ${size}px ${M.theme.colour("--sans")}`;
      ctx.textAlign = "left";
      ctx.textBaseline = "alphabetic";
      ctx.fillStyle = M.theme.colour(colour);
      ctx.fillText(text, x, y);
    }

    hatch() {
      const key = M.theme.colour("--hatch") + this.ratio;
      if (this.hatched && this.hatchKey === key) return this.hatched;
      const tile = document.createElement("canvas");
      tile.width = tile.height = 8;
      const ctx = tile.getContext("2d");
      ctx.strokeStyle = M.theme.colour("--hatch");
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.moveTo(-2, 10), ctx.lineTo(10, -2), ctx.moveTo(-2, 2), ctx.lineTo(2, -2), ctx.moveTo(6, 10), ctx.lineTo(10, 6);
      ctx.stroke();
      this.hatchKey = key;
      this.hatched = this.ctx.createPattern(tile, "repeat");
      return this.hatched;
    }
  }

  M.OrderMarks = OrderMarks;
})(globalThis.March);
