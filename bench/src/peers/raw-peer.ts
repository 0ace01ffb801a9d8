// A minimal ZeroMQ peer: a connection that is only bytes after its handshake. Messages of one known
// length need no parsing, so the load leaves the processor to the broker under test.

import { connect } from "node:net";
import { COMMAND, encodeCommand, encodeFrame, encodeGreeting, encodeMetadata, MORE } from "@yardmaster/zmtp";

const greetingBytes = 64;
const shared = Buffer.allocUnsafeSlow(256 * 1024);

export interface RawPeer {
  write(bytes: Buffer): void;
}

export interface RawPeerOptions {
  readonly endpoint: string;
  readonly socketType: "PUSH" | "PULL" | "SUB" | "DEALER";
  /** The identity of a DEALER. */
  readonly identity?: Buffer;
  /** The subscription of a SUB. */
  readonly prefix?: string;
  /** Called once, after the handshake. */
  readonly onReady?: () => void;
  /** The memory is reused, so the bytes must be read at once. */
  readonly onBytes?: (bytes: Buffer) => void;
}

/** Uses ZMTP 3.0, in which a subscription is a message and there are no pings. */
export function openRawPeer(options: RawPeerOptions): RawPeer {
  const { endpoint, socketType, identity, prefix, onReady, onBytes } = options;
  const { hostname: host, port } = new URL(endpoint.replace("tcp:", "http:"));
  let handshake: Buffer | undefined = Buffer.alloc(0);
  const callback = (length: number): boolean => {
    if (handshake === undefined) {
      onBytes?.(shared.subarray(0, length));
      return true;
    }
    handshake = Buffer.concat([handshake, shared.subarray(0, length)]);
    // A greeting, and READY in a short frame, whose length is its second byte.
    const end = greetingBytes + 2 + (handshake[greetingBytes + 1] ?? 255);
    if (handshake.length < end) return true;
    const rest = handshake.subarray(end);
    handshake = undefined;
    if (prefix !== undefined) stream.write(encodeFrame(0, Buffer.from(`\x01${prefix}`)));
    onReady?.();
    if (rest.length > 0) onBytes?.(rest);
    return true;
  };
  const stream = connect({ host, port: Number(port), noDelay: true, onread: { buffer: shared, callback } });
  const properties = encodeMetadata([
    ["Socket-Type", Buffer.from(socketType)],
    ...(identity === undefined ? [] : [["Identity", identity] as [string, Buffer]]),
  ]);
  stream.on("connect", () => {
    stream.write(encodeGreeting({ minor: 0, mechanism: "NULL", isServer: false }));
    stream.write(encodeFrame(COMMAND, encodeCommand("READY", properties)));
  });
  // A broker that stops before its load is not an error here.
  stream.on("error", () => {});
  return { write: (bytes) => void stream.write(bytes) };
}

/** A message in wire form. */
export function onWire(frames: readonly Buffer[]): Buffer {
  const last = frames.length - 1;
  return Buffer.concat(frames.map((frame, index) => encodeFrame(index < last ? MORE : 0, frame)));
}
