// What the ZeroMQ doors share: how they open a ROUTER, and what they call a peer whose identity may be any bytes.

import { Router, type RouterOptions } from "@yardmaster/zmtp";
import { type ListenAddress, showListenAddress } from "../listen-address.js";
import { listenAt } from "./listening.js";

/** As much of a ROUTER as a door uses; the simulator has one without sockets. */
export type DoorRouter = Pick<
  Router,
  "bind" | "close" | "disconnect" | "sendTo" | "sendPacked" | "flush" | "pause" | "resume"
>;

/** A payload of the largest size has to fit beside what small peers hold: see `assemblyBytesMax`. */
const assemblyPerPayload = 8 / 7;
const envelopeRoomBytes = 8 * 1024 * 1024;

/** What all peers of one door may hold of messages that have not arrived whole: as configured, or one payload's worth. */
export function assemblyBytesOf(unfinishedBytesMax: number, payloadBytesMax: number): number {
  return Math.max(unfinishedBytesMax, Math.ceil((payloadBytesMax + envelopeRoomBytes) * assemblyPerPayload));
}

export type MakeRouter = (options: RouterOptions) => DoorRouter;

export const realRouter: MakeRouter = (options) => new Router(options);

/** Binds, or says which door could not; the address as it was bound. */
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

/** An identity that can be printed is its own name; any other is shown in hexadecimal, as is one that looks like that. */
export function identityName(identity: Buffer): string {
  const text = identity.toString("latin1");
  return /^[\x21-\x7e]+$/.test(text) && !text.startsWith("0x") ? text : `0x${identity.toString("hex")}`;
}
