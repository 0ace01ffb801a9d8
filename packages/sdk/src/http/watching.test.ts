// `result` while the dispatcher restarts, against a real http server.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, test } from "node:test";
import { connect } from "../dialects.js";

describe("a wait for a result", { timeout: 60_000 }, () => {
  let server: Server | undefined;
  afterEach(async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
  });

  /** Answers the n-th request with the n-th of these. Returns the URL. */
  async function dispatcher(...answers: RequestListener[]): Promise<string> {
    server = createServer((asked, answer) => answers.shift()?.(asked, answer));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const cut: RequestListener = (asked) => asked.socket.resetAndDestroy();
  const starting: RequestListener = (_, answer) => {
    answer.writeHead(503, { "Content-Type": "application/problem+json" });
    answer.end(JSON.stringify({ status: 503, code: "not_ready", detail: "it is starting" }));
  };
  const waiting: RequestListener = (_, answer) => answer.end(JSON.stringify({ id: "1", state: "waiting" }));
  const done: RequestListener = (_, answer) =>
    answer.end(JSON.stringify({ id: "1", state: "done", contentType: "text/plain", result: "made" }));
  const unknown: RequestListener = (_, answer) => {
    answer.writeHead(404, { "Content-Type": "application/problem+json" });
    answer.end(JSON.stringify({ status: 404, code: "not_found", detail: "no such task" }));
  };

  for (const [what, answers] of Object.entries({
    "that a restart cuts": [cut, starting, done],
    "that was answered before the restart": [waiting, cut, cut, starting, waiting, done],
  })) {
    test(`${what} goes on after it`, async () => {
      await using client = await connect(await dispatcher(...answers));
      assert.equal((await client.result("1")).text(), "made");
    });
  }

  test("at an address where nobody listens rejects at once", async () => {
    const url = await dispatcher();
    await new Promise((resolve) => server?.close(resolve));
    await using client = await connect(url);
    await assert.rejects(client.result("1"), { code: "unreachable" });
  });

  test("that is refused rejects with the reason, also after a restart", async () => {
    await using client = await connect(await dispatcher(waiting, cut, unknown));
    await assert.rejects(client.result("1"), { code: "not_found" });
  });

  test("ends when it is aborted while the dispatcher is away", async () => {
    const abort = new AbortController();
    const aborting: RequestListener = (asked, answer) => {
      cut(asked, answer as never);
      abort.abort(new Error("no longer needed"));
    };
    await using client = await connect(await dispatcher(aborting));
    await assert.rejects(client.result("1", { signal: abort.signal }), /no longer needed/);
  });
});
