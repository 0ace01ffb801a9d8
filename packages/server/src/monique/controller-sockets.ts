// The PUSH sockets of the door: one for each spec that has a controller. It spreads the questions
// of its spec over the components that connect to it.

import type { monique } from "@yardmaster/dialects";
import type { Peer, SocketOptions } from "@yardmaster/zmtp";
import { bindSocket } from "../door-kit/zmq.js";
import type { ZmqGuard } from "../door-kit/zmq-guard.js";
import type { DoorPush, MoniqueSockets } from "./sockets.js";

interface Controller {
  readonly push: DoorPush;
  readonly address: string;
}

export interface ControllerSocketsParts {
  readonly door: string;
  readonly sockets: MoniqueSockets;
  readonly guard: ZmqGuard;
  /** The options that all sockets of the door share. */
  readonly common: SocketOptions;
  /** A component connected. It is disconnected unless it may work for this spec. */
  readonly came: (peer: Peer, spec: string) => void;
  readonly went: (peer: Peer, wasSilent: boolean) => void;
  readonly denied: (peer: Peer, spec: string) => void;
}

export class ControllerSockets {
  readonly #parts: ControllerSocketsParts;
  readonly #bySpec = new Map<string, Controller>();
  readonly #byPeer = new Map<Peer, DoorPush>();
  /** Sockets that were written to since the last flush. */
  readonly #unflushed = new Set<DoorPush>();

  constructor(parts: ControllerSocketsParts) {
    this.#parts = parts;
  }

  /** Opens those that are not open yet, by spec and port. Returns the addresses that were added. */
  async open(host: string, ports: Readonly<Record<string, number>>): Promise<Record<string, string>> {
    const added: Record<string, string> = {};
    for (const [spec, port] of Object.entries(ports)) {
      if (this.#bySpec.has(spec)) continue;
      const push = this.#socketFor(spec);
      try {
        const address = await bindSocket(this.#parts.door, push, { host, port });
        this.#bySpec.set(spec, { push, address });
        added[`controllers.${spec}`] = address;
      } catch (failure) {
        await push.close();
        throw failure;
      }
    }
    return added;
  }

  /** Null for a spec without a controller. */
  portOf(spec: string): number | null {
    const address = this.#bySpec.get(spec)?.address;
    return address === undefined ? null : Number(address.slice(address.lastIndexOf(":") + 1));
  }

  /** False if the message was not taken. */
  send(peer: Peer, frames: monique.Frames): boolean {
    const push = this.#byPeer.get(peer);
    if (push === undefined) return false;
    const sent = push.sendTo(peer, frames);
    this.#unflushed.add(push);
    return sent === "sent" || sent === "queued";
  }

  has(peer: Peer): boolean {
    return this.#byPeer.has(peer);
  }

  flush(): void {
    for (const push of this.#unflushed) push.flush();
    this.#unflushed.clear();
  }

  disconnect(peer: Peer): void {
    this.#byPeer.get(peer)?.disconnect(peer);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#bySpec.values()].map(({ push }) => push.close()));
  }

  #socketFor(spec: string): DoorPush {
    const { sockets, guard, common, came, went, denied } = this.#parts;
    const push = sockets.push({
      ...common,
      onPeer: (peer) => {
        if (!guard.may(peer, "work", spec)) {
          denied(peer, spec);
          return push.disconnect(peer);
        }
        this.#byPeer.set(peer, push);
        came(peer, spec);
      },
      onPeerGone: (peer, reason) => {
        this.#byPeer.delete(peer);
        went(peer, reason === "silent");
      },
    });
    guard.watch(push, { right: "work", queue: spec });
    return push;
  }
}
