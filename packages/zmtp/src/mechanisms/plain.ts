// PLAIN: the client shows a name and a password, in clear [24/ZMTP-PLAIN].
//
//   client: HELLO name, password   server: WELCOME, or ERROR and the end
//   client: INITIATE metadata      server: READY metadata

import { type Command, encodeCommand, encodeMisspeltError } from "../commands.js";
import { decodeMetadata } from "../metadata.js";
import { type Authenticate, deniedStatus, failed, tryLater, unexpected } from "./handshake.js";
import type { Mechanism, MechanismContext, MechanismStep, Security } from "./mechanism.js";

const nothing: readonly Buffer[] = [];
const denied: MechanismStep = { kind: "fault", fault: "denied", send: [encodeMisspeltError(deniedStatus)] };
const textBytesMax = 255;

export interface PlainCredentials {
  /** At most 255 bytes each. */
  readonly username: string;
  readonly password: string;
}

export function plainServer(authenticate: Authenticate): Security {
  return { name: "PLAIN", isServer: true, open: (context) => new PlainServer(context, authenticate) };
}

/** Throws if the name or the password is too long. */
export function plainClient({ username, password }: PlainCredentials): Security {
  const hello = Buffer.concat([withLength(username, "user name"), withLength(password, "password")]);
  return { name: "PLAIN", isServer: false, open: (context) => new PlainClient(context, hello) };
}

class PlainServer implements Mechanism {
  private readonly context: MechanismContext;
  private readonly authenticate: Authenticate;
  private principal: unknown;

  constructor(context: MechanismContext, authenticate: Authenticate) {
    this.context = context;
    this.authenticate = authenticate;
  }

  start(): readonly Buffer[] {
    return nothing;
  }

  receive({ name, data }: Command): MechanismStep {
    const expected = this.principal === undefined ? "HELLO" : "INITIATE";
    if (name !== expected) return unexpected(name);
    return name === "HELLO" ? this.readHello(data) : this.readInitiate(data);
  }

  private readHello(data: Buffer): MechanismStep {
    const nameEnd = 1 + (data[0] ?? 0);
    const password = data.subarray(nameEnd + 1);
    if (data.length <= nameEnd || data[nameEnd] !== password.length) return failed("bad_handshake");
    const username = data.toString("utf8", 1, nameEnd);
    const principal = this.authenticate({ mechanism: "PLAIN", username, password }, this.context.address);
    password.fill(0);
    if (principal === tryLater) return failed("denied");
    if (principal === undefined) return denied;
    this.principal = principal;
    return { kind: "wait", send: [encodeCommand("WELCOME", Buffer.alloc(0))] };
  }

  private readInitiate(data: Buffer): MechanismStep {
    const metadata = decodeMetadata(data);
    if (metadata === undefined) return failed("bad_metadata");
    const send = [encodeCommand("READY", this.context.metadata)];
    return { kind: "done", send, metadata, principal: this.principal };
  }
}

class PlainClient implements Mechanism {
  private readonly context: MechanismContext;
  private readonly hello: Buffer;
  private isWelcome = false;

  constructor(context: MechanismContext, hello: Buffer) {
    this.context = context;
    this.hello = hello;
  }

  start(): readonly Buffer[] {
    return [encodeCommand("HELLO", this.hello)];
  }

  receive({ name, data }: Command): MechanismStep {
    if (name !== (this.isWelcome ? "READY" : "WELCOME")) return unexpected(name);
    if (name === "WELCOME") {
      this.isWelcome = true;
      return { kind: "wait", send: [encodeCommand("INITIATE", this.context.metadata)] };
    }
    const metadata = decodeMetadata(data);
    if (metadata === undefined) return failed("bad_metadata");
    return { kind: "done", send: nothing, metadata };
  }
}

function withLength(text: string, name: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > textBytesMax) {
    throw new RangeError(`the ${name} for PLAIN has ${bytes.length} bytes; at most ${textBytesMax} fit`);
  }
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}
