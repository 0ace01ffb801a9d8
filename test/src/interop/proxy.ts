// A way between two ends that can be cut: connections break, and new ones are made.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Proxy {
  readonly address: string;
  /** Breaks every connection there is. */
  cut(): void;
  close(): Promise<void>;
}

export async function startProxy(target: string): Promise<Proxy> {
  const at = target.lastIndexOf(":");
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(target.slice(at + 1)), target.slice(0, at));
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
