// Which addresses may connect to a door: the networks of its setting `peers`.

import { BlockList, isIP, isIPv6, type Server, type Socket } from "node:net";

interface Network {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
  readonly prefix: number;
}

/** `10.0.0.0/8`, `2001:db8::/32`, or a single address. */
export function readNetwork(text: string): Network | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || address.includes("%")) return undefined;
  const bits = version === 4 ? 32 : 128;
  if (length !== undefined && !/^(0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const prefix = length === undefined ? bits : Number(length);
  return prefix > bits ? undefined : { address, family: version === 4 ? "ipv4" : "ipv6", prefix };
}

export class PeerFilter {
  readonly #networks = new BlockList();

  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const network = readNetwork(text);
      if (network === undefined) throw new TypeError(`${text} is not a network`);
      this.#networks.addSubnet(network.address, network.prefix, network.family);
    }
  }

  /** `host` as the system shows it: an IPv4 peer of an IPv6 socket is `::ffff:a.b.c.d`. */
  allows(host: string): boolean {
    const address = host.replace(/%.*$/, "");
    const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
    if (mapped !== undefined && this.#networks.check(mapped, "ipv4")) return true;
    if (isIP(address) === 0) return false;
    return this.#networks.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  }
}

/** Undefined if every address may connect. */
export function peerFilter(networks: readonly string[] | undefined): PeerFilter | undefined {
  return networks === undefined ? undefined : new PeerFilter(networks);
}

/** The option of a ZeroMQ socket for the same. */
export function admitting(networks: readonly string[] | undefined): { admits?: (host: string) => boolean } {
  const filter = peerFilter(networks);
  return filter === undefined ? {} : { admits: (host) => filter.allows(host) };
}

/** Closes connections from other addresses before a byte is read, with TLS before its handshake. */
export function filterConnections(
  server: Pick<Server, "prependListener">,
  networks: readonly string[] | undefined,
  onRefused: (host: string) => void,
): void {
  const filter = peerFilter(networks);
  if (filter === undefined) return;
  server.prependListener("connection", (socket: Socket) => {
    const { remoteAddress = "unknown" } = socket;
    if (filter.allows(remoteAddress)) return;
    socket.destroy();
    onRefused(remoteAddress);
  });
}

/** The fault of a peer whose address may not connect. */
export const addressRefused = "address_refused";
