// A UDP socket as a door uses it, and the real implementation. A datagram that cannot be sent is
// lost, as it could be on the wire.

import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIP } from "node:net";
import type { ListenAddress } from "../listen-address.js";

export interface DatagramSocket {
  /** Returns the address that was bound. */
  bind(address: ListenAddress): Promise<ListenAddress>;
  /** False when the send queue is full. The datagram is then dropped, and the caller counts it. */
  send(bytes: Buffer, to: ListenAddress): boolean;
  close(): Promise<void>;
}

/** `bytes` belong to the receiver and are not reused. */
export type OnDatagram = (bytes: Buffer, host: string, port: number) => void;

export type MakeDatagramSocket = (onDatagram: OnDatagram) => DatagramSocket;

/** Real sockets with a limit on the bytes that wait to be sent, per socket. */
export function datagramSockets(sendQueueBytesMax: number): MakeDatagramSocket {
  return (onDatagram) => new NodeDatagramSocket(onDatagram, sendQueueBytesMax);
}

/**
 * About ten thousand datagrams of the size that most peers accept. The system buffers as much
 * again.
 */
const sendQueueBytesMaxDefault = 16 * 1024 * 1024;

export const realDatagramSocket = datagramSockets(sendQueueBytesMaxDefault);

/**
 * Room for a burst of about 10,000 small datagrams while the event loop is busy. The system may
 * grant less.
 */
const receiveBufferBytes = 4 * 1024 * 1024;

class NodeDatagramSocket implements DatagramSocket {
  readonly #onDatagram: OnDatagram;
  readonly #sendQueueBytesMax: number;
  #socket: Socket | undefined;

  constructor(onDatagram: OnDatagram, sendQueueBytesMax: number) {
    this.#onDatagram = onDatagram;
    this.#sendQueueBytesMax = sendQueueBytesMax;
  }

  async bind({ host, port }: ListenAddress): Promise<ListenAddress> {
    const { address, family } = isIP(host) === 0 ? await lookup(host) : { address: host, family: isIP(host) };
    const socket = createSocket({
      type: family === 6 ? "udp6" : "udp4",
      // Peers are known by address, so there is nothing to look up, and a send starts at once.
      lookup: (peer, _options, take) => take(null, peer, family),
    });
    // Without a lookup the socket may be listening before `bind` returns.
    const listening = once(socket, "listening");
    socket.bind(port, address);
    await listening;
    this.#socket = socket;
    // An error for one peer's address must not affect the others.
    socket.on("error", () => {});
    socket.on("message", (bytes, peer) => this.#onDatagram(bytes, peer.address, peer.port));
    enlarge(socket);
    const bound = socket.address();
    return { host: bound.address, port: bound.port };
  }

  send(bytes: Buffer, { host, port }: ListenAddress): boolean {
    const socket = this.#socket;
    if (socket === undefined) return true;
    if (socket.getSendQueueSize() + bytes.length > this.#sendQueueBytesMax) return false;
    socket.send(bytes, port, host);
    return true;
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined) return;
    await new Promise<void>((resolve) => socket.close(resolve));
  }
}

function enlarge(socket: Socket): void {
  try {
    socket.setRecvBufferSize(receiveBufferBytes);
  } catch {
    // The system's own limit applies.
  }
}
