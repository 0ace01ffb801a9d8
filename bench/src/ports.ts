// Starts servers that cannot pick a free port themselves.

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export interface OnPort {
  readonly server: ChildProcess;
  readonly port: number;
}

/** Another program may take a free port before the server starts. Then another one is tried. */
export async function startOnFreePort(start: (port: number) => ChildProcess): Promise<OnPort> {
  for (;;) {
    const port = await freePort();
    const server = start(port);
    await Promise.race([untilListening(port), once(server, "exit")]);
    if (server.exitCode === null) return { server, port };
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

async function untilListening(port: number): Promise<void> {
  for (;;) {
    try {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.destroy();
      return;
    } catch {
      await pause(20);
    }
  }
}
