// CURVE's traffic: each frame is a MESSAGE command with a number and a box [26/CURVEZMQ, MESSAGE].
// Numbers only rise, so a recorded frame cannot be played again. libzmq sends these commands in
// frames without the COMMAND bit, and reads both forms; so do we.

import { MessageCipher } from "../crypto/message-cipher.js";
import { type Nacl, tagBytes } from "../crypto/nacl.js";
import type { FaultKind } from "../faults.js";
import { COMMAND, MORE } from "../frames.js";
import type { Seal } from "./mechanism.js";

const head = Buffer.from("\x07MESSAGE", "latin1");
const numberBytes = 8;
const boxAt = head.length + numberBytes;
const textAt = boxAt + tagBytes;
/** Head, number, tag and the byte of flags. */
const overheadBytes = textAt + 1;
const moreBit = 1;
const commandBit = 2;
const empty = Buffer.alloc(0);

export interface SealKeys {
  readonly key: Buffer;
  readonly isServer: boolean;
  /** The last number we used in the handshake. */
  readonly lastSent: number;
  /** The 8 bytes of the last number that the peer used in the handshake. */
  readonly lastReceived: Buffer;
}

export class CurveSeal implements Seal {
  readonly overheadBytes = overheadBytes;
  isMore = false;
  isCommand = false;
  body: Buffer = empty;
  private readonly outgoing: MessageCipher;
  private readonly incoming: MessageCipher;
  private lastSent: number;
  /** The peer's last number, in halves: a peer may use all 64 bits. */
  private receivedHigh: number;
  private receivedLow: number;

  constructor({ sodium }: Nacl, { key, isServer, lastSent, lastReceived }: SealKeys) {
    const [ours, theirs] = isServer ? ["S", "C"] : ["C", "S"];
    this.outgoing = new MessageCipher(sodium, key, Buffer.from(`CurveZMQMESSAGE${ours}`));
    this.incoming = new MessageCipher(sodium, key, Buffer.from(`CurveZMQMESSAGE${theirs}`));
    this.lastSent = lastSent;
    this.receivedHigh = lastReceived.readUInt32BE(0);
    this.receivedLow = lastReceived.readUInt32BE(4);
  }

  take(): number {
    return ++this.lastSent;
  }

  close(number: number, flags: number, body: Uint8Array, target: Buffer, at: number): void {
    for (let i = 0; i < head.length; i++) target[at + i] = head[i] as number;
    writeNumber(target, at + head.length, number);
    const sealedFlags = (flags & MORE ? moreBit : 0) | (flags & COMMAND ? commandBit : 0);
    this.outgoing.seal(sealedFlags, body, target, at + boxAt);
  }

  open(sealed: Buffer): FaultKind | undefined {
    if (sealed.length < overheadBytes) return "bad_seal";
    for (let i = 0; i < head.length; i++) if (sealed[i] !== head[i]) return "bad_seal";
    const high = sealed.readUInt32BE(head.length);
    const low = sealed.readUInt32BE(head.length + 4);
    const isNewer = high > this.receivedHigh || (high === this.receivedHigh && low > this.receivedLow);
    if (!isNewer) return "bad_nonce";
    if (!this.incoming.open(sealed, boxAt)) return "bad_seal";
    this.receivedHigh = high;
    this.receivedLow = low;
    const flags = sealed[textAt] as number;
    this.isMore = (flags & moreBit) !== 0;
    this.isCommand = (flags & commandBit) !== 0;
    this.body = sealed.length === overheadBytes ? empty : sealed.subarray(overheadBytes);
    return undefined;
  }

  wipe(): void {
    this.outgoing.wipe();
    this.incoming.wipe();
    this.body = empty;
  }
}

/** Numbers start at 1 and rise by 1, so they stay exact below 2^53. */
function writeNumber(target: Buffer, at: number, number: number): void {
  target.writeUInt32BE(Math.floor(number / 0x1_0000_0000), at);
  target.writeUInt32BE(number >>> 0, at + 4);
}
