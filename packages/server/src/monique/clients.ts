// Finds the connections of one client. A client pushes over one and subscribes over another, and
// the dialect names neither. They share a host, and clients of our sdk give all their connections
// one name.

import type { Peer } from "@yardmaster/zmtp";

/** [monique 4.9] A key that all connections of a client share, as far as that is visible. */
export function clientOf(peer: Pick<Peer, "identity" | "address">): string {
  return nameOf(peer) ?? hostOf(peer.address);
}

/** The name that a client gives itself; undefined if it has none, as with libzmq. */
export function nameOf({ identity }: Pick<Peer, "identity">): string | undefined {
  // An identity that begins with a zero byte was assigned by our side.
  return identity.length === 0 || identity[0] === 0 ? undefined : `#${identity.toString("latin1")}`;
}

/** The host of tcp://host:port. All names for loopback are the same host. */
export function hostOf(address: string): string {
  const host = address
    .replace(/^tcp:\/\//, "")
    .replace(/:\d*$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/^::ffff:/i, "");
  return host === "::1" || host === "localhost" || host.startsWith("127.") ? "loopback" : host;
}
