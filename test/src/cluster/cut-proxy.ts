// A TCP proxy in front of a Postgres server's Unix socket. While it is cut, nothing passes and
// nothing is closed, as with a broken network.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

export class CutProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(folder: string) {
    this.#server = createServer((near) => {
      const far = connect(join(folder, ".s.PGSQL.5432"));
      const pair = [near, far] as const;
      for (const socket of pair) {
        this.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          this.#sockets.delete(socket);
          for (const other of pair) other.destroy();
        });
        if (this.#isCut) socket.pause();
      }
      near.on("data", (bytes) => far.write(bytes));
      far.on("data", (bytes) => near.write(bytes));
      if (this.#isCut) for (const socket of pair) socket.pause();
    });
  }

  static async start(folder: string): Promise<CutProxy> {
    const proxy = new CutProxy(folder);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return urlOf([this]);
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  heal(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** Ends all connections. New ones are accepted. */
  reset(): void {
    // The other end of each pair is a Unix socket, and closes with this one.
    for (const socket of this.#sockets) if (socket.remoteFamily !== undefined) socket.resetAndDestroy();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** The database behind several proxies. */
export function urlOf(proxies: readonly CutProxy[]): string {
  return `postgres://yard@${proxies.map(({ address }) => address).join()}/postgres`;
}
