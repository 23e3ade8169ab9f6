"use strict";
// What is to be seen at one moment: dots between two pictures, who is under the pointer, and
// everything that the pictures know of one entity. Pure.
(function (M) {
  /** The place of dot `i` of a part at `alpha` between the picture before and this one. */
  M.placeOf = (part, i, alpha) => [
    part.px[i] + (part.x[i] - part.px[i]) * alpha,
    part.py[i] + (part.y[i] - part.py[i]) * alpha,
  ];

  /** The nearest dot to a point of the world within `reach` millimetres; reals win over ghosts. */
  M.dotNear = function (shown, x, y, reach) {
    let best = null;
    for (const { frame, alpha } of shown) {
      for (const role of ["reals", "ghosts"]) {
        const part = frame[role];
        for (let i = 0; i < part.n; i++) {
          const [dx, dy] = M.placeOf(part, i, alpha);
          // A ghost has to be a good deal nearer to be meant.
          const away = Math.hypot(dx - x, dy - y) + (role === "ghosts" ? reach * 0.35 : 0);
          if (away <= reach && (!best || away < best.away)) {
            best = { id: part.ids[i], role, process: frame.process, x: dx, y: dy, away };
          }
        }
      }
    }
    return best;
  };

  /** Everything shown of one entity: its real, if there is one, and its ghosts. */
  M.entityIn = function (shown, id) {
    const found = { id, real: null, ghosts: [] };
    for (const { frame, alpha } of shown) {
      const at = frame.reals.ids.indexOf(id);
      if (at >= 0) {
        const [x, y] = M.placeOf(frame.reals, at, alpha);
        const ticks = frame.tick - frame.before || 1;
        const moved = Math.hypot(frame.reals.x[at] - frame.reals.px[at], frame.reals.y[at] - frame.reals.py[at]);
        const real = { process: frame.process, space: frame.space, tick: frame.tick, x, y, kind: frame.reals.kinds[at], epoch: frame.reals.epoch[at], perTick: moved / ticks };
        if (!found.real || found.real.epoch < real.epoch) found.real = real;
      }
      const ghost = frame.ghosts.ids.indexOf(id);
      if (ghost >= 0) {
        const part = frame.ghosts;
        const [x, y] = M.placeOf(part, ghost, alpha);
        found.ghosts.push({ process: frame.process, owner: part.owners[ghost], epoch: part.epoch[ghost], kind: part.kinds[ghost], x, y, age: frame.tick - part.state[ghost] });
      }
    }
    return found.real || found.ghosts.length ? found : null;
  };

  /** The path of an entity over the last ticks, oldest first, as far as pictures are kept. */
  M.trailOf = function (history, space, id, tick, ticks) {
    const points = [];
    for (const track of history.tracks.values()) {
      if (track.space !== space) continue;
      for (let i = track.frames.length - 1; i >= 0; i--) {
        const frame = track.frames[i];
        if (frame.tick > tick) continue;
        if (frame.tick < tick - ticks) break;
        const at = frame.reals.ids.indexOf(id);
        if (at >= 0) points.push([frame.tick, frame.reals.x[at], frame.reals.y[at], frame.process]);
      }
    }
    return points.sort((a, b) => a[0] - b[0]);
  };

  /** Handoffs that are to be drawn at this moment, with how far their picture has come (0..1). */
  M.movesAt = function (moves, space, tick, ticks) {
    const found = [];
    for (let i = moves.length - 1; i >= 0; i--) {
      const move = moves[i];
      if (move.tick < tick - ticks * 4) break;
      if (move.space === space && move.tick <= tick && move.tick > tick - ticks) {
        found.push({ ...move, part: (tick - move.tick) / ticks });
      }
    }
    return found;
  };

  /** How the kind of a row is called: rows have a number or a name. */
  M.kindName = (hello, kind) => {
    if (typeof kind === "string") return kind;
    const kinds = (hello && hello.kinds) || [];
    const known = Array.isArray(kinds) ? kinds[kind] : kinds[String(kind)];
    return known ?? `kind ${kind}`;
  };
})(globalThis.March);
