// What the pulse door needs from the system: connections, and the folder in which they are made.
// `socket-folder.ts` is the real folder; the simulator has its own.

import type { FolderSettings } from "./folder-access.js";

/** One connection; a node:net socket fits this interface. */
export interface Wire {
  on(event: "data", take: (chunk: Buffer) => void): unknown;
  on(event: "connect" | "drain" | "end" | "close", take: () => void): unknown;
  on(event: "error", take: (error: NodeJS.ErrnoException) => void): unknown;
  cork(): void;
  uncork(): void;
  write(bytes: Buffer): unknown;
  end(bytes: Buffer, whenSent: () => void): unknown;
  destroy(): unknown;
}

/** A connection being made, or the system's error code if there is none. */
export type Dialled = { readonly wire: Wire } | { readonly missed: string };

/** [pulse 5.4] The code for a file that is not a socket, at the path of a worker's socket. */
export const notASocket = "ENOTSOCK";

export interface PulseFolder {
  readonly dir: string;
  workerPath(id: bigint): string;
  /** [pulse 2.5] Ids of the sockets in the folder. */
  workerIds(): bigint[];
  /** Accepts connections on main.sock. */
  listen(take: (wire: Wire) => void, onError: () => void): Promise<void>;
  /** Connects to the worker with this id. */
  dial(id: bigint): Dialled;
  close(): Promise<void>;
}

export type OpenFolder = (wanted: string, instead: string, settings: FolderSettings) => PulseFolder;

/** How long the door waits in each situation. */
export interface PulseTimes {
  /** [pulse 1.5] A pulse is one small write by a program on this machine. */
  readonly pulseMsMax: number;
  /**
   * [pulse 3.9] Long enough for a worker to create its socket, short enough to try another worker
   * if it does not.
   */
  readonly connectMsMax: number;
  /** [pulse 4.4] Time without a byte in either direction. */
  readonly silenceMs: number;
}

export const defaultPulseTimes: PulseTimes = { pulseMsMax: 10_000, connectMsMax: 5_000, silenceMs: 30_000 };
