// A TCP proxy whose connections can be cut; peers may reconnect.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Proxy {
  readonly address: string;
  /** The target of new connections from now on: a restarted dispatcher has other ports. */
  aim(target: string): void;
  /** Breaks all connections. */
  cut(): void;
  close(): Promise<void>;
}

export async function startProxy(firstTarget: string): Promise<Proxy> {
  let target = firstTarget;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const at = target.lastIndexOf(":");
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
    aim: (next) => {
      target = next;
    },
    cut,
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
