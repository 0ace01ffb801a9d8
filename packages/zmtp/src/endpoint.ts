// Addresses as ZeroMQ writes them: tcp://host:port and ipc://path, parsed and printed.

export type Endpoint =
  | { readonly transport: "tcp"; readonly host: string; readonly port: number }
  | { readonly transport: "ipc"; readonly path: string };

/** `*` is every interface as a host and any free port as a port. The caller is wrong if it throws. */
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

/** What node:net calls it. A path that begins with @ is in Linux's abstract namespace, as in libzmq. */
export function netAddress(endpoint: Endpoint): { host: string; port: number } | { path: string } {
  if (endpoint.transport === "tcp") return { host: endpoint.host, port: endpoint.port };
  return { path: endpoint.path.startsWith("@") ? `\0${endpoint.path.slice(1)}` : endpoint.path };
}
