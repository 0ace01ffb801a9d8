// Shared by the ZeroMQ doors: opening a ROUTER, and naming a peer whose identity may be any bytes.

import { WireFrames } from "@yardmaster/dialects";
import { type Assembly, type DroppedFrames, type Peer, Router, type RouterOptions } from "@yardmaster/zmtp";
import { type ListenAddress, showListenAddress } from "../listen-address.js";
import { listenAt } from "./listening.js";

/** The part of a ROUTER that a door uses. The simulator implements it without sockets. */
export type DoorRouter = Pick<
  Router,
  "bind" | "close" | "disconnect" | "sendTo" | "sendStreamed" | "sendPacked" | "flush" | "pause" | "resume"
> &
  Partial<Pick<Router, "revoke">>;

/**
 * A payload of maximum size must fit in addition to what small peers hold: see `assemblyBytesMax`.
 */
const assemblyPerPayload = 8 / 7;
/** Room for what comes with the largest payload in one message. */
export const envelopeRoomBytes = 8 * 1024 * 1024;

/**
 * Limit for incomplete messages of all peers of one door: as configured, but at least one payload.
 */
export function assemblyBytesOf(assembly: Assembly | undefined, payloadBytesMax: number): number {
  return Math.max(
    assembly?.bytesMax ?? 0,
    Math.ceil((payloadBytesMax + envelopeRoomBytes) * assemblyPerPayload),
  );
}

export type MakeRouter = (options: RouterOptions) => DoorRouter;

export const realRouter: MakeRouter = (options) => new Router(options);

/**
 * Gives a door every message in one form, packed or not. The frames are lent: the door must copy
 * what it keeps before it returns.
 */
export function wireHandlers(
  receive: (peer: Peer, frames: WireFrames, dropped: DroppedFrames | undefined) => void,
): Required<Pick<RouterOptions, "onMessage" | "onPacked" | "onTable">> {
  const frames = new WireFrames();
  return {
    onMessage: (peer, list, dropped) => {
      receive(peer, frames.readList(list), dropped);
      // A list may be large, and the next message may be hours away.
      frames.clear();
    },
    onTable: (peer, table, dropped) => receive(peer, WireFrames.many(table), dropped),
    onPacked: (peer, bytes, from, to) => {
      receive(peer, frames.readPacked(bytes, from, to), undefined);
      return true;
    },
  };
}

/** Binds and returns the bound address, or reports which door could not bind. */
export function bindRouter(door: string, router: DoorRouter, address: ListenAddress): Promise<string> {
  return bindSocket(door, router, address);
}

/** The same for a socket of any type. */
export async function bindSocket(
  door: string,
  socket: Pick<Router, "bind">,
  address: ListenAddress,
): Promise<string> {
  const { endpoint } = await listenAt(door, address, () =>
    socket.bind(`tcp://${showListenAddress(address)}`),
  );
  return endpoint.slice("tcp://".length);
}

/**
 * A printable identity is its own name. Any other is shown in hexadecimal, and so is one that looks
 * like hexadecimal.
 */
export function identityName(identity: Buffer): string {
  const text = identity.toString("latin1");
  return /^[\x21-\x7e]+$/.test(text) && !text.startsWith("0x") ? text : `0x${identity.toString("hex")}`;
}
