// Opens the http server on its port.

import type { AddressInfo } from "node:net";
import { Server as TlsServer } from "node:tls";
import { AcceptHandles } from "../door-kit/accept-handles.js";
import type { ListenAddress } from "../listen-address.js";
import { acceptOptions, type HttpServer } from "./server.js";

/** Opens the server to connections, and returns the address that clients connect to. */
export type ListenHttp = (app: HttpServer, address: ListenAddress) => Promise<ListenAddress>;

/**
 * The maximum that the system allows. Node's default of 511 is exceeded when workers and pages
 * reconnect after a restart; a client that finds no room then tries again after 1, 3 and 7 seconds.
 */
const backlog = 4096;

export const listenOnPort: ListenHttp = async (app, { host, port }) => {
  // Below TLS, a half-open connection that never began its handshake stays until that times out.
  const streams = { ...acceptOptions, allowHalfOpen: !(app.server instanceof TlsServer) };
  const handles = new AcceptHandles(app.server, { streams, backlog });
  let closed: Promise<void> | undefined;
  app.addHook("preClose", (done) => {
    closed = handles.close();
    done();
  });
  app.addHook("onClose", async () => closed);
  await app.listen({ host, port, backlog });
  return { host, port: (app.server.address() as AddressInfo).port };
};
