// Peers made of bytes on a socket, which can do what no proper client does, such as never reading
// an answer.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { COMMAND, encodeCommand, encodeFrame, encodeGreeting, encodeMetadata, MORE } from "@yardmaster/zmtp";

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export function hostPortOf(address: string): HostPort {
  const [, host = "127.0.0.1", port] = /^(?:\w+:\/\/)?(.*):(\d+)$/.exec(address) ?? [];
  return { host, port: Number(port) };
}

/**
 * Attackers come from a host of their own: limits per host would otherwise refuse the real load.
 * Only Linux has all of 127.0.0.0/8.
 */
const ownHost = process.platform === "linux" ? { localAddress: "127.0.0.66" } : {};

/** A connection that ignores its errors: the other end may close it at any time. */
export async function openSocket(address: string): Promise<Socket> {
  const { host, port } = hostPortOf(address);
  const socket = connect({ host, port, ...ownHost });
  socket.on("error", () => {});
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  return socket;
}

/** The same, but never read from. */
export async function openMute(address: string): Promise<Socket> {
  const socket = await openSocket(address);
  socket.pause();
  return socket;
}

/** A ZeroMQ DEALER after its handshake. */
export async function openDealer(address: string, identity?: string): Promise<Socket> {
  const socket = await openSocket(address);
  const properties: [string, Buffer][] = [["Socket-Type", Buffer.from("DEALER")]];
  if (identity !== undefined) properties.push(["Identity", Buffer.from(identity)]);
  const ready = encodeFrame(COMMAND, encodeCommand("READY", encodeMetadata(properties)));
  socket.write(Buffer.concat([encodeGreeting({ minor: 1, mechanism: "NULL", isServer: false }), ready]));
  await Promise.race([once(socket, "data"), once(socket, "close")]);
  return socket;
}

/**
 * Writes everything and waits while the other end does not read. Returns false if it has closed.
 */
export async function writeAll(socket: Socket, bytes: Buffer): Promise<boolean> {
  if (socket.destroyed) return false;
  if (!socket.write(bytes))
    await new Promise<void>((resolve) => {
      const go = () => {
        socket.off("drain", go).off("close", go);
        resolve();
      };
      socket.on("drain", go).on("close", go);
    });
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
