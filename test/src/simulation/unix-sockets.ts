// The simulated folder of Unix sockets: the system accepts connections for a busy process,
// connections end with the process at either end, and some are cut, as the seed decides.

import { EventEmitter } from "node:events";
import type { Dialled, PulseFolder, Wire } from "@yardmaster/server";
import { type Item, Pipe } from "./pipe.js";
import type { Random } from "./random.js";
import { Process, type World } from "./world.js";

export interface SocketFaults {
  /** Share of connections that are cut soon after they were made, at any point. */
  readonly cuts: number;
  /** Share of writes with a long delay. */
  readonly late: number;
}

type Reason = "end" | "reset";

interface Listener {
  readonly process: Process;
  readonly take: (wire: SimulatedWire) => void;
}

const usualMs = 1;
const lateMs = 300;
const cutMsMax = 6;

export class UnixSockets {
  readonly #world: World;
  readonly #random: Random;
  readonly #listeners = new Map<string, Listener>();
  readonly #wires = new Set<SimulatedWire>();
  faults: SocketFaults;

  constructor(world: World, random: Random, faults: SocketFaults) {
    this.#world = world;
    this.#random = random;
    this.faults = faults;
  }

  /** Replaces whatever is at the path. */
  listen(path: string, listener: Listener): void {
    this.#listeners.set(path, listener);
  }

  unlink(path: string): void {
    this.#listeners.delete(path);
  }

  get paths(): string[] {
    return [...this.#listeners.keys()];
  }

  /** The living process that listens there. */
  ownerOf(path: string): Process | undefined {
    const process = this.#listeners.get(path)?.process;
    return process?.isDead === false ? process : undefined;
  }

  dial(path: string, process: Process): Dialled & { readonly wire?: SimulatedWire } {
    const listener = this.#listeners.get(path);
    if (listener === undefined) return { missed: "ENOENT" };
    const near = new SimulatedWire(this.#world, this.#random, process, () => near.emit("connect"));
    if (listener.process.isDead) {
      this.#world.plan(process, 0, () =>
        near.emit("error", Object.assign(new Error(), { code: "ECONNREFUSED" })),
      );
      return { wire: near };
    }
    const far = new SimulatedWire(this.#world, this.#random, listener.process, () => listener.take(far));
    this.#join(near, far);
    this.#world.say(process.name, () => `connects to ${path}`);
    return { wire: near };
  }

  #join(near: SimulatedWire, far: SimulatedWire): void {
    const delayMs = () =>
      this.#random.between(0.02, this.#random.chance(this.faults.late) ? lateMs : usualMs);
    near.join(far, delayMs);
    far.join(near, delayMs);
    for (const wire of [near, far]) {
      this.#wires.add(wire);
      wire.once("close", () => this.#wires.delete(wire));
    }
    if (!this.#random.chance(this.faults.cuts)) return;
    this.#world.plan(environment, this.#random.between(0, cutMsMax), () => {
      this.#world.say(near.process.name, () => `CUT from ${far.process.name}`);
      near.cut();
      far.cut();
    });
  }

  /** Its machine closes its open connections. */
  died(process: Process): void {
    for (const wire of this.#wires) {
      if (wire.process !== process) continue;
      this.#wires.delete(wire);
      wire.hangUp();
    }
  }

  folderOf(process: Process): PulseFolder {
    const workerPath = (id: bigint) => `${id}.sock`;
    return {
      dir: "",
      workerPath,
      workerIds: () =>
        this.paths.filter((path) => path !== mainPath).map((path) => BigInt(path.replace(".sock", ""))),
      listen: (take) => {
        this.listen(mainPath, { process, take });
        return Promise.resolve();
      },
      dial: (id) => this.dial(workerPath(id), process),
      close: () => Promise.resolve(),
    };
  }
}

export const mainPath = "main.sock";

const environment = new Process("environment");

/** One end of a connection. */
export class SimulatedWire extends EventEmitter implements Wire {
  readonly process: Process;
  readonly #world: World;
  readonly #random: Random;
  readonly #came: () => void;
  /** The pipes that this end and the other end read. */
  #in: Pipe<Reason> | undefined;
  #out: Pipe<Reason> | undefined;
  peer: Process | undefined;
  #isOver = false;

  constructor(world: World, random: Random, process: Process, came: () => void) {
    super();
    this.#world = world;
    this.#random = random;
    this.process = process;
    this.#came = came;
  }

  join(other: SimulatedWire, delayMs: () => number): void {
    const reader = { process: this.process, take: (item: Item<Reason>) => this.#take(item) };
    this.#in = new Pipe(this.#world, reader, delayMs);
    this.#in.put({ type: "came" });
    this.peer = other.process;
    other.#out = this.#in;
  }

  cork(): void {}

  uncork(): void {}

  /** One write is not always read at once. */
  write(bytes: Buffer): void {
    const at = this.#random.chance(0.2) ? this.#random.integer(0, bytes.length) : bytes.length;
    for (const part of [bytes.subarray(0, at), bytes.subarray(at)]) {
      if (part.length > 0) this.#out?.put({ type: "message", frames: [Buffer.from(part)] });
    }
  }

  end(bytes: Buffer, whenSent: () => void = () => {}): void {
    this.write(bytes);
    this.#out?.end("end");
    this.#world.plan(this.process, 0, whenSent);
  }

  destroy(): void {
    if (this.#isOver) return;
    this.hangUp();
    this.#world.plan(this.process, 0, () => this.emit("close"));
  }

  /** Closes without notifying the owner. */
  hangUp(): void {
    this.#isOver = true;
    this.#in?.drop();
    this.#out?.end("end");
  }

  cut(): void {
    this.#in?.cut("reset", this.#random.between(0.02, usualMs), this.#random.chance(0.5));
  }

  #take(item: Item<Reason>): void {
    if (this.#isOver) return;
    if (item.type === "came") this.#came();
    else if (item.type === "message") for (const frame of item.frames) this.emit("data", frame);
    else {
      if (item.reason === "end") this.emit("end");
      // A connection that closed before it was accepted is not reported.
      else if (this.listenerCount("error") > 0)
        this.emit("error", Object.assign(new Error("reset"), { code: "ECONNRESET" }));
      this.destroy();
    }
  }
}
