// An address to listen on, written as host:port or [v6]:port. Port 0 picks a free one.

import { isIP } from "node:net";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const portMax = 65535;
const hostNamePattern =
  /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

export function parseListenAddress(text: string): ListenAddress | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > portMax) return undefined;
  const [, v6, plain] = match;
  if (v6 !== undefined) return isIP(v6) === 6 ? { host: v6, port } : undefined;
  return plain !== undefined && isHost(plain) ? { host: plain, port } : undefined;
}

/**
 * A name or an address. Text that looks like an IPv4 address must be one: 127.0.0.256 is a mistake,
 * not a name.
 */
export function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true;
  return hostNamePattern.test(text) && !/^[\d.]+$/.test(text);
}

export function showListenAddress({ host, port }: ListenAddress): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * True if only programs on this machine can reach it. A name other than localhost may resolve to
 * any machine.
 */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 4) return host.startsWith("127.");
  if (family === 6) return host === "::1" || /^::ffff:127\./i.test(host);
  return isLocalName(host);
}

/** `localhost` and names under it, which never resolve to another machine. */
export function isLocalName(host: string): boolean {
  const name = host.toLowerCase();
  return name === "localhost" || name.endsWith(".localhost");
}
