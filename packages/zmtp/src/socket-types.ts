// The socket types and which of them may talk to each other [37/ZMTP, the Socket-Type property].

export type SocketType = "REQ" | "REP" | "DEALER" | "ROUTER" | "PUB" | "SUB" | "PUSH" | "PULL";
/** Types that a peer may announce: ours, and two more that can talk to them. */
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

/** Only these types announce an identity. From the others it is ignored. */
export function announcesIdentity(type: SocketType): boolean {
  return type === "REQ" || type === "DEALER" || type === "ROUTER";
}
