// A dialect's part of a run: its peers, its real door, their faults, and their checks of the
// promise.

import type { MemoryStore } from "@yardmaster/engines";
import type { Door, Port } from "@yardmaster/server";
import type { Faults } from "./faults.js";
import type { NetworkFaults } from "./network.js";
import type { Random } from "./random.js";
import type { Process, World } from "./world.js";

export interface SideOptions {
  readonly world: World;
  /** Separate from the rest of the run, so that its seeds are unaffected. */
  readonly random: Random;
  readonly store: MemoryStore;
  /** The door's queue; that of another dialect if they are bridged. */
  readonly queue: string;
  readonly faults: Faults;
  /** True if the run's faults were given and not drawn: then there are no other faults either. */
  readonly isQuiet: boolean;
  /** Datagram faults, if they are given and not drawn. */
  readonly datagrams: NetworkFaults | undefined;
  readonly troubleMs: number;
  /** Plans an event with this average rate per second, while there are faults. */
  readonly often: (perSecond: number, happen: () => void) => void;
  readonly pause: (process: Process, msMax: number) => number;
}

/** Connections between peers and a dispatcher. */
export interface Connections {
  /** They end with the dispatcher's process. */
  yardDied(process: Process): void;
  /** Another dispatcher takes the place of one that still runs. */
  yardDeposed?(): void;
}

export interface Side {
  /** The name of its door. */
  readonly door: string;
  /** Undefined if its peers have none: a datagram goes to the dispatcher that is there. */
  readonly connections?: Connections;
  readonly acceptedCount: number;
  makeDoor(port: Port, process: Process): Door;
  populate(): void;
  planTrouble(): void;
  /** No faults from here on. */
  heal(): void;
  isComplete(): boolean;
  /** Checks the whole promise at the end. */
  finish(): void;
  /** True if a worker of this dialect, whose answers carry no attempt, received this payload. */
  wasGiven(worker: string, payload: string): boolean;
}
