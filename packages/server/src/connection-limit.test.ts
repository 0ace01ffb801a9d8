import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { describe, test } from "node:test";
import { Router } from "@yardmaster/zmtp";
import { ConnectionLimit, connectionsIn } from "./connection-limit.js";
import { patience } from "./testing/patience.js";

async function listening(): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

/** True if the server keeps the connection. */
async function isKept(server: Server, port: number, open: Socket[]): Promise<boolean> {
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  const [theirs] = await accepted;
  // Node reports the connection after this event.
  await new Promise(setImmediate);
  open.push(socket, theirs);
  return !theirs.destroyed;
}

describe("the limit of connections", patience, () => {
  test("a socket may take three quarters, and the others have the rest", async () => {
    let refused = 0;
    const limit = new ConnectionLimit({ connectionsMax: 16, onRefused: () => refused++ });
    const [one, two] = [await listening(), await listening()];
    const open: Socket[] = [];
    limit.start();
    try {
      // Both ends of a connection are in this process, and count.
      const kept: boolean[] = [];
      for (let count = 0; count < 8; count++) kept.push(await isKept(one.server, one.port, open));
      assert.deepEqual(kept, Array(8).fill(true));
      assert.equal(limit.open, 16);
      assert.equal(await isKept(two.server, two.port, open), false);
      assert.equal(refused, 1);
      for (const socket of open.splice(0, 8)) socket.destroy();
      while (limit.open > 8) await new Promise(setImmediate);
      assert.equal(await isKept(two.server, two.port, open), true);
    } finally {
      limit.stop();
      for (const socket of open) socket.destroy();
      one.server.close();
      two.server.close();
    }
  });

  test("a ZeroMQ socket's connections count too", async () => {
    let refused = 0;
    const limit = new ConnectionLimit({ connectionsMax: 8, onRefused: () => refused++ });
    const router = new Router();
    limit.start();
    try {
      const { endpoint } = await router.bind("tcp://127.0.0.1:0");
      const ends = Array.from({ length: 6 }, () => {
        const socket = connect(Number(endpoint.split(":").at(-1)), "127.0.0.1")
          .on("error", () => {})
          .resume();
        return { socket, closed: once(socket, "close") };
      });
      await Promise.race(ends.map(({ closed }) => closed));
      assert.ok(refused > 0);
      for (const { socket } of ends) socket.destroy();
      while (limit.open > 0) await new Promise(setImmediate);
    } finally {
      limit.stop();
      await router.close();
    }
  });

  test("descriptors are left for the dispatcher itself", () => {
    const limits = (soft: string) =>
      `Limit  Soft Limit\nMax open files            ${soft}    524288   files\n`;
    assert.equal(connectionsIn(limits("256")), 128);
    assert.equal(connectionsIn(limits("20000")), 19_000);
    assert.equal(connectionsIn(limits("unlimited")), undefined);
    assert.equal(connectionsIn(""), undefined);
  });
});
