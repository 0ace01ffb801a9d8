// Opens a port, and reports a failure with the door, the address and the reason.

import { type ListenAddress, showListenAddress } from "../listen-address.js";
import { StartFault } from "./door.js";

const reasons: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EADDRINUSE: "another program listens on",
    EACCES: "this user may not listen on",
    EADDRNOTAVAIL: "this machine has no address",
    ENOTFOUND: "no address is known for",
  }),
);

/** Returns the result of `open`, or throws a `StartFault` with a readable message. */
export async function listenAt<Opened>(
  door: string,
  address: ListenAddress,
  open: () => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open();
  } catch (cause) {
    const { code = "unknown" } = cause as NodeJS.ErrnoException;
    const reason = reasons.get(code) ?? `${code}: cannot listen on`;
    throw new StartFault(`door ${door}: ${reason} ${showListenAddress(address)}`, { cause });
  }
}
