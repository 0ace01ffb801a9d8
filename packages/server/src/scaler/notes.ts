// Counts and shows the messages on the lines of the scaler door.

import { scaler, WireFrames } from "@yardmaster/dialects";
import type { Peer as ZmqPeer } from "@yardmaster/zmtp";
import type { Side, Tap, Traffic } from "../door-kit/tap.js";
import { frameFields, shownFrame } from "../door-kit/wire-fields.js";
import { identityName } from "../door-kit/zmq.js";

/** Enough of a message, and of a frame, to recognise it. */
const shownFramesMax = 16;
const shownBytesMax = 64;

/** [scaler 2] Names of the frames in the most telling messages. */
const fieldNames: ReadonlyMap<string, readonly string[]> = new Map([
  ["TK", ["type", "task", "source", "metadata", "function"]],
  ["TR", ["type", "task", "status", "metadata", "result"]],
  ["TC", ["type", "task", "flags"]],
]);

/** Counts the messages on the door's lines, and shows them to the wire tap's listeners. */
export class Notes {
  readonly #door: string;
  readonly #tap: Tap;
  /** Counters by the two letters of their type. */
  readonly #counters = { in: new Map<number, Traffic>(), out: new Map<number, Traffic>() };

  readonly #view = new WireFrames();
  readonly #sideOf: (peer: ZmqPeer) => Side | undefined;

  constructor(door: string, tap: Tap, sideOf: (peer: ZmqPeer) => Side | undefined) {
    this.#door = door;
    this.#tap = tap;
    this.#sideOf = sideOf;
    tap.countOnly(door, scaler.messageTypes);
  }

  /** The first frame, the type, is always in memory. */
  note(direction: "in" | "out", peer: ZmqPeer, frames: readonly scaler.ObjectFrame[]): void {
    let bytes = 0;
    for (const frame of frames) bytes += frame.length;
    const type = textOf(frames[0], 2);
    this.#tap.count(this.#door, direction, type, bytes);
    if (this.#tap.isOpen) this.#show(direction, peer, type, bytes, frames);
  }

  /** A packed message, which is sent often. */
  notePacked(direction: "in" | "out", peer: ZmqPeer, bytes: Buffer, from: number, to: number): void {
    this.noteFrames(direction, peer, this.#view.readPacked(bytes, from, to));
  }

  noteFrames(direction: "in" | "out", peer: ZmqPeer, frames: WireFrames): void {
    const { size } = frames;
    const traffic = this.#counterOf(direction, frames);
    traffic.messages += 1;
    traffic.bytes += size;
    if (!this.#tap.isOpen) return;
    const own = frames.areMany ? frames.slices(0, shownFramesMax) : frames.own();
    this.#show(direction, peer, textOf(own[0], 2), size, own);
  }

  /** Looks the counter up without making text of the type, which every message has. */
  #counterOf(direction: "in" | "out", frames: WireFrames): Traffic {
    const code = scaler.typeOf(frames) ?? 0;
    const counters = this.#counters[direction];
    const known = code === 0 ? undefined : counters.get(code);
    if (known !== undefined) return known;
    const traffic = this.#tap.counter(this.#door, direction, textOf(frames.slice(0), 2));
    if (code !== 0) counters.set(code, traffic);
    return traffic;
  }

  #show(
    direction: "in" | "out",
    peer: ZmqPeer,
    type: string,
    bytes: number,
    frames: readonly scaler.ObjectFrame[],
  ): void {
    const shown = () => frames.slice(1, shownFramesMax);
    const raw = framesInMemory(frames);
    this.#tap.show({
      door: this.#door,
      direction,
      side: this.#sideOf(peer),
      peer: identityName(peer.identity),
      type,
      bytes,
      content: () => shown().map((frame) => (Buffer.isBuffer(frame) ? shownFrame(frame, shownBytesMax) : "")),
      raw,
      fields: () => frameFields(raw, (index) => fieldNames.get(type)?.[index] ?? `field ${index}`),
    });
  }
}

/** The beginning of a frame; empty for a frame that is streamed from the engine. */
function textOf(frame: scaler.ObjectFrame | undefined, bytesMax: number): string {
  return Buffer.isBuffer(frame) ? frame.toString("latin1", 0, bytesMax) : "";
}

/** The frames before the first streamed one. Later ones have no fixed offset in the shown bytes. */
function framesInMemory(frames: readonly scaler.ObjectFrame[]): Buffer[] {
  const inMemory: Buffer[] = [];
  for (const frame of frames) {
    if (!Buffer.isBuffer(frame)) break;
    inMemory.push(frame);
  }
  return inMemory;
}
