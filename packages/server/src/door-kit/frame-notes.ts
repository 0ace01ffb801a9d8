// Counts the messages of a ZeroMQ door, and shows them to the wire tap's listeners.

import type { WireFrames } from "@yardmaster/dialects";
import type { Side, Tap } from "./tap.js";
import { frameFields, shownFrame } from "./wire-fields.js";

export interface FrameNotesSettings<Peer> {
  readonly door: string;
  readonly tap: Tap;
  /** Enough of a frame to recognise it. */
  readonly shownBytesMax: number;
  /** The peer as listeners see it. Called only while the tap has a listener. */
  readonly shownPeer: (
    peer: Peer,
    type: string,
  ) => { readonly name: string; readonly side: Side | undefined };
  readonly frameName: (index: number, frame: Uint8Array) => string;
}

export class FrameNotes<Peer> {
  readonly #settings: FrameNotesSettings<Peer>;

  constructor(settings: FrameNotesSettings<Peer>) {
    this.#settings = settings;
  }

  note(direction: "in" | "out", peer: Peer, type: string, frames: readonly Buffer[]): void {
    const { door, tap } = this.#settings;
    const bytes = sizeOf(frames);
    tap.count(door, direction, type, bytes);
    if (tap.isOpen) this.#show(direction, peer, type, bytes, frames);
  }

  /** An incoming message whose frames are lent. */
  noteLent(peer: Peer, type: string, frames: WireFrames): void {
    const { door, tap } = this.#settings;
    tap.count(door, "in", type, frames.size);
    if (tap.isOpen) this.#show("in", peer, type, frames.size, frames.own());
  }

  #show(direction: "in" | "out", peer: Peer, type: string, bytes: number, frames: readonly Buffer[]): void {
    const { door, tap, shownBytesMax, shownPeer, frameName } = this.#settings;
    const { name, side } = shownPeer(peer, type);
    tap.show({
      door,
      direction,
      side,
      peer: name,
      type,
      bytes,
      content: () => frames.map((frame) => shownFrame(frame, shownBytesMax)),
      raw: frames,
      fields: () => frameFields(frames, frameName),
    });
  }
}

function sizeOf(frames: readonly Buffer[]): number {
  let bytes = 0;
  for (const frame of frames) bytes += frame.length;
  return bytes;
}
