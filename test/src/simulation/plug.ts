// A peer's end of its connections: it connects until a listener is there, and reconnects when the
// connection is gone, as DEALER and REQ sockets do.

import type { Item } from "./pipe.js";
import type { Random } from "./random.js";
import { copyOf } from "./router.js";
import type { Line, Streams } from "./streams.js";
import type { Process, World } from "./world.js";

export interface PlugOptions extends Pick<Line, "endpoint" | "identity" | "socketType"> {
  readonly process: Process;
  /** The line is connected. */
  came(line: number): void;
  receive(line: number, frames: Buffer[]): void;
  gone(line: number): void;
}

export class Plug {
  readonly #world: World;
  readonly #streams: Streams;
  readonly #random: Random;
  readonly #options: PlugOptions;
  #line: Line | undefined;
  #isThere = false;
  #isPulled = false;

  constructor(world: World, streams: Streams, random: Random, options: PlugOptions) {
    this.#world = world;
    this.#streams = streams;
    this.#random = random;
    this.#options = options;
    this.#dialSoon();
  }

  /** The number of the current connection, if there is one. */
  get line(): number | undefined {
    return this.#isThere ? this.#line?.id : undefined;
  }

  /** Returns false if there is no connection. */
  send(frames: readonly Buffer[]): boolean {
    if (!this.#isThere || this.#line === undefined) return false;
    this.#world.say(this.#options.process.name, () => `> line ${this.#line?.id} ${show(frames)}`);
    this.#line.toRouter.put({ type: "message", frames: copyOf(frames) });
    return true;
  }

  /** Disconnects for good. */
  pull(): void {
    this.#isPulled = true;
    this.#isThere = false;
    if (this.#line !== undefined) this.#streams.hangUp(this.#line);
    this.#line = undefined;
  }

  #dialSoon(): void {
    const ms = this.#random.chance(0.7) ? 100 : 2_000;
    this.#world.plan(this.#options.process, this.#random.between(1, ms), () => {
      if (this.#isPulled) return;
      const line = this.#streams.connect(this.#options, {
        process: this.#options.process,
        take: (item) => {
          if (line !== undefined && line === this.#line) this.#take(line, item);
        },
      });
      this.#line = line;
      if (line === undefined) this.#dialSoon();
    });
  }

  #take(line: Line, item: Item<unknown>): void {
    if (item.type === "came") {
      this.#isThere = true;
      this.#options.came(line.id);
    } else if (item.type === "message") {
      this.#world.say(this.#options.process.name, () => `< line ${line.id} ${show(item.frames)}`);
      this.#options.receive(line.id, item.frames);
    } else {
      const wasThere = this.#isThere;
      this.#isThere = false;
      this.#line = undefined;
      this.#world.say(this.#options.process.name, () => `line ${line.id} is gone`);
      // The other end may still think that it is connected.
      line.toRouter.end("closed");
      line.isWhole = false;
      this.#dialSoon();
      if (wasThere) this.#options.gone(line.id);
    }
  }
}

function show(frames: readonly Buffer[]): string {
  return JSON.stringify(frames.map((frame) => frame.toString("latin1")));
}
