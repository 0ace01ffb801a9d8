// Workers of the picture yard and their attempts, generated from a seed for the page's stream.

export interface PictureWorker {
  readonly id: string;
  readonly door: string;
  readonly dialect: string;
  readonly address: string;
  readonly queues: readonly string[];
  readonly slots: number;
  readonly pulls: boolean;
  readonly meanMs: number;
  /** The share of time in which a slot is in use. */
  readonly share: number;
  state: "idle" | "busy" | "draining" | "lost";
}

export type Row = [number, number, number, number, number, number | null, string, string | null, number];

export interface Frame {
  from: number;
  to: number;
  workers: string[];
  queues: string[];
  rows: Row[];
  busyFrom: number;
  busy: [number, number, number, number][];
  began: number;
  ended: number;
  shown: number;
  stalls: [number, number][];
}

/** Small, and the same on every machine. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function pictureWorkers(): PictureWorker[] {
  const workers: PictureWorker[] = [];
  const add = (door: string, name: string, queues: string[], options: Partial<PictureWorker>) =>
    workers.push({
      id: `${door}/${name}`,
      door,
      dialect: door,
      address: `10.0.4.${9 + workers.length}:${38_000 + workers.length}`,
      queues,
      slots: 1,
      pulls: false,
      meanMs: 4_000,
      share: 0.97,
      state: "busy",
      ...options,
    });
  for (const name of ["ann", "ben", "cy", "dot", "eve", "fay"]) {
    add("http", name, ["thumbs"], { pulls: true, slots: 4, meanMs: 120, share: 0.7 });
  }
  for (const name of ["gus", "hal", "ida", "joe"]) add("http", name, ["render"], { pulls: true });
  for (const name of ["kim", "leo"]) add("http", name, [], { pulls: true, state: "idle", share: 0 });
  for (let at = 1; at <= 8; at += 1) add("pingpong", `gpu-0${at}`, ["render"], { meanMs: 5_200 });
  for (let at = 21; at <= 26; at += 1)
    add("udp", `10.0.4.${at}:5601`, ["sensors"], { meanMs: 180, share: 0.24 });
  for (const name of ["clock-1", "clock-2"])
    add("monique", name, ["example_clock"], { meanMs: 420, share: 0.23 });
  for (let at = 1; at <= 24; at += 1) {
    add("scaler", `w-${String(at).padStart(2, "0")}`, ["fit-models", "sensors"], {
      slots: 40,
      meanMs: 2_800,
      share: 0.96,
    });
  }
  const eve = workers.find(({ id }) => id === "http/eve");
  if (eve) eve.state = "draining";
  return workers;
}

interface Slot {
  readonly worker: PictureWorker;
  queue: string;
  freeAt: number;
  attempt: number;
  task: number;
  startedAt: number;
  endsAt: number;
  outcome: string;
  tryNumber: number;
}

/** Plays the workers' attempts along a clock that the caller moves. */
export class PictureStream {
  readonly #random = seeded(7);
  readonly #slots: Slot[] = [];
  readonly #waiting: { task: number; queue: string }[] = [];
  #task = 4_170_000;
  #attempt = 2 ** 32;
  #at: number;

  constructor(workers: readonly PictureWorker[], from: number) {
    this.#at = from;
    for (const worker of workers) {
      for (let slot = 0; slot < worker.slots; slot += 1) {
        if (worker.share === 0) continue;
        const freeAt = from - this.#random() * worker.meanMs;
        this.#slots.push({
          worker,
          queue: "",
          freeAt,
          attempt: 0,
          task: 0,
          startedAt: 0,
          endsAt: 0,
          outcome: "",
          tryNumber: 1,
        });
      }
    }
  }

  advance(to: number): Frame {
    const from = this.#at;
    const frame: Frame = {
      from,
      to,
      workers: [],
      queues: [],
      rows: [],
      busyFrom: from,
      busy: [],
      began: 0,
      ended: 0,
      shown: 0,
      stalls: [],
    };
    const busy = new Map<string, { worker: number; queue: number; running: number; ms: number }>();
    for (const slot of this.#slots) this.#play(slot, frame, busy);
    frame.busy = [...busy.values()].map(({ worker, queue, running, ms }) => [
      worker,
      queue,
      running,
      Math.round(ms),
    ]);
    frame.shown = frame.rows.length;
    this.#at = to;
    return frame;
  }

  #play(
    slot: Slot,
    frame: Frame,
    busy: Map<string, { worker: number; queue: number; running: number; ms: number }>,
  ): void {
    const { from, to } = frame;
    let isWorking = slot.attempt !== 0;
    for (;;) {
      if (!isWorking) {
        if (slot.freeAt >= to) return;
        this.#begin(slot);
        isWorking = true;
        frame.began += 1;
        if (slot.endsAt > to) frame.rows.push(this.#row(slot, frame, null));
      }
      this.#count(slot, frame, busy);
      if (slot.endsAt > to) return;
      frame.rows.push(this.#row(slot, frame, slot.endsAt - from));
      frame.ended += 1;
      if (slot.outcome === "lost") this.#waiting.push({ task: slot.task, queue: slot.queue });
      const pause = slot.worker.meanMs * (1 / Math.max(0.01, slot.worker.share) - 1) * 2 * this.#random();
      slot.freeAt = slot.endsAt + pause + (slot.outcome === "lost" ? 3_000 : 0);
      slot.attempt = 0;
      isWorking = false;
    }
  }

  #begin(slot: Slot): void {
    const { worker } = slot;
    const random = this.#random;
    const again = worker.queues.includes(this.#waiting[0]?.queue ?? "") ? this.#waiting.shift() : undefined;
    this.#attempt += 1;
    this.#task += 1;
    slot.attempt = this.#attempt;
    slot.task = again?.task ?? this.#task;
    slot.tryNumber = again ? 2 : 1;
    slot.queue = again?.queue ?? (worker.queues[random() < 0.95 ? 0 : worker.queues.length - 1] as string);
    slot.startedAt = Math.max(this.#at - worker.meanMs, slot.freeAt);
    slot.endsAt = slot.startedAt + worker.meanMs * (0.3 + random() * 1.4);
    const chance = random();
    const isRender = slot.queue === "render";
    slot.outcome =
      isRender && worker.id.endsWith("gpu-04") && chance < 0.3
        ? "failed"
        : isRender && chance < 0.015
          ? "lost"
          : "done";
  }

  #row(slot: Slot, frame: Frame, end: number | null): Row {
    const outcome = end === null ? "running" : slot.outcome;
    const reason = outcome === "lost" ? "connection_closed" : outcome === "failed" ? "exit_137" : null;
    const start = Math.round(slot.startedAt - frame.from);
    const worker = place(frame.workers, slot.worker.id);
    return [
      slot.task,
      slot.attempt,
      worker,
      place(frame.queues, slot.queue),
      start,
      end === null ? null : Math.round(end),
      outcome,
      reason,
      slot.tryNumber,
    ];
  }

  #count(
    slot: Slot,
    frame: Frame,
    busy: Map<string, { worker: number; queue: number; running: number; ms: number }>,
  ): void {
    const ms = Math.min(frame.to, slot.endsAt) - Math.max(frame.from, slot.startedAt);
    if (ms <= 0) return;
    const key = `${slot.worker.id} ${slot.queue}`;
    const entry = busy.get(key) ?? {
      worker: place(frame.workers, slot.worker.id),
      queue: place(frame.queues, slot.queue),
      running: 0,
      ms: 0,
    };
    entry.ms += ms;
    if (slot.endsAt > frame.to) entry.running += 1;
    busy.set(key, entry);
  }
}

function place(names: string[], name: string): number {
  const at = names.indexOf(name);
  if (at >= 0) return at;
  names.push(name);
  return names.length - 1;
}
