// Parses and prints ZeroMQ addresses: tcp://host:port and ipc://path.

export type Endpoint =
  | { readonly transport: "tcp"; readonly host: string; readonly port: number }
  | { readonly transport: "ipc"; readonly path: string };

/**
 * As a host, `*` means every interface; as a port, any free port. Throws if the caller's text is
 * invalid.
 */
export function parseEndpoint(text: string): Endpoint {
  const ipc = /^ipc:\/\/(.+)$/.exec(text)?.[1];
  if (ipc !== undefined) return { transport: "ipc", path: ipc };
  const tcp = /^tcp:\/\/(?:\[([^\]]+)\]|([^:[\]/]+)):(\d{1,5}|\*)$/.exec(text);
  const host = tcp?.[1] ?? tcp?.[2];
  const port = tcp?.[3] === "*" ? 0 : Number(tcp?.[3]);
  if (host === undefined || !(port <= 0xffff)) {
    throw new TypeError(`not an endpoint: ${text} (tcp://host:port or ipc://path)`);
  }
  return { transport: "tcp", host: host === "*" ? "0.0.0.0" : host, port };
}

export function formatEndpoint(endpoint: Endpoint): string {
  if (endpoint.transport === "ipc") return `ipc://${endpoint.path}`;
  const host = endpoint.host.includes(":") ? `[${endpoint.host}]` : endpoint.host;
  return `tcp://${host}:${endpoint.port}`;
}

/**
 * The address in the form of node:net. A path that begins with @ is in Linux's abstract namespace,
 * as in libzmq.
 */
export function netAddress(endpoint: Endpoint): { host: string; port: number } | { path: string } {
  if (endpoint.transport === "tcp") return { host: endpoint.host, port: endpoint.port };
  return { path: endpoint.path.startsWith("@") ? `\0${endpoint.path.slice(1)}` : endpoint.path };
}
