import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { StartFault } from "../door-kit/door.js";
import { type ApiResponse, YardUnderTest } from "../http/yard-under-test.js";
import { patience } from "../testing/patience.js";

interface ProblemJson {
  readonly type: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

function assertProblem({ status, headers, json }: ApiResponse, expected: string, detail?: RegExp): void {
  const problem = json as ProblemJson;
  assert.equal(`${status} ${problem.code}`, expected, problem.detail);
  assert.equal(headers.get("content-type"), "application/problem+json");
  assert.equal(problem.status, status);
  assert.equal(problem.type, `urn:yardmaster:problem:${problem.code}`);
  if (detail) assert.match(problem.detail, detail);
}

describe("the http door and bad input", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest({ payloadBytesMax: 100_000 }).open();
  });
  after(() => yard.close());

  test("an unknown path is not found, whatever the method", async () => {
    for (const [method, path] of [
      ["GET", "/v2/tasks"],
      ["POST", "/v1/tasks/1:retry"],
      ["POST", "/v1/queues/q/tasks:many"],
      ["POST", "/v1/queues/q:frob"],
      ["POST", "/v1/queues/q:claimed?worker=w"],
      ["GET", "/v1/tasks/1"],
      ["GET", "/v1/tasks/x"],
      ["GET", "/v1/tasks/-1"],
      ["GET", "/v1/tasks/99999999999999999999"],
    ] as const) {
      assertProblem(await yard.ask(method, path), "404 not_found");
    }
  });

  test("odd queue names are refused with the grammar", async () => {
    for (const name of [
      "a%20b",
      "%C3%BC",
      "a%2Fb",
      "-a",
      ".a",
      "a:b",
      "%00",
      "a".repeat(129),
      "%2E%2E%2Fx",
    ]) {
      const asked = await yard.ask("POST", `/v1/queues/${name}/tasks`, { body: "x" });
      assertProblem(asked, "400 bad_request", /is not a queue's name: 1 to 128 of A-Z a-z 0-9 \. _ -/);
      assertProblem(await yard.ask("POST", `/v1/queues/${name}:claim?worker=w`), "400 bad_request");
      assertProblem(await yard.ask("POST", `/v1/queues/${name}:pause`), "400 bad_request");
    }
    const longest = `Z${"9._-".repeat(31)}999`;
    assert.equal((await yard.ask("POST", `/v1/queues/${longest}/tasks`)).status, 201);
  });

  test("unknown and wrong parameters are refused by name, on every route", async () => {
    assertProblem(
      await yard.ask("GET", "/v1/queues?cursor=3"),
      "400 bad_request",
      /unknown parameter "cursor"/,
    );
    assertProblem(await yard.ask("GET", "/v1/tasks?stat=done"), "400 bad_request", /did you mean state\?/);
    assertProblem(
      await yard.ask("POST", "/v1/queues/q/tasks?delay=5"),
      "400 bad_request",
      /^delay: found "5"/,
    );
    assertProblem(await yard.ask("POST", "/v1/queues/q/tasks?delay=1s&delay=2s"), "400 bad_request", /once$/);
    assertProblem(await yard.ask("POST", "/v1/queues/q:claim"), "400 bad_request", /^worker is missing/);
    assertProblem(
      await yard.ask("POST", "/v1/queues/q:claim?worker=%0A"),
      "400 bad_request",
      /^worker: found/,
    );
    assertProblem(await yard.ask("GET", "/%zz"), "400 bad_request", /URL/);
    assertProblem(await yard.ask("GET", `/v1/tasks/${"1".repeat(5000)}`), "400 bad_request", /too long/);
  });

  test("a body over the limit is refused, with or without its length, and not read", async () => {
    const fits = await yard.ask("POST", "/v1/queues/q/tasks", { body: Buffer.alloc(100_000) });
    assert.equal(fits.status, 201);
    const over = await yard.ask("POST", "/v1/queues/q/tasks", { body: Buffer.alloc(100_001) });
    assertProblem(over, "413 payload_too_large");
    const chunks = [Buffer.alloc(60_000), Buffer.alloc(60_000)];
    const body = new ReadableStream({
      pull(controller) {
        const chunk = chunks.pop();
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
    });
    const chunked = await yard.ask("POST", "/v1/queues/q/tasks", { body, duplex: "half" } as RequestInit);
    assertProblem(chunked, "413 payload_too_large");
    const unsent = await yard.hear(
      "POST /v1/queues/q/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\nabc",
    );
    assert.match(unsent, /^HTTP\/1\.1 413 /);
    // A request without a payload must not carry a large body.
    const elsewhere = await yard.ask("POST", "/v1/tasks/1:cancel", { body: Buffer.alloc(99_999) });
    assertProblem(elsewhere, "413 payload_too_large");
  });

  test("a Content-Type that is none, or too long, is refused", async () => {
    const send = (type: string) =>
      yard.ask("POST", "/v1/queues/q/tasks", { body: "x", headers: { "Content-Type": type } });
    assertProblem(await send("garbage"), "400 bad_request", /Content-Type/);
    assertProblem(await send(`text/${"x".repeat(300)}`), "400 bad_request", /Content-Type/);
  });

  test("claims that wait share timers", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const head = (n: number) =>
      `POST /v1/queues/long:claim?worker=w${n}&wait=1h HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    const before = timers();
    const sockets = Array.from({ length: 300 }, (_, n) => yard.connect(head(n)));
    await yard.eventually(async () => {
      const workers = (await yard.runtime.port("test").reads.workers()).filter(({ slots }) => slots === 1);
      return workers.length >= 300 ? true : undefined;
    });
    assert.ok(timers() < before + 50, `${timers() - before} timers for 300 claims`);
    for (const socket of sockets) socket.destroy();
  });

  test("what is not HTTP, and too many headers, are answered with problems", async () => {
    assert.match(await yard.hear("garbage\r\n\r\n"), /^HTTP\/1\.1 400 .*"code":"bad_request"/s);
    const long = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`;
    assert.match(await yard.hear(long), /^HTTP\/1\.1 431 .*"code":"headers_too_large"/s);
  });

  test("floods of parameters and headers are refused or harmless", async () => {
    const flood = Array.from({ length: 1_500 }, (_, n) => `p${n}=1`).join("&");
    assertProblem(await yard.ask("GET", `/v1/tasks?${flood}`), "400 bad_request", /unknown parameter "p0"/);
    assertProblem(await yard.ask("GET", `/v1/tasks?${"queue=a&".repeat(1_500)}`), "400 bad_request", /once/);
    for (const name of ["__proto__", "constructor", "toString"]) {
      assertProblem(await yard.ask("GET", `/v1/tasks?${name}=x`), "400 bad_request", /unknown parameter/);
    }
    const headers = Array.from({ length: 1_500 }, (_, n) => `H${n}: x\r\n`).join("");
    const many = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Connection: close\r\n\r\n`;
    assert.match(await yard.hear(many), /^HTTP\/1\.1 (200|431) /);
    assert.match(await yard.hear(`GET /${"x".repeat(20_000)} HTTP/1.1\r\n\r\n`), /^HTTP\/1\.1 431 /);
  });

  test("requests in one breath on one connection are answered in order", async () => {
    const one = (n: number) =>
      `POST /v1/queues/pipe/tasks?key=${n} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n\r\nx`;
    const last = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    const text = await yard.hear(Array.from({ length: 100 }, (_, n) => one(n)).join("") + last);
    const keys = [...text.matchAll(/"key":"(\d+)"/g)].map(([, key]) => Number(key));
    assert.deepEqual(
      keys,
      Array.from({ length: 100 }, (_, n) => n),
    );
    assert.match(text, /\{"ok":true\}$/);
  });

  test("Host and Origin are checked on every request", async () => {
    const hear = (headers: string, path = "/healthz") =>
      yard.hear(`GET ${path} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);
    assert.match(await hear("Host: 127.0.0.1\r\n"), /^HTTP\/1\.1 200 /);
    assert.match(await hear("Host: localhost:7420\r\n"), /^HTTP\/1\.1 200 /);
    assert.match(await hear(""), /^HTTP\/1\.1 400 .*Host header/s);
    for (const twice of [
      "Host: 127.0.0.1\r\nHost: evil.example\r\n",
      "Host: evil.example\r\nhost: 127.0.0.1\r\n",
      "Host: 127.0.0.1\r\nX: y\r\nHOST: 127.0.0.1\r\n",
    ]) {
      assert.match(await hear(twice), /^HTTP\/1\.1 400 .*"bad_request".*/s, twice);
      assert.match(await hear(twice, "/nowhere"), /^HTTP\/1\.1 400 .*two Host headers/s, twice);
    }
    for (const path of ["/healthz", "/v1/tasks", "/nowhere"]) {
      assert.match(await hear("Host: evil.example\r\n", path), /^HTTP\/1\.1 403 .*"code":"forbidden"/s);
      assert.match(
        await hear("Host: 127.0.0.1\r\nOrigin: http://evil.example\r\n", path),
        /^HTTP\/1\.1 403 /,
      );
    }
    assert.match(await hear("Host: 127.0.0.1:1\r\nOrigin: http://127.0.0.1:1\r\n"), /^HTTP\/1\.1 200 /);
    assertProblem(
      await yard.ask("POST", "/v1/queues/forged/tasks", { body: "x", headers: { Origin: "null" } }),
      "403 forbidden",
    );
    const { items } = (await yard.ask("GET", "/v1/tasks?queue=forged")).json as { items: unknown[] };
    assert.deepEqual(items, []);
  });
});

describe("the http door's patience", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    const timeouts = { headersMs: 200, requestMs: 1_000, silenceMs: 300, checkMs: 50 };
    yard = await new YardUnderTest({ timeouts }).open();
  });
  after(() => yard.close());

  test("slow senders are told, and closed", async () => {
    const head = "POST /v1/queues/q/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n";
    for (const text of ["", "GET /healthz HT", `${head}abc`]) {
      assert.match(await yard.hear(text), /^HTTP\/1\.1 408 .*"code":"request_timeout"\}$/s, text);
    }
    // A byte now and then keeps a connection from being silent, but it is still too slow.
    let heard = "";
    const socket = yard.connect(head);
    const drip = setInterval(() => socket.write("x"), 200);
    await new Promise((resolve) => {
      socket.on("data", (chunk) => {
        heard += chunk;
      });
      socket.on("error", () => {});
      socket.on("close", resolve);
    });
    clearInterval(drip);
    assert.match(heard, /^HTTP\/1\.1 408 /);
  });

  test("a claim may wait for longer than a sender may be silent", async () => {
    const { status } = await yard.ask("POST", "/v1/queues/q-patient:claim?worker=w&wait=700ms");
    assert.equal(status, 204);
  });
});

describe("the http door", patience, () => {
  test("with a token every route but the checks of health and readiness asks for it", async () => {
    const yard = await new YardUnderTest({ config: { token: "t0ken" } }).open();
    try {
      assert.equal((await yard.ask("GET", "/healthz")).status, 200);
      assert.equal((await yard.ask("GET", "/readyz")).status, 200);
      assert.equal((await yard.ask("HEAD", "/readyz")).status, 200);
      for (const path of ["/metrics", "/v1/doors", "/v1/tasks", "/nowhere"]) {
        const asked = await yard.ask("GET", path);
        assertProblem(asked, "401 unauthorized");
        assert.equal(asked.headers.get("www-authenticate"), "Bearer");
      }
      const headers = { Authorization: "Bearer t0ken" };
      assert.equal((await yard.ask("GET", "/v1/tasks", { headers })).status, 200);
      const large = await yard.ask("POST", "/v1/queues/q/tasks", { body: Buffer.alloc(2_000_000) });
      assertProblem(large, "401 unauthorized");
    } finally {
      await yard.close();
    }
  });

  test("health, readiness, metrics and doors can be read by programs", async () => {
    const yard = await new YardUnderTest().open();
    try {
      assert.deepEqual((await yard.ask("GET", "/healthz")).json, { ok: true });
      assert.deepEqual((await yard.ask("GET", "/readyz")).json, { ready: true });
      const metrics = await yard.ask("GET", "/metrics");
      assert.equal(metrics.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
      assert.equal(metrics.text, "yardmaster_waiting 0\n");
      assert.match(
        ((await yard.ask("GET", "/v1/doors")).json as { http: { listen: string } }).http.listen,
        /^127/,
      );
    } finally {
      await yard.close();
    }
  });

  test("while it stops nothing new comes in or goes out, and the rest goes on", async () => {
    const yard = await new YardUnderTest().open();
    const { id } = await yard.submit("q", "x");
    const [attempt] = await yard.claim("q", "w");
    assert.ok(attempt);
    const parked = yard.ask("POST", "/v1/queues/empty:claim?worker=w&wait=1h");
    const watched = yard.ask("POST", "/v1/queues/empty-too/tasks?wait=1h", { body: "y" });
    await yard.until(String(Number(id) + 1), ({ queue }) => queue === "empty-too");
    const stopped = yard.runtime.stop(20_000);
    assertProblem(await yard.ask("POST", "/v1/queues/q/tasks"), "503 not_ready");
    assertProblem(await yard.ask("POST", "/v1/queues/q:claim?worker=w"), "503 not_ready");
    assertProblem(await yard.ask("GET", "/readyz"), "503 not_ready");
    assert.equal((await yard.ask("GET", "/healthz")).status, 200);
    assert.equal((await parked).status, 204);
    assert.equal((await yard.speak(attempt, "done", { body: "z" })).status, 200);
    await stopped;
    const { status, json } = await watched;
    assert.equal(status, 202);
    assert.equal((json as { queue: string }).queue, "empty-too");
    await assert.rejects(yard.ask("GET", "/healthz"));
  });

  test("faults of peers are counted by kind, and refusals of allowed requests are not", async () => {
    const yard = await new YardUnderTest().open();
    try {
      const { faults } = yard.door;
      await yard.ask("GET", "/nowhere");
      await yard.ask("GET", "/v1/tasks/9");
      await yard.submit("q", "x");
      assert.deepEqual([...faults.entries()], []);
      await yard.ask("GET", "/v1/tasks?x=1");
      await yard.ask("GET", "/%zz");
      await yard.hear("garbage\r\n\r\n");
      await yard.ask("GET", "/v1/tasks", { headers: { Origin: "null" } });
      assert.deepEqual(
        [...faults.entries()],
        [
          ["bad_request", 3],
          ["forbidden", 1],
        ],
      );
    } finally {
      await yard.close();
    }
  });

  test("a port in use is told with door and address", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    const yard = new YardUnderTest({ config: { listen: { host: "127.0.0.1", port } } });
    await assert.rejects(yard.open(), (fault) => {
      assert.ok(fault instanceof StartFault);
      assert.equal(fault.message, `door http: another program listens on 127.0.0.1:${port}`);
      return true;
    });
    await yard.close();
    other.close();
  });
});
