// An address to listen on, as people write it: host:port, or [v6]:port. A port of 0 picks a free one.

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

/** A name, or an address. What looks like an IPv4 address has to be one: 127.0.0.256 is a mistake, not a name. */
export function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true;
  return hostNamePattern.test(text) && !/^[\d.]+$/.test(text);
}

export function showListenAddress({ host, port }: ListenAddress): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** True when only programs on this machine can reach it. A name that is not localhost may lead anywhere. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 4) return host.startsWith("127.");
  if (family === 6) return host === "::1" || /^::ffff:127\./i.test(host);
  return isLocalName(host);
}

/** `localhost` and what is under it: names that no resolver of the world answers with another machine. */
export function isLocalName(host: string): boolean {
  const name = host.toLowerCase();
  return name === "localhost" || name.endsWith(".localhost");
}
