import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { describe, test } from "node:test";
import fastify from "fastify";
import { listenOnPort } from "../http/listening.js";
import type { HttpServer } from "../http/server.js";
import { patience } from "../testing/patience.js";
import { AcceptHandles } from "./accept-handles.js";

const streams = { allowHalfOpen: true };
const backlog = 1_024;

/** Connections that each server keeps. */
const open = new Map<Server, number>();

async function crowdable(): Promise<{ server: Server; handles: AcceptHandles; port: number }> {
  const server = createServer(streams, (socket) => {
    socket.on("error", () => {});
    if (socket.destroyed) return;
    open.set(server, (open.get(server) ?? 0) + 1);
    socket.once("close", () => open.set(server, (open.get(server) ?? 0) - 1));
    socket.resume().write("hello");
    socket.once("end", () => socket.end());
  });
  const handles = new AcceptHandles(server, { streams, backlog, crowdedMs: 20 });
  server.listen({ host: "127.0.0.1", port: 0, backlog });
  await once(server, "listening");
  return { server, handles, port: (server.address() as AddressInfo).port };
}

/** Opens connections from another process, so that they wait while this one is busy. */
async function crowd(port: number, count: number): Promise<() => void> {
  const script = `
    let connected = 0;
    for (let each = 0; each < ${count}; each += 1)
      require("net").connect(${port}, "127.0.0.1", () => ++connected === ${count} && console.log("all"))
        .on("error", () => {});`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return () => child.kill("SIGKILL");
}

/** Makes each turn of the event loop at least this long. */
function slowTurns(ms: number): () => void {
  let isSlow = true;
  const turn = () => {
    const end = performance.now() + ms;
    while (performance.now() < end);
    if (isSlow) setImmediate(turn);
  };
  turn();
  return () => {
    isSlow = false;
  };
}

const turns = () => performance.nodeTiming.uvMetricsInfo.loopCount;

/** Resolves when this many connections have been taken, or refused because of the limit. */
function accepted(server: Server, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    const take = () => {
      left -= 1;
      if (left === 0) resolve();
    };
    server.on("connection", take).on("drop", take);
  });
}

describe("the handles of a listening socket", { ...patience, skip: process.platform === "win32" }, () => {
  test("waiting connections are accepted many in a turn, and a newcomer is answered soon", async () => {
    const { server, handles, port } = await crowdable();
    const before = turns();
    const all = accepted(server, 600);
    const quicken = slowTurns(5);
    const disperse = await crowd(port, 600);
    try {
      await all;
      assert.equal(handles.count, 16);
      assert.ok(turns() - before < 450, `${turns() - before} turns`);
      const newcomer = connect(port, "127.0.0.1");
      const [hello] = (await once(newcomer, "data")) as [Buffer];
      assert.equal(hello.toString(), "hello");
      newcomer.destroy();
    } finally {
      quicken();
      disperse();
      server.close();
      await handles.close();
    }
  });

  test("the limit of connections counts those of all handles, and none listens after the end", async () => {
    const { server, handles, port } = await crowdable();
    const wide = accepted(server, 200);
    const quicken = slowTurns(5);
    const disperse = await crowd(port, 200);
    await wide;
    while (handles.count < 16) await new Promise(setImmediate);
    disperse();
    while (open.get(server) !== 0) await new Promise(setImmediate);
    server.maxConnections = 3;
    const all = accepted(server, 40);
    const disperseAgain = await crowd(port, 40);
    await all;
    quicken();
    assert.equal(open.get(server), 3);
    disperseAgain();
    server.close();
    await handles.close();
    const [error] = (await once(connect(port, "127.0.0.1"), "error")) as [NodeJS.ErrnoException];
    assert.equal(error.code, "ECONNREFUSED");
  });

  test("below TLS, connections that never began a handshake do not hold up the end", async () => {
    const app = fastify({ https: {} });
    const all = accepted(app.server, 600);
    const { port } = await listenOnPort(app as unknown as HttpServer, { host: "127.0.0.1", port: 0 });
    const quicken = slowTurns(5);
    const disperse = await crowd(port, 600);
    await all;
    quicken();
    disperse();
    // Within `patience`; a handshake times out after two minutes.
    const started = performance.now();
    await app.close();
    assert.ok(performance.now() - started < 60_000);
  });
});
