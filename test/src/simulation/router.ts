// A ROUTER without sockets, for the real door: peers come and go, and are sent to, as zmtp's own has it.

import { scaler } from "@yardmaster/dialects";
import type { DoorRouter } from "@yardmaster/server";
import type { GoneReason, Peer, RouterOptions } from "@yardmaster/zmtp";
import type { Item } from "./pipe.js";
import type { Line } from "./streams.js";
import type { Process } from "./world.js";

export interface RouterSurroundings {
  /** The number of the first peer without a name of its own. */
  readonly firstName: number;
  readonly bound: (endpoint: string, router: SimulatedRouter) => void;
  readonly pendingMax: () => number;
  readonly say: (what: () => string) => void;
  /** Where the peers of a line are; each on a host of its own if absent. */
  readonly hostOf?: (line: Line) => string;
}

export interface SimulatedPeer extends Peer {
  readonly line: Line;
  isOpen: boolean;
  isPaused: boolean;
}

export class SimulatedRouter implements DoorRouter {
  readonly process: Process;
  readonly #options: RouterOptions;
  readonly #surroundings: RouterSurroundings;
  readonly #peers = new Map<Line, SimulatedPeer>();
  #lastName: number;

  constructor(options: RouterOptions, process: Process, surroundings: RouterSurroundings) {
    this.process = process;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#lastName = surroundings.firstName;
  }

  async bind(endpoint: string): Promise<{ endpoint: string; close: () => Promise<void> }> {
    this.#surroundings.bound(endpoint, this);
    return { endpoint, close: async () => {} };
  }

  async close(): Promise<void> {
    for (const peer of [...this.#peers.values()]) this.#leave(peer, "shutdown");
  }

  /** What came out of a connection. */
  take(line: Line, item: Item<GoneReason>): void {
    if (item.type === "came") return this.#admit(line);
    const peer = this.#peers.get(line);
    if (peer === undefined) return;
    if (item.type === "message") this.#deliver(peer, item.frames);
    else this.#leave(peer, item.reason);
  }

  disconnect(peer: Peer): void {
    this.#leave(peer as SimulatedPeer, "disconnected");
  }

  sendTo(peer: Peer, frames: readonly Uint8Array[]): "sent" | "queued" | "full" | "gone" {
    const { line, isOpen } = peer as SimulatedPeer;
    if (!isOpen) return "gone";
    const { pending } = line.toPeer;
    if (pending >= this.#surroundings.pendingMax()) return "full";
    line.toPeer.put({ type: "message", frames: copyOf(frames) });
    return pending > 0 ? "queued" : "sent";
  }

  sendPacked(peer: Peer, bytes: Uint8Array, from: number, to: number): "sent" | "queued" | "full" | "gone" {
    return this.sendTo(peer, scaler.unpackFrames(Buffer.from(bytes), from, to));
  }

  flush(): void {}

  pause(peer: Peer): void {
    (peer as SimulatedPeer).line.toRouter.hold();
  }

  resume(peer: Peer): void {
    (peer as SimulatedPeer).line.toRouter.release();
  }

  /** As it is on the wire where the door takes it so, as zmtp's own does. */
  #deliver(peer: SimulatedPeer, frames: Buffer[]): void {
    const packed = this.#options.onPacked && scaler.packFrames(frames);
    const isTaken = packed !== undefined && this.#options.onPacked?.(peer, packed, 0, packed.length);
    // The bytes were lent: the next read goes there.
    packed?.fill(0xee);
    if (isTaken !== true) this.#options.onMessage?.(peer, frames);
  }

  #admit(line: Line): void {
    const identity = line.identity === "" ? this.#makeName() : Buffer.from(line.identity);
    const holder = [...this.#peers.values()].find((other) => other.identity.equals(identity));
    if (holder !== undefined) this.#leave(holder, "replaced");
    const peer: SimulatedPeer = {
      ...{ line, identity, id: line.id, address: `tcp://${this.#hostOf(line)}:${line.id}` },
      ...{ socketType: line.socketType, version: "3.1", metadata: new Map(), isOpen: true, isPaused: false },
      ...{ pendingBytes: 0, pendingMessages: 0, droppedMessages: 0 },
    };
    this.#peers.set(line, peer);
    this.#surroundings.say(() => `sees ${line.peer.name} come on line ${line.id}`);
    this.#options.onPeer?.(peer);
  }

  #hostOf(line: Line): string {
    return this.#surroundings.hostOf?.(line) ?? line.peer.name;
  }

  #leave(peer: SimulatedPeer, reason: GoneReason): void {
    if (!peer.isOpen) return;
    const { line } = peer;
    peer.isOpen = false;
    this.#surroundings.say(() => `sees ${line.peer.name} gone from line ${line.id}: ${reason}`);
    line.isWhole = false;
    this.#peers.delete(line);
    // Also the other way: what one end has given up is closed for both.
    line.toRouter.drop();
    line.toPeer.end("closed");
    this.#options.onPeerGone?.(peer, reason);
  }

  /** As zmtp names the nameless. */
  #makeName(): Buffer {
    this.#lastName += 1;
    const name = Buffer.alloc(5);
    name.writeUInt32BE(this.#lastName, 1);
    return name;
  }
}

/** As it would be read from a socket: bytes of its own, frames that are slices of one buffer. */
export function copyOf(frames: readonly Uint8Array[]): Buffer[] {
  const all = Buffer.concat(frames);
  let at = 0;
  return frames.map((frame) => {
    at += frame.length;
    return all.subarray(at - frame.length, at);
  });
}
