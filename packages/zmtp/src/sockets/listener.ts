// One bound endpoint: accepts connections and passes them to the hub.

import { channel } from "node:diagnostics_channel";
import { unlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket as Stream } from "node:net";
import { type Endpoint, formatEndpoint, netAddress } from "../endpoint.js";
import type { Hub } from "./hub.js";
import { acceptLine } from "./line.js";
import { streamOptions } from "./stream-options.js";

/** After a restart, all workers of a server reconnect at once. */
export const listenBacklog = 4096;

/** How connections are accepted. */
export const acceptOptions = { ...streamOptions, pauseOnConnect: true } as const;

/**
 * The socket that Node announces on `net.server.socket` is empty, because its handle has moved to
 * another. That one is announced here, with the same message.
 */
const moved = channel("zmtp.server.socket");

export interface Binding {
  /** The bound endpoint, with the actual port where 0 or * was given. */
  readonly endpoint: string;
  /** Stops accepting. Connected peers stay. */
  close(): Promise<void>;
}

export async function listen(hub: Hub, endpoint: Endpoint): Promise<Binding> {
  const server = createServer(acceptOptions, (accepted) => {
    if (endpoint.transport === "tcp" && !hub.admitsAddress(accepted)) return;
    const line = acceptLine(accepted);
    hub.adopt(line, addressOf(line.stream, endpoint), true);
    if (moved.hasSubscribers && line.stream !== accepted) moved.publish({ socket: line.stream, server });
  });
  try {
    await listenOnce(server, endpoint);
  } catch (error) {
    if (endpoint.transport !== "ipc" || !(await isLeftover(endpoint, error))) throw error;
    await unlink(endpoint.path);
    await listenOnce(server, endpoint);
  }
  // From here on only accept() can fail, and the next call may succeed.
  server.on("error", () => hub.countFault(undefined, "accept_failed"));
  const companion = hub.settings.onListening?.(server);
  return {
    endpoint: formatEndpoint(boundTo(server, endpoint)),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([closed, companion?.close()]);
    },
  };
}

function listenOnce(server: Server, endpoint: Endpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...netAddress(endpoint), backlog: listenBacklog }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/**
 * True if the path belongs to a socket without a listener, as a killed process leaves it behind.
 */
function isLeftover(endpoint: Endpoint, error: unknown): Promise<boolean> {
  if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") return Promise.resolve(false);
  return new Promise((resolve) => {
    const probe = connect(netAddress(endpoint));
    probe.once("connect", () => {
      probe.destroy();
      resolve(false);
    });
    probe.once("error", (cause: NodeJS.ErrnoException) => resolve(cause.code === "ECONNREFUSED"));
  });
}

function boundTo(server: Server, endpoint: Endpoint): Endpoint {
  const address = server.address();
  if (endpoint.transport === "ipc" || address === null || typeof address === "string") return endpoint;
  return { ...endpoint, port: address.port };
}

function addressOf(stream: Stream, endpoint: Endpoint): string {
  if (endpoint.transport === "ipc") return formatEndpoint(endpoint);
  return formatEndpoint({
    transport: "tcp",
    host: stream.remoteAddress ?? "?",
    port: stream.remotePort ?? 0,
  });
}
