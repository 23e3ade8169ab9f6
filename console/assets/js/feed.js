"use strict";
// The socket: connects, says what is watched, and connects again with growing pauses when it ends.
(function (M) {
  const FIRST_MS = 500;
  const MOST_MS = 15000;
  /** A socket that is open and silent for so long is as good as none. */
  const SILENT_MS = 10000;

  /** The pause before try number `n`, from 0; `luck` in 0..1 spreads many browsers. Pure. */
  M.backoff = (n, luck) => Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(n, 10)) * (0.75 + luck / 2);

  class Feed {
    constructor(model) {
      this.model = model;
      this.tries = 0;
      this.wanted = { t: "watch", world: false, events: false, entity: null, kinds: null };
      this.socket = null;
      this.timer = 0;
    }

    start() {
      this.connect();
      setInterval(() => this.listen(), 1000);
      addEventListener("online", () => this.soon());
      document.addEventListener("visibilitychange", () => {
        if (!document.hidden && this.model.link.state === "lost") this.soon();
        this.tell();
      });
    }

    connect() {
      clearTimeout(this.timer);
      this.model.setLink(this.tries ? "retrying" : "connecting");
      const scheme = location.protocol === "https:" ? "wss" : "ws";
      const socket = new WebSocket(`${scheme}://${location.host}/api/live`);
      this.socket = socket;
      socket.onopen = () => {
        if (socket !== this.socket) return;
        this.tries = 0;
        this.model.setLink("open", { heard: performance.now() });
        this.tell();
      };
      socket.onmessage = (message) => {
        if (socket !== this.socket) return;
        let frame;
        try {
          frame = JSON.parse(message.data);
        } catch {
          return;
        }
        this.model.take(frame, performance.now());
      };
      socket.onclose = (end) => {
        if (socket === this.socket) this.lost(this.model.link.why || end.reason || "the connection ended");
      };
    }

    lost(why) {
      this.socket = null;
      const pause = M.backoff(this.tries++, Math.random());
      this.model.setLink("lost", { why, retryAt: performance.now() + pause });
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.connect(), pause);
    }

    /** Tries at once. */
    soon() {
      if (this.model.link.state === "open") return;
      if (this.socket) this.socket.onclose = null;
      this.tries = 0;
      this.connect();
    }

    listen() {
      const silent = performance.now() - this.model.link.heard > SILENT_MS;
      if (this.socket && this.model.link.state === "open" && this.model.live() && silent) {
        this.socket.close();
        this.lost("nothing was heard for ten seconds");
      }
    }

    watch(wanted) {
      Object.assign(this.wanted, wanted);
      this.tell();
    }

    /** A page that nobody looks at asks for no pictures. */
    tell() {
      if (!this.socket || this.socket.readyState !== WebSocket.OPEN) return;
      const wanted = { ...this.wanted, world: this.wanted.world && !document.hidden };
      const text = JSON.stringify(wanted);
      if (this.told === text && this.toldTo === this.socket) return;
      this.told = text;
      this.toldTo = this.socket;
      this.socket.send(text);
    }
  }

  M.Feed = Feed;
})(globalThis.March);
