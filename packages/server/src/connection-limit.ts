// Keeps file descriptors free for the dispatcher itself. Without this, peers that open connections
// up to the limit of the process (`ulimit -n`) leave none for the store, for requests to pulse
// workers, and for the workers of other doors.

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";

/** Descriptors that connections never take: files of the store, and requests to pulse workers. */
const reserveMax = 1_000;
/** Of the connections, this many are left to other sockets than the one that has most. */
const othersMax = 500;

export interface ConnectionLimitOptions {
  /** Connections of the whole process. */
  readonly connectionsMax: number;
  /** Called for each connection that is closed because there is no room for it. */
  readonly onRefused: () => void;
}

/** Node sets `server` on the socket, but does not declare it. */
interface Accepted {
  readonly socket: Socket & { readonly server?: object };
  readonly server?: object;
}

/** Every connection that Node accepts or opens, over TCP or a Unix socket, is announced here. */
const accepting = ["net.server.socket", "zmtp.server.socket"];
const opening = "net.client.socket";

export class ConnectionLimit {
  readonly #options: ConnectionLimitOptions;
  #open = 0;
  readonly #openAt = new WeakMap<object, number>();

  constructor(options: ConnectionLimitOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#open;
  }

  start(): void {
    for (const name of accepting) subscribe(name, this.#accepted);
    subscribe(opening, this.#opened);
  }

  stop(): void {
    for (const name of accepting) unsubscribe(name, this.#accepted);
    unsubscribe(opening, this.#opened);
  }

  readonly #accepted = (message: unknown): void => {
    const { socket, server = socket.server ?? this } = message as Accepted;
    if (socket.destroyed) return;
    const here = (this.#openAt.get(server) ?? 0) + 1;
    this.#openAt.set(server, here);
    this.#count(socket, () => this.#openAt.set(server, (this.#openAt.get(server) ?? 1) - 1));
    const { connectionsMax, onRefused } = this.#options;
    const hereMax = connectionsMax - Math.min(othersMax, Math.floor(connectionsMax / 4));
    if (this.#open <= connectionsMax && here <= hereMax) return;
    onRefused();
    socket.destroy();
  };

  readonly #opened = (message: unknown): void => {
    this.#count((message as { readonly socket: Socket }).socket, () => {});
  };

  #count(socket: Socket, onClose: () => void): void {
    this.#open += 1;
    socket.once("close", () => {
      this.#open -= 1;
      onClose();
    });
  }
}

/**
 * How many connections the process may have; undefined if its limit is not known. `limits`: the
 * text of /proc/self/limits, which only Linux has.
 */
export function connectionsIn(limits: string | undefined = ownLimits()): number | undefined {
  const descriptors = /^Max open files\s+(\d+)/m.exec(limits ?? "")?.[1];
  if (descriptors === undefined) return undefined;
  return Number(descriptors) - Math.min(reserveMax, Math.ceil(Number(descriptors) / 2));
}

function ownLimits(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "latin1");
  } catch {
    return undefined;
  }
}
