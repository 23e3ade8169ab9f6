"use strict";
// What numbers and names are called: formats, and the kinds of events with what they mean.
(function (M) {
  const thin = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

  const words = {
    /** 12345 → 12,345 */
    count: (n) => (n === null || n === undefined ? "–" : thin.format(n)),

    /** Milliseconds as an age that a person reads at a glance. */
    age(ms) {
      if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
      if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
      if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
      if (ms < 3600000) return `${Math.floor(ms / 60000)} min`;
      return `${Math.floor(ms / 3600000)} h`;
    },

    ticks: (n) => (n === 1 ? "1 tick" : `${words.count(n)} ticks`),

    bytes(n) {
      if (n === null || n === undefined) return "–";
      return n < 1024 ? `${n} B` : n < 1048576 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 1048576).toFixed(1)} MiB`;
    },

    micros: (us) => (us < 1000 ? `${Math.round(us)} µs` : `${(us / 1000).toFixed(1)} ms`),

    metres: (mm) => `${(mm / 1000).toFixed(2)} m`,

    /** A long identity, short enough to compare: first and last four. */
    short(id) {
      const text = String(id);
      return text.length > 10 ? `${text.slice(0, 4)}…${text.slice(-4)}` : text;
    },

    value(value) {
      if (value === null || value === undefined) return "–";
      return typeof value === "object" ? JSON.stringify(value) : String(value);
    },
  };

  // group, short label, what it means
  const KINDS = {
    Activated: ["own", "active", "This process simulates the entity from this tick on."],
    Frozen: ["own", "frozen", "It stopped simulating: the copy stands still until the handoff ends."],
    Unfrozen: ["own", "unfrozen", "The handoff was called off; it goes on under the same epoch."],
    Deactivated: ["own", "released", "The copy is gone from this process."],
    OwnerChanged: ["own", "owner", "The base wrote the record that changes ownership: the commit point."],
    FirstStep: ["own", "first step", "The first step of the new epoch was accepted: the handoff is complete."],
    HandoffRefused: ["own", "refused", "The base refused a handoff; the owner goes on."],
    Strayed: ["own", "strayed", "It stands outside all own cells: from here on it is to be handed over."],
    Returned: ["own", "returned", "It stands inside again, or nobody takes it: no handoff after all."],
    Created: ["own", "born", "The entity was born."],
    Destroyed: ["own", "ended", "The entity ended."],
    Recovered: ["own", "recovered", "This life goes on from the log of the one before it."],
    OrderEnded: ["own", "order ended", "An operator's order ended."],
    FencedSent: ["own", "fenced", "Somebody acted under an ended epoch, and was told so."],
    Stepped: ["step", "stepped", "The owner made a step."],
    Accepted: ["step", "accepted", "The base made the step part of the lineage."],
    Durable: ["step", "durable", "The log reported: everything up to here is on disk."],
    TimerFired: ["step", "timer", "A timer fired."],
    TimerLate: ["step", "timer late", "A periodic timer was late; its declared policy decided."],
    TicksDropped: ["step", "dropped", "Ticks that were not run."],
    WindowClosed: ["step", "window shut", "Too much is not durable: the entities of a base stand still."],
    WindowOpened: ["step", "window open", "The entities of a base run again."],
    Listed: ["step", "listed", "A cellapp has said what it holds: its ticks count as durable again."],
    GhostFlushed: ["ghost", "ghost out", "The owner sent a ghost state to its hosts."],
    GhostApplied: ["ghost", "ghost in", "This process shows that ghost state."],
    GhostEnded: ["ghost", "ghost gone", "This process holds the ghost no more."],
    Entered: ["ghost", "in view", "A client begins to see an entity."],
    Left: ["ghost", "out of view", "A client sees it no more."],
    ViewRestarted: ["ghost", "view anew", "A client forgets what it saw and begins anew."],
    CommandQueued: ["command", "queued", "A client's command was queued at the base."],
    CommandRun: ["command", "command", "The owner decided a command."],
    CommandConfirmed: ["command", "confirmed", "A command's outcome was released to its client."],
    CommandAnswered: ["command", "answered", "The base answered a command that no owner ever saw."],
    ClientSent: ["command", "sent", "The client sent a command."],
    ClientAnswered: ["command", "answered", "The client got an answer."],
    ClientSaw: ["command", "saw", "The client saw a state of an entity."],
    ClientWelcome: ["command", "welcome", "The session was opened or resumed."],
    SessionOpened: ["command", "session", "A client took an entity."],
    SessionClosed: ["command", "session end", "A session ended."],
    MessageRun: ["message", "message", "The receiver's owner decided a message."],
    MessageReleased: ["message", "released", "A message left its source's base."],
    MessageTaken: ["message", "taken", "A message's outcome is durable at its receiver."],
    MessageClosed: ["message", "closed", "A message's answer is durable at its source."],
    SignalRun: ["message", "signal", "A signal was handled."],
    SignalSkipped: ["message", "skipped", "Signals that did not come in time were given up."],
    Burned: ["message", "burned", "Value came back after its sender had ended: it left the world."],
    sent: ["bundle", "sent", "A bundle left for a peer: one per peer and output moment."],
    received: ["bundle", "got", "A bundle was taken in."],
    SlotTaken: ["slot", "slot taken", "This base keeps the slot from here on."],
    SlotFrozen: ["slot", "slot frozen", "The slot is on its way to another base."],
    SlotGiven: ["slot", "slot given", "The slot is another base's; nothing of it is here any more."],
    SlotKept: ["slot", "slot kept", "This life goes on with a slot of an earlier one."],
    SlotAdopted: ["slot", "slot read", "What this base has of the slot was read out of a lost base's log."],
    SlotFollowed: ["slot", "slot follows", "From here on the slot's entities answer to this base life."],
    LinkBegan: ["slot", "link up", "A connection that carries what is ordered began."],
    LinkEnded: ["slot", "link down", "A connection ended; what it did not carry, the next one does."],
    Refusal: ["refusal", "refused", "Something was refused or dropped, for a typed reason."],
  };

  /** The groups that the Order view filters by, in their order. */
  words.GROUPS = [
    ["own", "Ownership"],
    ["step", "Steps"],
    ["ghost", "Ghosts"],
    ["command", "Commands"],
    ["message", "Messages"],
    ["bundle", "Bundles"],
    ["slot", "Slots, links"],
    ["refusal", "Refusals"],
  ];

  words.kindsOf = (group) => Object.keys(KINDS).filter((kind) => KINDS[kind][0] === group);
  words.group = (kind) => (KINDS[kind] || ["own"])[0];
  words.label = (kind) => (KINDS[kind] || [0, kind])[1];
  words.meaning = (kind) => (KINDS[kind] || [0, 0, ""])[2];

  /** The reason inside `refused:StaleEpoch`, for people. */
  words.reason = (anomaly) =>
    String(anomaly)
      .replace(/^[a-z]+:/, "")
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .replaceAll("_", " ")
      .toLowerCase();

  M.words = words;
})(globalThis.March);
