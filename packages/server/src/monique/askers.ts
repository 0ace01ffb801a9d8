// Whose connections are whose: a client pushes over one and hears over another, and the dialect names neither. What shows is
// the host they come from; and where both ends are ours, a name that the client gives to all of its connections.

import type { Peer } from "@yardmaster/zmtp";

/** [monique 4.9] What a client's connections have in common, as far as that shows. */
export function askerOf(peer: Pick<Peer, "identity" | "address">): string {
  return nameOf(peer) ?? hostOf(peer.address);
}

/** The name it gives itself; undefined for the nameless, as all of libzmq are. */
export function nameOf({ identity }: Pick<Peer, "identity">): string | undefined {
  // One that begins with a zero was made up for it.
  return identity.length === 0 || identity[0] === 0 ? undefined : `#${identity.toString("latin1")}`;
}

/** Of tcp://host:port. Every name of this machine's own loopback is the same host. */
export function hostOf(address: string): string {
  const host = address
    .replace(/^tcp:\/\//, "")
    .replace(/:\d*$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/^::ffff:/i, "");
  return host === "::1" || host === "localhost" || host.startsWith("127.") ? "loopback" : host;
}
