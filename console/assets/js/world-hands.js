"use strict";
// Hands on the map: pan, zoom, pinch, hover, select, and dragging a real over a border.
(function (M) {
  const DRAG_PIXELS = 6;
  const REACH = { mouse: 9, pen: 12, touch: 22 };

  class WorldHands {
    constructor(view) {
      this.view = view;
      this.pointers = new Map();
      this.drag = null;
      const { canvas } = view;
      canvas.addEventListener("pointerdown", (event) => this.down(event));
      canvas.addEventListener("pointermove", (event) => this.move(event));
      canvas.addEventListener("pointerup", (event) => this.up(event));
      canvas.addEventListener("pointercancel", (event) => this.cancel(event));
      canvas.addEventListener("pointerleave", () => view.hover(null));
      canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      canvas.addEventListener("dblclick", (event) => view.camera.zoom(event.shiftKey ? 0.5 : 2, ...this.at(event)));
    }

    at(event) {
      const box = this.view.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    dot(event) {
      const [sx, sy] = this.at(event);
      const { camera } = this.view;
      const reach = (REACH[event.pointerType] || REACH.mouse) / camera.scale;
      return M.dotNear(this.view.shown, ...camera.toWorld(sx, sy), reach);
    }

    wheel(event) {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      this.view.following = false;
      this.view.camera.zoom(Math.exp(-event.deltaY * lines * 0.0016), ...this.at(event));
    }

    down(event) {
      if (event.button !== 0) return;
      this.view.canvas.setPointerCapture(event.pointerId);
      const [x, y] = this.at(event);
      this.pointers.set(event.pointerId, { x, y });
      if (this.pointers.size > 1) {
        this.endDrag();
        this.press = null;
        return;
      }
      const dot = this.dot(event);
      const mayDrag = dot && dot.role === "reals" && this.view.app.mayAct() &&
        (event.pointerType !== "touch" || dot.id === this.view.selected);
      this.press = { x, y, dot, mayDrag, moved: false };
    }

    move(event) {
      const [x, y] = this.at(event);
      const last = this.pointers.get(event.pointerId);
      if (!last) {
        if (event.pointerType !== "touch") this.view.hover(this.dot(event), x, y);
        return;
      }
      if (this.pointers.size === 2) {
        this.pinch(event.pointerId, x, y);
      } else if (this.press) {
        const far = Math.hypot(x - this.press.x, y - this.press.y) > DRAG_PIXELS;
        if (far && !this.press.moved) {
          this.press.moved = true;
          if (this.press.mayDrag) this.startDrag(this.press.dot);
        }
        if (this.drag) this.dragTo(x, y);
        else if (this.press.moved) {
          this.view.following = false;
          this.view.hover(null);
          this.view.camera.pan(x - last.x, y - last.y);
        }
      }
      this.pointers.set(event.pointerId, { x, y });
    }

    pinch(id, x, y) {
      const other = [...this.pointers].find(([key]) => key !== id)[1];
      const before = this.pointers.get(id);
      const apart = Math.hypot(before.x - other.x, before.y - other.y);
      const now = Math.hypot(x - other.x, y - other.y);
      if (apart > 0) this.view.camera.zoom(now / apart, (x + other.x) / 2, (y + other.y) / 2);
      this.view.camera.pan((x - before.x) / 2, (y - before.y) / 2);
      this.view.following = false;
    }

    up(event) {
      const press = this.press;
      this.pointers.delete(event.pointerId);
      this.press = null;
      if (this.drag) {
        const { id, to, allowed } = this.drag;
        this.endDrag();
        if (allowed) this.view.app.moveEntity(id, to);
        else M.toast(`${to ?? "Nobody"} owns it already: there is nothing to move`);
      } else if (press && !press.moved) this.view.select(press.dot ? press.dot.id : null);
    }

    cancel(event) {
      this.pointers.delete(event.pointerId);
      this.press = null;
      this.endDrag();
    }

    startDrag(dot) {
      this.view.select(dot.id);
      this.drag = { id: dot.id, owner: dot.process, from: dot, x: 0, y: 0, to: null, allowed: false };
      this.view.canvas.classList.add("dragging");
    }

    dragTo(x, y) {
      const { view, drag } = this;
      const cell = M.cellAt(view.spaceOf(), ...view.camera.toWorld(x, y));
      const to = cell ? cell.owner : null;
      Object.assign(drag, { x, y, to, cell, allowed: Boolean(to) && to !== drag.owner });
      view.tip(x, y, drag.allowed
        ? [M.el("b", {}, `${drag.id} → ${to}`), M.el("span", {}, "let go to ask what would happen")]
        : [M.el("b", {}, drag.id), M.el("span", {}, `${to ?? "nobody"} owns it already`)]);
    }

    endDrag() {
      if (!this.drag) return;
      this.drag = null;
      this.view.canvas.classList.remove("dragging");
      this.view.tip(null);
    }
  }

  M.WorldHands = WorldHands;
})(globalThis.March);
