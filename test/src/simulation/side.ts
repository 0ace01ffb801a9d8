// A dialect's part of a run: its peers, its real door, what goes wrong with them, and what they can see of the promise.

import type { MemoryStore } from "@yardmaster/engines";
import type { Door, Port } from "@yardmaster/server";
import type { Faults } from "./faults.js";
import type { NetworkFaults } from "./network.js";
import type { Random } from "./random.js";
import type { Process, World } from "./world.js";

export interface SideOptions {
  readonly world: World;
  /** Drawn apart from the rest of the run, whose seeds stay what they were. */
  readonly random: Random;
  readonly store: MemoryStore;
  /** The door's queue; that of another dialect where they are bridged. */
  readonly queue: string;
  readonly faults: Faults;
  /** Whether the run's faults were given, and not drawn: then nothing else goes wrong either. */
  readonly isQuiet: boolean;
  /** What goes wrong with datagrams, if that is not to be drawn. */
  readonly datagrams: NetworkFaults | undefined;
  readonly troubleMs: number;
  /** Plans something to happen so many times a second, while there is trouble. */
  readonly often: (perSecond: number, happen: () => void) => void;
  readonly pause: (process: Process, msMax: number) => number;
}

export interface Side {
  /** The name of its door. */
  readonly door: string;
  readonly acceptedCount: number;
  makeDoor(port: Port, process: Process): Door;
  populate(): void;
  planTrouble(): void;
  yardDied(process: Process): void;
  /** Another dispatcher takes its place while it still runs. */
  yardDeposed(process: Process): void;
  /** From here on nothing goes wrong. */
  heal(): void;
  isComplete(): boolean;
  /** The whole promise, at the end. */
  finish(): void;
  /** Whether a worker of this dialect, whose answers carry no attempt, was given this payload. */
  wasGiven(worker: string, payload: string): boolean;
}
