"use strict";
// The five steps of a handoff, found in the events of one entity. Pure.
(function (M) {
  const STEPS = [
    ["offer", "Offer", "the old owner makes its last step, freezes, and offers the copy"],
    ["commit", "Commit", "the base writes the record that changes the owner"],
    ["acquire", "Acquire", "the grant wakes the new real, under a higher epoch"],
    ["first", "First step", "its first step is accepted: complete"],
    ["release", "Release", "the old real becomes a ghost"],
  ];
  M.HANDOFF_STEPS = STEPS;

  const epochOf = (event) => event.epoch ?? (event.fields || {}).epoch ?? null;
  const field = (event, name) => (event.fields || {})[name];

  /** What the values of a node field are: "cell-2@7", { name } or a plain name. */
  M.nodeName = function (value) {
    if (value === null || value === undefined) return null;
    if (typeof value === "object") return M.nodeName(value.name ?? value.node ?? null);
    return String(value).split("@")[0];
  };

  /**
   * The newest handoff of an entity at or after a tick.
   * `state`: waiting | running | done | refused; `steps`: an event, or null, for each of the five.
   */
  M.handoffOf = function (events, entity, from) {
    const own = events
      .filter((event) => event.entity === entity && event.tick >= (from ?? -Infinity))
      .sort(M.compareEvents);
    const start = own.findLastIndex((event) => event.kind === "Frozen");
    const refusedAlone = own.findLast((event) => event.kind === "HandoffRefused");
    if (start < 0) {
      const state = refusedAlone ? "refused" : "waiting";
      return { state, steps: STEPS.map(() => null), refused: refusedAlone || null, gap: null, digestsEqual: null };
    }
    const offer = own[start];
    const after = own.slice(start + 1);
    const epoch = epochOf(offer);
    const commit = after.find((event) => event.kind === "OwnerChanged") || null;
    const acquire = after.find((event) => event.kind === "Activated" && event.process !== offer.process) || null;
    const first = after.find((event) => event.kind === "FirstStep") || null;
    const release = after.find((event) => event.kind === "Deactivated" && event.process === offer.process) || null;
    const back = after.find((event) => event.kind === "Unfrozen" && event.process === offer.process);
    const refused = after.find((event) => event.kind === "HandoffRefused") || back || null;
    const steps = [offer, commit, acquire, first, release];
    const over = Boolean(acquire && first);
    const state = refused && !acquire ? "refused" : over ? "done" : "running";
    return {
      state,
      steps,
      refused: state === "refused" ? refused : null,
      from: offer.process,
      to: acquire ? acquire.process : M.nodeName(field(offer, "target")),
      epoch,
      newEpoch: acquire ? epochOf(acquire) : commit ? epochOf(commit) : null,
      gap: acquire ? acquire.tick - offer.tick : null,
      digestsEqual: digestsEqual(own, offer, acquire),
      meanwhile: meanwhile(own, offer, acquire),
    };
  };

  /** Whether the new real began with the digest that the old one ended with; null if nobody tells. */
  function digestsEqual(own, offer, acquire) {
    if (!acquire || field(acquire, "digest") === undefined) return null;
    const seq = field(acquire, "seq");
    const before = own.findLast((event) => {
      if (event === acquire || event.tick > acquire.tick) return false;
      const last = event.kind === "Stepped" && event.process === offer.process;
      return last || (event.kind === "Accepted" && field(event, "seq") === seq);
    });
    const digest = field(offer, "digest") ?? (before ? field(before, "digest") : undefined);
    return digest === undefined ? null : String(digest) === String(field(acquire, "digest"));
  }

  /** What waited at the base or on the way while nobody simulated the entity. */
  function meanwhile(own, offer, acquire) {
    if (!acquire) return null;
    const during = own.filter((event) => event.tick >= offer.tick && event.tick <= acquire.tick);
    const count = (kinds) => during.filter((event) => kinds.includes(event.kind)).length;
    return { commands: count(["CommandQueued"]), refused: during.filter((event) => event.anomaly).length };
  }
})(globalThis.March);
