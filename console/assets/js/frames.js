"use strict";
// Pictures of the world as they come, packed, and the last sixty seconds of them. Pure.
//
// A packed frame holds for each dot where it was in the process's picture before (px, py), so that
// drawing between two pictures is one line of arithmetic and no look-up.
(function (M) {
  /** How much of the past is kept, in ticks at most and in dots at most over all processes. */
  const KEEP_MS = 60000;
  const DOTS_MAX = 2500000;
  const MOVES_MAX = 4000;

  /** Gives the same string object for the same id, and forgets ids that nobody shows any more. */
  class Names {
    constructor() {
      this.now = new Map();
      this.old = new Map();
    }

    one(id) {
      let name = this.now.get(id);
      if (name === undefined) {
        name = this.old.get(id) ?? id;
        this.now.set(name, name);
      }
      return name;
    }

    age() {
      this.old = this.now;
      this.now = new Map();
    }
  }

  function rows(list, names, before, withOwner) {
    const n = list.length;
    const out = {
      n,
      ids: new Array(n),
      kinds: new Array(n),
      x: new Float32Array(n),
      y: new Float32Array(n),
      px: new Float32Array(n),
      py: new Float32Array(n),
      epoch: new Float64Array(n),
      owners: withOwner ? new Array(n) : null,
      state: withOwner ? new Float64Array(n) : null,
    };
    for (let i = 0; i < n; i++) {
      const row = list[i];
      const id = names.one(String(row[0]));
      out.ids[i] = id;
      out.kinds[i] = row[1];
      out.x[i] = row[2];
      out.y[i] = row[3];
      out.epoch[i] = row[4];
      if (withOwner) {
        out.owners[i] = names.one(String(row[5]));
        out.state[i] = row[6];
      }
      const was = before ? before.places.get(id) : undefined;
      out.px[i] = was === undefined ? row[2] : before.xs[was];
      out.py[i] = was === undefined ? row[3] : before.ys[was];
    }
    return out;
  }

  /** Where everything was in the newest frame of one process: reals win over ghosts. */
  function placesOf(frame) {
    const n = frame.reals.n + frame.ghosts.n;
    const places = { places: new Map(), xs: new Float32Array(n), ys: new Float32Array(n) };
    let at = 0;
    for (const part of [frame.ghosts, frame.reals]) {
      for (let i = 0; i < part.n; i++, at++) {
        places.places.set(part.ids[i], at);
        places.xs[at] = part.x[i];
        places.ys[at] = part.y[i];
      }
    }
    return places;
  }

  class History {
    constructor(stepMs) {
      this.keepTicks = Math.ceil(KEEP_MS / stepMs);
      this.names = new Names();
      this.tracks = new Map(); // "process/space" → { process, space, frames, newest places }
      this.dots = 0;
      this.aged = 0;
      this.reals = new Map(); // id → { process, epoch, tick }
      this.moves = []; // reals that are somewhere else than before
      this.moved = new Set();
    }

    /** Takes a `world` frame of the feed. Frames of one process come in order; others are dropped. */
    add(raw) {
      const key = `${raw.process}/${raw.space}`;
      let track = this.tracks.get(key);
      if (!track || track.incarnation !== raw.incarnation) {
        if (track) track.frames.forEach((frame) => (this.dots -= frame.reals.n + frame.ghosts.n));
        track = { process: raw.process, space: raw.space, incarnation: raw.incarnation, frames: [], last: null };
        this.tracks.set(key, track);
      }
      const newest = track.frames.at(-1);
      if (newest && raw.tick <= newest.tick) return null;
      const frame = {
        process: raw.process,
        space: raw.space,
        tick: raw.tick,
        before: newest ? newest.tick : raw.tick,
        reals: rows(raw.reals || [], this.names, track.last, false),
        ghosts: rows(raw.ghosts || [], this.names, track.last, true),
      };
      track.last = placesOf(frame);
      track.frames.push(frame);
      this.dots += frame.reals.n + frame.ghosts.n;
      this.compare(frame);
      this.trim(raw.tick);
      return frame;
    }

    /** Notes who is real somewhere else than before: the handoffs, as the pictures show them. */
    compare(frame) {
      const { ids, epoch, x, y } = frame.reals;
      for (let i = 0; i < ids.length; i++) {
        const was = this.reals.get(ids[i]);
        if (was && was.process !== frame.process && epoch[i] > was.epoch) {
          const move = { id: ids[i], from: was.process, to: frame.process, epoch: epoch[i] };
          this.noteMove({ ...move, tick: frame.tick, space: frame.space, x: x[i], y: y[i] });
        }
        if (!was) this.reals.set(ids[i], { process: frame.process, epoch: epoch[i], tick: frame.tick });
        else if (epoch[i] >= was.epoch) Object.assign(was, { process: frame.process, epoch: epoch[i], tick: frame.tick });
      }
    }

    noteMove(move) {
      const key = (one) => `${one.id}/${one.epoch}`;
      if (this.moved.has(key(move))) return;
      this.moved.add(key(move));
      this.moves.push(move);
      if (this.moves.length > MOVES_MAX) this.moved.delete(key(this.moves.shift()));
    }

    trim(tick) {
      for (const track of this.tracks.values()) {
        while (track.frames.length > 1 && track.frames[0].tick < tick - this.keepTicks) this.drop(track);
        if (track.frames.at(-1).tick < tick - this.keepTicks) {
          while (track.frames.length) this.drop(track);
        }
      }
      while (this.dots > DOTS_MAX) {
        const oldest = [...this.tracks.values()]
          .filter((track) => track.frames.length > 2)
          .sort((a, b) => a.frames[0].tick - b.frames[0].tick)[0];
        if (!oldest) break;
        this.drop(oldest);
      }
      for (const [key, track] of this.tracks) if (!track.frames.length) this.tracks.delete(key);
      if (tick - this.aged > this.keepTicks) {
        this.aged = tick;
        this.names.age();
        for (const [id, real] of this.reals) if (real.tick < tick - this.keepTicks) this.reals.delete(id);
      }
    }

    drop(track) {
      const gone = track.frames.shift();
      this.dots -= gone.reals.n + gone.ghosts.n;
    }

    first() {
      return Math.min(...[...this.tracks.values()].map((track) => track.frames[0].tick));
    }

    last() {
      return Math.max(...[...this.tracks.values()].map((track) => track.frames.at(-1).tick));
    }

    /** For each process with this space: its frame for this moment, and how far into it we are. */
    at(space, tick) {
      const found = [];
      for (const track of this.tracks.values()) {
        if (track.space !== space) continue;
        const frame = pick(track.frames, tick);
        const span = frame.tick - frame.before;
        const alpha = span > 0 ? M.clamp((tick - frame.before) / span, 0, 1) : 1;
        found.push({ frame, alpha, late: tick - track.frames.at(-1).tick });
      }
      return found;
    }

    /** Whether the pictures around a moment are here. */
    covers(tick) {
      return this.tracks.size > 0 && tick >= this.first() && tick <= this.last() - 1;
    }

    clear() {
      this.tracks.clear();
      this.reals.clear();
      this.dots = 0;
    }
  }

  /** The first frame at or after the moment, else the newest. */
  function pick(frames, tick) {
    let low = 0;
    let high = frames.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (frames[middle].tick >= tick) high = middle;
      else low = middle + 1;
    }
    return frames[low];
  }

  M.History = History;
})(globalThis.March);
