"use strict";
// Starts everything, and is what the views ask of each other.
(function (M) {
  const { words } = M;
  const OWN_KINDS = ["Activated", "Frozen", "Unfrozen", "Deactivated", "OwnerChanged", "FirstStep", "HandoffRefused", "OrderEnded", "Refusal", "LinkBegan", "LinkEnded", "SlotTaken", "SlotGiven", "WindowClosed", "WindowOpened"];

  class App {
    constructor() {
      this.model = new M.Model();
      this.address = M.address;
      this.embedded = M.Embedded.find();
      this.source = this.embedded || new M.Remote();
      this.timebar = new M.Timebar(this);
      this.views = {
        world: new M.WorldView(this),
        order: new M.OrderView(this),
        passport: new M.PassportView(this),
        cluster: new M.ClusterView(this),
        act: new M.ActView(this),
      };
      this.fetched = NaN;
    }

    start() {
      M.theme.start();
      this.address.start();
      this.buttons();
      M.startKeys(this);
      this.address.onChange((state) => this.enter(state));
      this.model.on("hello", () => this.greeted());
      this.model.on("link", () => this.showLink());
      this.model.on("events", () => {});
      setInterval(() => this.showLink(), 250);
      if (this.embedded) this.openEmbedded();
      else {
        this.feed = new M.Feed(this.model);
        this.feed.watch({ events: true, kinds: OWN_KINDS });
        this.feed.start();
      }
      this.enter(this.address.get());
      requestAnimationFrame((now) => this.frame(now));
    }

    openEmbedded() {
      const { data } = this.embedded;
      this.model.setLink("embedded");
      this.model.take({ t: "hello", ...data.hello, mode: "recorded", acts: false }, 0);
      for (const frame of data.worlds || []) this.model.take_world(frame, 0);
      if (data.cluster) this.model.take_cluster({ t: "cluster", ...data.cluster }, performance.now());
      this.model.take_events({ events: this.embedded.all.filter((event) => event.anomaly).slice(-5000) });
      (data.gaps || []).forEach((gap) => this.model.take_gap({ t: "gap", ...gap }));
      (data.acts || []).forEach((act) => this.model.take_act({ t: "act", ...act }));
      if (data.notice) this.notice(data.notice);
    }

    buttons() {
      for (const button of M.get("tabs").children) button.addEventListener("click", () => this.go(button.dataset.view));
      M.get("help").addEventListener("click", () => M.showHelp());
      M.get("theme").addEventListener("click", () => this.nextTheme());
      M.get("search").addEventListener("submit", (event) => {
        event.preventDefault();
        this.search(M.get("search-field").value.trim());
      });
      this.nameTheme();
    }

    nextTheme() {
      M.theme.next();
      this.nameTheme();
      M.toast(`Colours: ${{ auto: "as the system says", light: "light", dark: "dark" }[M.theme.choice()]}`);
    }

    nameTheme() {
      const name = { auto: "as the system says", light: "light", dark: "dark" }[M.theme.choice()];
      M.get("theme").setAttribute("aria-label", `Colours: ${name}`);
      M.get("theme").title = `Colours: ${name} (t)`;
    }

    greeted() {
      M.say(M.get("cluster-name"), this.model.hello.cluster || "");
      document.title = `${this.model.hello.cluster || "Marchland"} – Marchland`;
      const { hello } = this.model;
      const blind = hello.world === false ? ["No positions here: the World view has nothing to draw."] : [];
      this.notice([...(hello.notes || []), ...blind].join("  "));
      this.enter(this.address.get());
    }

    notice(text) {
      const box = M.get("notice");
      box.hidden = !text;
      M.say(box, text || "");
    }

    mayAct() {
      return Boolean(this.model.hello && this.model.hello.acts && this.model.live());
    }

    hasTime() {
      return this.name === "world" || this.name === "order";
    }

    go(view) {
      this.address.set({ view, event: view === "order" ? this.address.get().event : null });
    }

    enter(state) {
      this.name = state.view;
      for (const [name, view] of Object.entries(this.views)) {
        M.get(`view-${name}`).hidden = name !== state.view;
        view.visible = name === state.view;
      }
      for (const button of M.get("tabs").children) {
        if (button.dataset.view === state.view) button.setAttribute("aria-current", "page");
        else button.removeAttribute("aria-current");
      }
      this.view = this.views[state.view];
      M.get("timebar").hidden = !this.hasTime();
      if (this.feed) this.feed.watch({ world: state.view === "world" || state.view === "cluster" });
      if (this.model.hello) this.view.enter(state);
    }

    // --- what views ask for ---

    search(text) {
      if (!text) return;
      M.get("search-field").blur();
      if (/^@\d+$/.test(text)) this.address.set({ view: this.hasTime() ? this.name : "world", tick: text.slice(1), event: null });
      else if (/^[\w-]+(@\d+)?:[\w@:.-]+$/.test(text)) this.address.set({ view: "order", event: text, tick: null });
      else if (/^\d{1,20}$/.test(text)) this.openEntity(text);
      else M.toast("Search for an entity's number, an event like cell-2:9911, or @tick", "bad");
    }

    openEntity(id) {
      if (this.views.world.find(id)) this.address.set({ view: "world", entity: id, event: null });
      else this.address.set({ view: this.name === "order" ? "order" : "passport", entity: id, event: null });
    }

    showEvent(event) {
      this.views.order.rootEvent = event;
      this.address.set({ view: "order", entity: event.entity ?? this.address.get().entity ?? null, tick: String(event.tick), event: event.id });
    }

    /** Opens the card of a handoff: beside the map, or as a dialog elsewhere. */
    moveEntity(id, to) {
      if (!this.mayAct()) {
        M.toast("Acts are not possible here", "bad");
        return;
      }
      if (this.card) this.card.close();
      this.card = new M.HandoffCard(this, id, to, () => {
        this.card = null;
        if (this.name !== "world") M.closeDialog();
        else M.get("map").focus({ preventScroll: true });
      });
      if (this.name === "world") this.views.world.facts.addCard(this.card);
      else {
        const { card } = this;
        M.openDialog("Hand over", card.root, () => this.card === card && card.close());
      }
    }

    timeChanged() {
      if (this.view && this.view.timeChanged) this.view.timeChanged();
      this.fetchPictures();
    }

    // --- every frame ---

    frame(now) {
      requestAnimationFrame((next) => this.frame(next));
      const { model } = this;
      if (model.hello) {
        const tick = model.clock.advance(now, model.firstTick(), model.lastTick());
        if (model.clock.mode !== "live") this.fetchPictures();
        if (this.view && this.view.frame) this.view.frame(tick);
        if (this.hasTime()) this.timebar.update();
      }
    }

    /** Of a recording, the pictures around the shown moment are fetched as they are needed. */
    async fetchPictures() {
      const { model } = this;
      if (this.embedded || this.name !== "world" || this.fetching || !model.hello) return;
      const { clock, history } = model;
      const tick = Math.floor(clock.t) + (clock.mode === "play" ? 3 : 0);
      if (!Number.isFinite(tick) || tick === this.fetched || history.covers(tick)) return;
      if (model.live() && tick > history.last()) return;
      this.fetching = true;
      this.fetched = tick;
      try {
        const { worlds, why } = await this.source.world(tick);
        // Pictures go on where they ended, or begin anew elsewhere; live ones are never thrown away.
        const goesOn = worlds.some((frame) => frame.tick > history.last() && frame.tick <= history.last() + 8);
        if (!model.live() && !goesOn) history.clear();
        if (!model.live()) worlds.sort((a, b) => a.tick - b.tick).forEach((frame) => model.take_world(frame, 0));
        if (!worlds.length && why) this.notice(why);
      } catch (error) {
        if (error.status !== 404) this.notice(error.message);
      }
      this.fetching = false;
    }

    showLink() {
      const { link, hello } = this.model;
      const now = performance.now();
      const box = M.get("link");
      const old = this.model.stale(now);
      let [state, text] = ["wait", "connecting"];
      if (link.state === "embedded") [state, text] = ["still", "exported recording"];
      else if (link.state === "open" && hello) {
        if (hello.mode !== "live") [state, text] = ["still", "recording"];
        else [state, text] = old ? ["bad", `silent for ${words.age(now - link.heard)}`] : ["good", "live"];
      } else if (link.state === "lost" || link.state === "retrying") {
        const wait = Math.max(0, link.retryAt - now);
        [state, text] = ["bad", link.state === "retrying" ? "connecting again" : `not connected, again in ${Math.ceil(wait / 1000)} s`];
      }
      box.className = `link ${state}`;
      M.say(M.get("link-text"), text);
      document.body.classList.toggle("cut", link.state === "lost" || link.state === "retrying" || old);
    }
  }

  function start() {
    M.app = new App();
    M.app.start();
  }
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})(globalThis.March);
