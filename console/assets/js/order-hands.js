"use strict";
// Hands on the lanes: pan, zoom, hover, click, and Shift-click for the chain between two events.
(function (M) {
  const { el } = M;
  const REACH = { mouse: 14, pen: 16, touch: 26 };

  class OrderHands {
    constructor(view) {
      this.view = view;
      this.pointers = new Map();
      const { canvas } = view;
      canvas.addEventListener("pointerdown", (event) => this.down(event));
      canvas.addEventListener("pointermove", (event) => this.move(event));
      canvas.addEventListener("pointerup", (event) => this.up(event));
      canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
      canvas.addEventListener("pointerleave", () => this.hover(null));
      canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    }

    at(event) {
      const box = this.view.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    nodeAt(event) {
      const { view } = this;
      if (!view.layout || view.layout.dense) return null;
      const [x, y] = this.at(event);
      let best = null;
      let nearest = REACH[event.pointerType] || REACH.mouse;
      for (const node of view.layout.nodes) {
        const away = Math.hypot(node.x - view.scrollX + view.paint.margin - x, view.paint.yOf(node) - y);
        if (away < nearest) [best, nearest] = [node, away];
      }
      return best;
    }

    wheel(event) {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      if (event.ctrlKey || event.metaKey) this.view.zoom(Math.exp(-event.deltaY * lines * 0.004), this.at(event)[0]);
      else if (event.shiftKey) this.view.pan(-event.deltaY * lines, 0);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.view.pan(-event.deltaX * lines, 0);
      else this.view.zoom(Math.exp(-event.deltaY * lines * 0.0016), this.at(event)[0]);
    }

    down(event) {
      if (event.button !== 0) return;
      this.view.canvas.setPointerCapture(event.pointerId);
      const [x, y] = this.at(event);
      this.pointers.set(event.pointerId, { x, y });
      this.press = this.pointers.size === 1 ? { x, y, moved: false } : null;
    }

    move(event) {
      const [x, y] = this.at(event);
      const last = this.pointers.get(event.pointerId);
      if (!last) {
        if (event.pointerType !== "touch") this.hover(this.nodeAt(event), x, y);
        return;
      }
      if (this.pointers.size === 2) {
        const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
        const [before, now] = [Math.abs(last.x - other.x), Math.abs(x - other.x)];
        if (before > 10 && now > 10) this.view.zoom(now / before, (x + other.x) / 2);
      } else if (this.press) {
        if (Math.hypot(x - this.press.x, y - this.press.y) > 5) this.press.moved = true;
        if (this.press.moved) this.view.pan(x - last.x, y - last.y);
      }
      this.pointers.set(event.pointerId, { x, y });
    }

    up(event) {
      this.pointers.delete(event.pointerId);
      const { press, view } = this;
      this.press = null;
      if (!press || press.moved) return;
      const node = this.nodeAt(event);
      if (node && event.shiftKey && view.root && view.root !== node.event.id) view.panel.explain(view.root, node.event.id);
      else view.select(node ? node.event : null);
    }

    hover(node, x, y) {
      const { view } = this;
      const id = node ? node.event.id : null;
      view.canvas.classList.toggle("over", Boolean(node));
      if (view.hovered !== id) view.dirty = true;
      view.hovered = id;
      const tip = M.get("lanes-tip");
      tip.hidden = !node;
      if (!node) return;
      const { event } = node;
      M.put(tip, el("b", {}, `${event.process}, tick ${event.tick}, ${event.moment}`), el("span", {}, event.text));
      const left = M.clamp(x + 14, 4, view.paint.width - tip.offsetWidth - 4);
      const top = y + 24 + tip.offsetHeight > view.paint.height ? y - tip.offsetHeight - 12 : y + 20;
      tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    }
  }

  M.OrderHands = OrderHands;
})(globalThis.March);
