// For tests: a mechanism with a handshake of several commands and obscured traffic. It has the
// shape of CURVE and none of its strength, and stands in for future mechanisms.

import { type Command, encodeCommand } from "../commands.js";
import type { FaultKind } from "../faults.js";
import { COMMAND, MORE } from "../frames.js";
import type { Mechanism, MechanismStep, Seal, Security } from "../mechanisms/mechanism.js";
import { decodeMetadata } from "../metadata.js";

const head = Buffer.from("\x07MESSAGE");

class MaskSeal implements Seal {
  readonly overheadBytes = head.length + 1;
  isMore = false;
  isCommand = false;
  body: Buffer = head;
  private lastNumber = 0;

  take(): number {
    return ++this.lastNumber;
  }

  close(_number: number, flags: number, body: Uint8Array, target: Buffer, at: number): void {
    const bits = (flags & MORE ? 1 : 0) | (flags & COMMAND ? 2 : 0);
    target.set(mask(Buffer.concat([Buffer.of(bits), body])), at + head.length);
    target.set(head, at);
  }

  open(sealed: Buffer): FaultKind | undefined {
    const clear = mask(sealed.subarray(head.length));
    const flags = clear[0];
    if (flags === undefined || flags > 3) return "bad_seal";
    this.isMore = (flags & 1) !== 0;
    this.isCommand = (flags & 2) !== 0;
    this.body = clear.subarray(1);
    return undefined;
  }

  wipe(): void {}
}

class Mask implements Mechanism {
  private readonly metadata: Buffer;
  private readonly isServer: boolean;
  readonly seal = new MaskSeal();

  constructor(metadata: Buffer, isServer: boolean) {
    this.metadata = metadata;
    this.isServer = isServer;
  }

  start(): readonly Buffer[] {
    return this.isServer ? [] : [encodeCommand("HELLO", Buffer.from("password"))];
  }

  receive({ name, data }: Command): MechanismStep {
    if (name === "HELLO") {
      if (data.toString() !== "password") return { kind: "fault", fault: "denied", send: [] };
      return { kind: "wait", send: [encodeCommand("WELCOME", Buffer.alloc(0))] };
    }
    if (name === "WELCOME") return { kind: "wait", send: [encodeCommand("INITIATE", mask(this.metadata))] };
    const metadata = decodeMetadata(mask(data));
    if (metadata === undefined) return { kind: "fault", fault: "bad_metadata", send: [] };
    const send = this.isServer ? [encodeCommand("READY", mask(this.metadata))] : [];
    return { kind: "done", send, metadata };
  }
}

function mask(bytes: Buffer): Buffer {
  return bytes.map((byte) => byte ^ 0x5a) as Buffer;
}

export const maskSecurity = (isServer: boolean): Security => ({
  name: "MASK",
  isServer,
  open: ({ metadata }) => new Mask(metadata, isServer),
});
