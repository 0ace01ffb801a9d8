// What the pulse door uses of the world: connections, and the folder in which they are made. The real folder is
// `socket-folder.ts`; a simulated one makes connections of its own.

/** One connection; a socket of node:net is one. */
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

/** A connection that is being made; or why none can be, by the system's code. */
export type Dialled = { readonly wire: Wire } | { readonly missed: string };

/** [pulse 5.4] The code for what lies where a worker's socket should, and is none. */
export const notASocket = "ENOTSOCK";

export interface PulseFolder {
  readonly dir: string;
  workerPath(id: bigint): string;
  /** [pulse 2.5] The ids of sockets that lie here. */
  workerIds(): bigint[];
  /** Takes connections on main.sock. */
  listen(take: (wire: Wire) => void, onError: () => void): Promise<void>;
  /** A connection to the worker of this id. */
  dial(id: bigint): Dialled;
  close(): Promise<void>;
}

export type OpenFolder = (wanted: string, instead: string) => PulseFolder;

/** How long the door waits for whom. */
export interface PulseTimes {
  /** [pulse 1.5] A pulse is one small write of a program on this machine. */
  readonly pulseMsMax: number;
  /** [pulse 3.9] Long enough for a worker to make its socket, short enough to find another one if it does not. */
  readonly connectMsMax: number;
  /** [pulse 4.4] Without a byte in either direction. */
  readonly silenceMs: number;
}

export const defaultPulseTimes: PulseTimes = { pulseMsMax: 10_000, connectMsMax: 5_000, silenceMs: 30_000 };
