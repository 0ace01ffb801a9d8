// The types of socket and which may talk to which [37/ZMTP, the Socket-Type property].

export type SocketType = "REQ" | "REP" | "DEALER" | "ROUTER" | "PUB" | "SUB" | "PUSH" | "PULL";
/** What a peer may call itself: our types, and two more that speak to them. */
export type PeerSocketType = SocketType | "XPUB" | "XSUB";

const partners: Readonly<Record<SocketType, readonly PeerSocketType[]>> = {
  REQ: ["REP", "ROUTER"],
  REP: ["REQ", "DEALER"],
  DEALER: ["REP", "DEALER", "ROUTER"],
  ROUTER: ["REQ", "DEALER", "ROUTER"],
  PUB: ["SUB", "XSUB"],
  SUB: ["PUB", "XPUB"],
  PUSH: ["PULL"],
  PULL: ["PUSH"],
};

/** The peer's type if `ours` may talk to it. */
export function partnerOf(ours: SocketType, theirs: string): PeerSocketType | undefined {
  return partners[ours].find((type) => type === theirs);
}

/** Only these announce an identity; from the others it is ignored. */
export function announcesIdentity(type: SocketType): boolean {
  return type === "REQ" || type === "DEALER" || type === "ROUTER";
}
