// Peers that are bytes on a socket: they can do what no decent client would, such as never reading an answer.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { COMMAND, encodeCommand, encodeFrame, encodeGreeting, encodeMetadata, MORE } from "@yardmaster/zmtp";

export interface Place {
  readonly host: string;
  readonly port: number;
}

export function placeOf(address: string): Place {
  const [, host = "127.0.0.1", port] = /^(?:\w+:\/\/)?(.*):(\d+)$/.exec(address) ?? [];
  return { host, port: Number(port) };
}

/** A connection that swallows its own errors: the other end may hang up whenever it likes. */
export async function openSocket(address: string): Promise<Socket> {
  const { host, port } = placeOf(address);
  const socket = connect(port, host);
  socket.on("error", () => {});
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  return socket;
}

/** The same, never read from. */
export async function openMute(address: string): Promise<Socket> {
  const socket = await openSocket(address);
  socket.pause();
  return socket;
}

/** A ZeroMQ DEALER past its handshake. */
export async function openDealer(address: string, identity?: string): Promise<Socket> {
  const socket = await openSocket(address);
  const properties: [string, Buffer][] = [["Socket-Type", Buffer.from("DEALER")]];
  if (identity !== undefined) properties.push(["Identity", Buffer.from(identity)]);
  const ready = encodeFrame(COMMAND, encodeCommand("READY", encodeMetadata(properties)));
  socket.write(Buffer.concat([encodeGreeting({ minor: 1, mechanism: "NULL", isServer: false }), ready]));
  await Promise.race([once(socket, "data"), once(socket, "close")]);
  return socket;
}

/** Writes all of it, waiting where the other end does not read; false when it has hung up. */
export async function writeAll(socket: Socket, bytes: Buffer): Promise<boolean> {
  if (socket.destroyed) return false;
  if (!socket.write(bytes)) await Promise.race([once(socket, "drain"), once(socket, "close")]);
  return !socket.destroyed;
}

export function zmqMessage(frames: readonly (string | Buffer)[]): Buffer {
  const last = frames.length - 1;
  return Buffer.concat(
    frames.map((frame, index) => encodeFrame(index < last ? MORE : 0, Buffer.from(frame as string))),
  );
}

export function httpRequest(method: string, path: string, host: string, body?: Buffer | string): string {
  const length = body === undefined ? "" : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${length}\r\n`;
}
