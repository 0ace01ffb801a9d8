// NULL: no authentication, no encryption. Each side sends READY with its metadata, in either order [37/ZMTP].

import { type Command, encodeCommand } from "../commands.js";
import { decodeMetadata } from "../metadata.js";
import type { Mechanism, MechanismContext, MechanismStep, Security } from "./mechanism.js";

const nothing: readonly Buffer[] = [];

class NullMechanism implements Mechanism {
  private readonly ready: Buffer;

  constructor(context: MechanismContext) {
    this.ready = encodeCommand("READY", context.metadata);
  }

  start(): readonly Buffer[] {
    return [this.ready];
  }

  receive(command: Command): MechanismStep {
    if (command.name === "ERROR") return { kind: "fault", fault: "refused", send: nothing };
    if (command.name !== "READY") return { kind: "fault", fault: "unexpected_command", send: nothing };
    const metadata = decodeMetadata(command.data);
    if (metadata === undefined) return { kind: "fault", fault: "bad_metadata", send: nothing };
    return { kind: "done", send: nothing, metadata };
  }
}

export const nullSecurity: Security = {
  name: "NULL",
  isServer: false,
  open: (context) => new NullMechanism(context),
};
