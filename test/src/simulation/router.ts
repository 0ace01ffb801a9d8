// A ROUTER without sockets for the real door: peers connect, disconnect and receive messages as in
// zmtp.

import { packFrames, unpackFrames } from "@yardmaster/dialects";
import type { DoorRouter } from "@yardmaster/server";
import {
  type GoneReason,
  isStreamed,
  type OutgoingFrame,
  type Peer,
  type RouterOptions,
} from "@yardmaster/zmtp";
import type { Item } from "./pipe.js";
import type { Line } from "./streams.js";
import type { Process } from "./world.js";

export interface RouterSurroundings {
  /** The number in the first assigned name. */
  readonly firstName: number;
  readonly bound: (endpoint: string, router: SimulatedRouter) => void;
  readonly pendingMax: () => number;
  readonly say: (what: () => string) => void;
  /** The host of a line's peer; by default each has its own. */
  readonly hostOf?: (line: Line) => string;
}

export interface SimulatedPeer extends Peer {
  readonly line: Line;
  isOpen: boolean;
  isPaused: boolean;
  /** Messages that leave in this order, while the body of the first is pulled. */
  streaming: (readonly OutgoingFrame[])[];
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

  /** An item arrived on a connection. */
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
    return this.sendStreamed(peer, frames);
  }

  sendStreamed(peer: Peer, frames: readonly OutgoingFrame[]): "sent" | "queued" | "full" | "gone" {
    const simulated = peer as SimulatedPeer;
    const { line, isOpen, streaming } = simulated;
    if (!isOpen) return "gone";
    const pending = line.toPeer.pending + streaming.length;
    if (pending >= this.#surroundings.pendingMax()) return "full";
    streaming.push(frames);
    if (streaming.length === 1) this.#sendNext(simulated);
    return pending > 0 ? "queued" : "sent";
  }

  /** Sends messages up to the first whose bodies must be pulled. */
  #sendNext(peer: SimulatedPeer): void {
    for (let frames = peer.streaming[0]; frames !== undefined; frames = peer.streaming[0]) {
      const index = frames.findIndex(isStreamed);
      if (index >= 0) return this.#pull(peer, frames, index);
      peer.line.toPeer.put({ type: "message", frames: copyOf(frames as readonly Uint8Array[]) });
      peer.streaming.shift();
    }
  }

  #pull(
    peer: SimulatedPeer,
    frames: readonly OutgoingFrame[],
    index: number,
    pieces: Uint8Array[] = [],
  ): void {
    const body = frames[index] as Extract<OutgoingFrame, { pull: unknown }>;
    body.pull((piece) => {
      if (!peer.isOpen) return;
      if (piece === undefined) return this.#leave(peer, "reset");
      const all = Buffer.concat([...pieces, piece]);
      if (all.length < body.length) return this.#pull(peer, frames, index, [all]);
      body.end();
      peer.streaming[0] = frames.with(index, all);
      this.#sendNext(peer);
    });
  }

  sendPacked(peer: Peer, bytes: Uint8Array, from: number, to: number): "sent" | "queued" | "full" | "gone" {
    return this.sendTo(peer, unpackFrames(bytes, from, to));
  }

  flush(): void {}

  pause(peer: Peer): void {
    (peer as SimulatedPeer).line.toRouter.hold();
  }

  resume(peer: Peer): void {
    (peer as SimulatedPeer).line.toRouter.release();
  }

  /** In wire form if the door accepts it, as in zmtp. */
  #deliver(peer: SimulatedPeer, frames: Buffer[]): void {
    const packed = this.#options.onPacked && packFrames(frames);
    const isTaken = packed !== undefined && this.#options.onPacked?.(peer, packed, 0, packed.length);
    // The bytes were lent: the next read overwrites them.
    packed?.fill(0xee);
    if (isTaken !== true) this.#options.onMessage?.(peer, frames);
  }

  #admit(line: Line): void {
    const identity = line.identity === "" ? this.#makeName() : Buffer.from(line.identity);
    const holder = [...this.#peers.values()].find((other) => other.identity.equals(identity));
    if (holder !== undefined) this.#leave(holder, "replaced");
    const peer: SimulatedPeer = {
      ...{ line, identity, id: line.id, address: `tcp://${this.#hostOf(line)}:${line.id}` },
      ...{
        socketType: line.socketType as SimulatedPeer["socketType"],
        version: "3.1",
        metadata: new Map(),
        isOpen: true,
        isPaused: false,
      },
      ...{ mechanism: "NULL", principal: undefined },
      ...{ pendingBytes: 0, pendingMessages: 0, droppedMessages: 0, streaming: [] },
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
    for (const frame of peer.streaming.flat()) if (isStreamed(frame)) frame.end();
    peer.streaming = [];
    this.#surroundings.say(() => `sees ${line.peer.name} gone from line ${line.id}: ${reason}`);
    line.isWhole = false;
    this.#peers.delete(line);
    // In both directions: what one end has given up is closed for both.
    line.toRouter.drop();
    line.toPeer.end("closed");
    this.#options.onPeerGone?.(peer, reason);
  }

  /** Assigns a name to a peer without one, as zmtp does. */
  #makeName(): Buffer {
    this.#lastName += 1;
    const name = Buffer.alloc(5);
    name.writeUInt32BE(this.#lastName, 1);
    return name;
  }
}

/** Frames as if read from a socket: slices of one new buffer. */
export function copyOf(frames: readonly Uint8Array[]): Buffer[] {
  const all = Buffer.concat(frames);
  let at = 0;
  return frames.map((frame) => {
    at += frame.length;
    return all.subarray(at - frame.length, at);
  });
}
