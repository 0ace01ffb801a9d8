// A reverse proxy that puts a dispatcher below a path, like nginx, and that can be taken down.
// While it is down it keeps its port, but cuts every connection.

import { createServer, request, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export class SubPathProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isDown = false;
  address = "";

  constructor(target: string, path: string) {
    const { hostname, port } = new URL(target);
    this.#server = createServer((incoming, outgoing) => {
      if (this.#isDown) return void incoming.socket.destroy();
      if (!incoming.url?.startsWith(`${path}/`)) return void outgoing.writeHead(404).end();
      const headers = { ...incoming.headers, host: `${hostname}:${port}` };
      delete headers.origin;
      const onward = request(
        { host: hostname, port, method: incoming.method, path: incoming.url.slice(path.length), headers },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        },
      );
      onward.on("error", () => incoming.socket.destroy());
      outgoing.on("close", () => onward.destroy());
      incoming.pipe(onward);
    });
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#path = path;
  }

  readonly #path: string;

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.address = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${this.#path}/`;
    return this;
  }

  down(): void {
    this.#isDown = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  up(): void {
    this.#isDown = false;
  }

  async close(): Promise<void> {
    this.down();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
