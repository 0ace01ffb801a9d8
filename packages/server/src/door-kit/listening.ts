// Opening a port, and saying what is wrong when it cannot be opened: which door, which address, and why.

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

/** What `open` gives, or a `StartFault` in words. */
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
