// Schedules in a run: two are created once, in the first process, and must continue through
// crashes, stalls and jumps of the wall clock. Their tasks have no workers and expire.

import type { Effect } from "@yardmaster/core";
import type { Door, Port } from "@yardmaster/server";
import { Violation } from "./checker.js";
import { DiskTasks } from "./disk-tasks.js";
import type { Side, SideOptions } from "./side.js";
import { Process } from "./world.js";

const everyMs = 700;
/** The core checks the wall clock once a minute; after that a schedule has caught up. */
const settleMs = 70_000;

export class ScheduleSide implements Side {
  readonly door = "timetable";
  readonly #options: SideOptions;
  readonly #disk: DiskTasks;
  #isPut = false;

  constructor(options: SideOptions) {
    this.#options = options;
    this.#disk = new DiskTasks(options.store, "schedule");
  }

  get acceptedCount(): number {
    return this.#disk.all().length;
  }

  makeDoor(port: Port): Door {
    return {
      name: this.door,
      open: async () => {
        if (!this.#isPut) for (const overlap of ["queue", "skip"] as const) put(port, overlap);
        return {};
      },
      deliver: (effects) => {
        for (const effect of effects) this.#deliver(effect);
      },
      handleTimeout: () => {},
      nextDeadline: () => undefined,
      stopAccepting: () => {},
      close: async () => {},
    };
  }

  #deliver(effect: Effect): void {
    if (effect.type === "reply" && effect.answer.type === "granted") this.#isPut = true;
  }

  populate(): void {}
  planTrouble(): void {}
  heal(): void {}

  isComplete(): boolean {
    return this.#options.world.time >= this.#options.troubleMs + settleMs;
  }

  finish(): void {
    const wall = this.#options.world.clockOf(new Process("checker")).wall();
    for (const name of ["queue", "skip"]) this.#check(name, wall);
  }

  #check(name: string, wall: number): void {
    const tasks = this.#disk.all().filter(({ head }) => head.queue === queueOf(name));
    // No run is ordered here, so each is the run of a time, and its key says which.
    const times = tasks.map(({ head }) => Date.parse(head.key?.slice(`schedule:${name}:`.length) ?? ""));
    if (times.some(Number.isNaN)) throw new Violation(`schedule ${name} ran without a time, or a time twice`);
    // A clock that was set back repeats nothing: the schedule waits for its next time.
    const isSetBack = this.#options.world.latestWall > wall;
    if (this.#isPut && !isSetBack && Math.max(0, ...times) < wall - 3 * everyMs)
      throw new Violation(`schedule ${name} does not run any more`);
    if (new Set(times).size !== times.length) throw new Violation(`schedule ${name} ran a time twice`);
    for (const [index, { head }] of tasks.entries()) {
      const time = times[index] ?? 0;
      if (head.submittedAt < time)
        throw new Violation(`schedule ${name} ran ${time - head.submittedAt} ms early`);
      // A run that waits for no other is followed by the first time after it was made.
      const next = times[index + 1] ?? time;
      if (name === "queue" && next > Math.max(time, head.submittedAt) + everyMs)
        throw new Violation(`schedule ${name} lost a time between ${time} and ${next}`);
    }
  }

  wasGiven(): boolean {
    return false;
  }
}

function queueOf(name: string): string {
  return `timetable-${name}`;
}

function put(port: Port, overlap: "queue" | "skip"): void {
  port.post({
    type: "schedule-put",
    request: 1,
    name: overlap,
    settings: {
      queue: queueOf(overlap),
      payload: { mediaType: "text/plain", size: 0, bytes: new Uint8Array(0) },
      timing: { everyMs },
      overlap,
      catchUp: "one",
      jitterMs: 0,
      expiresMs: everyMs / 2,
    },
  });
}
