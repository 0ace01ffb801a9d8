// NULL: no authentication, no encryption. Each side sends READY with its metadata, in either order
// [37/ZMTP].

import { type Command, encodeCommand, encodeError } from "../commands.js";
import { decodeMetadata } from "../metadata.js";
import { type Authenticate, deniedStatus, failed, unexpected } from "./handshake.js";
import type { Mechanism, MechanismContext, MechanismStep, Security } from "./mechanism.js";

const nothing: readonly Buffer[] = [];
const denied: MechanismStep = { kind: "fault", fault: "denied", send: [encodeError(deniedStatus)] };

class NullMechanism implements Mechanism {
  private readonly context: MechanismContext;
  private readonly authenticate: Authenticate | undefined;

  constructor(context: MechanismContext, authenticate?: Authenticate) {
    this.context = context;
    this.authenticate = authenticate;
  }

  start(): readonly Buffer[] {
    return [encodeCommand("READY", this.context.metadata)];
  }

  receive(command: Command): MechanismStep {
    if (command.name !== "READY") return unexpected(command.name);
    const metadata = decodeMetadata(command.data);
    if (metadata === undefined) return failed("bad_metadata");
    if (this.authenticate === undefined) return { kind: "done", send: nothing, metadata };
    const principal = this.authenticate({ mechanism: "NULL" }, this.context.address);
    return principal === undefined ? denied : { kind: "done", send: nothing, metadata, principal };
  }
}

export const nullSecurity: Security = {
  name: "NULL",
  isServer: false,
  open: (context) => new NullMechanism(context),
};

/** For peers that show no credentials: `authenticate` says which principal they are, if any. */
export function nullServer(authenticate: Authenticate): Security {
  return { name: "NULL", isServer: false, open: (context) => new NullMechanism(context, authenticate) };
}
