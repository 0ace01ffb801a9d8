// For tests: a mechanism with a handshake of several commands and traffic that cannot be read on the way. It has the
// shape of CURVE and none of its strength, and stands for the mechanisms to come.

import { type Command, encodeCommand } from "../commands.js";
import type { Mechanism, MechanismStep, Opened, Security } from "../mechanisms/mechanism.js";
import { decodeMetadata } from "../metadata.js";

class Mask implements Mechanism {
  private readonly metadata: Buffer;
  private readonly isServer: boolean;
  readonly seal = {
    close: ({ isMore, isCommand, body }: Opened) =>
      encodeCommand(
        "MESSAGE",
        mask(Buffer.concat([Buffer.of((isMore ? 1 : 0) | (isCommand ? 2 : 0)), body])),
      ),
    open: ({ name, data }: Command) => {
      const clear = mask(data);
      const flags = clear[0];
      if (name !== "MESSAGE" || flags === undefined || flags > 3) return undefined;
      return { isMore: (flags & 1) !== 0, isCommand: (flags & 2) !== 0, body: clear.subarray(1) };
    },
  };

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
