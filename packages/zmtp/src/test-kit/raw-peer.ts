// For tests: a peer that writes raw bytes to a socket, so that it can break every rule.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { encodeCommand } from "../commands.js";
import { netAddress, parseEndpoint } from "../endpoint.js";
import { COMMAND, encodeFrame, FrameDecoder } from "../frames.js";
import { encodeGreeting, greetingBytes } from "../greeting.js";
import { defaultLimits } from "../limits.js";
import { encodeMetadata } from "../metadata.js";
import { Inbox } from "./inbox.js";

export interface RawFrame {
  readonly body: Buffer;
  readonly isMore: boolean;
  readonly isCommand: boolean;
}

export class RawPeer {
  readonly stream: Socket;
  readonly frames = new Inbox<RawFrame>();
  readonly closed: Promise<unknown>;
  private readonly decoder = new FrameDecoder(defaultLimits);
  private early = Buffer.alloc(0);

  private constructor(stream: Socket) {
    this.stream = stream;
    this.decoder.acceptsMessages = true;
    stream.on("data", (chunk: Buffer) => this.receive(chunk));
    stream.on("error", () => {});
    this.closed = new Promise((resolve) => stream.once("close", resolve));
  }

  static async open(endpoint: string): Promise<RawPeer> {
    const stream = connect(netAddress(parseEndpoint(endpoint)));
    const peer = new RawPeer(stream);
    await once(stream, "connect");
    return peer;
  }

  /** Reads up to and including the other end's READY. */
  static async join(
    endpoint: string,
    type: string,
    options: { minor?: 0 | 1; identity?: Buffer } = {},
  ): Promise<RawPeer> {
    const peer = await RawPeer.open(endpoint);
    peer.send(greeting(options.minor ?? 1), ready(type, options.identity));
    await peer.frames.next();
    return peer;
  }

  send(...bytes: Buffer[]): void {
    this.stream.write(Buffer.concat(bytes));
  }

  private receive(chunk: Buffer): void {
    let rest = chunk;
    if (this.early.length < greetingBytes) {
      const taken = Math.min(rest.length, greetingBytes - this.early.length);
      this.early = Buffer.concat([this.early, rest.subarray(0, taken)]);
      rest = rest.subarray(taken);
    }
    if (rest.length === 0) return;
    this.decoder.feed(rest);
    while (this.decoder.next() === "frame") {
      const { body, isMore, isCommand } = this.decoder;
      this.frames.put({ body, isMore, isCommand });
    }
  }
}

export function greeting(minor: 0 | 1 = 1, mechanism = "NULL"): Buffer {
  return encodeGreeting({ minor, mechanism, isServer: false });
}

export function ready(type: string, identity?: Buffer): Buffer {
  const properties: [string, Buffer][] = [["Socket-Type", Buffer.from(type)]];
  if (identity) properties.push(["Identity", identity]);
  return command("READY", encodeMetadata(properties));
}

export function command(name: string, data: Uint8Array = Buffer.alloc(0)): Buffer {
  return encodeFrame(COMMAND, encodeCommand(name, data));
}

export function message(...frames: Array<string | Buffer>): Buffer {
  return Buffer.concat(
    frames.map((frame, index) =>
      encodeFrame(index < frames.length - 1 ? 1 : 0, Buffer.from(frame as string)),
    ),
  );
}
