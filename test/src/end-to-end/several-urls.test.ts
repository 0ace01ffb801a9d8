// Clients, a streaming worker and the command with the URLs of two dispatchers, while the ownership
// moves from one to the other. Both are front doors of one real dispatcher, of which only the
// owner's forwards; the other answers as a standby does.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect, work } from "@yardmaster/sdk";
import { patience } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

class Front {
  url = "";
  isOwner = false;
  /** Requests that it forwarded. */
  forwarded = 0;
  readonly #server: Server;

  constructor(target: () => string, owner: () => string | null) {
    this.#server = createServer((asked, answer) => {
      if (!this.isOwner) {
        asked.resume();
        const isLook = asked.url === "/readyz";
        answer.writeHead(503, { "Content-Type": "application/problem+json", "Retry-After": "1" });
        const code = isLook ? "not_ready" : "not_owner";
        answer.end(JSON.stringify({ status: 503, code, detail: "standby", owner: owner() }));
        return;
      }
      this.forwarded += 1;
      const { method, url, headers } = asked;
      const { host } = new URL(target());
      const onward = request(`${target()}${url}`, { method, headers: { ...headers, host }, agent: false });
      onward.on("error", () => answer.destroy());
      answer.on("close", () => onward.destroy());
      onward.on("response", (response) => {
        answer.writeHead(response.statusCode ?? 500, response.headers);
        answer.flushHeaders();
        response.on("error", () => answer.destroy());
        response.pipe(answer);
      });
      asked.pipe(onward);
    });
  }

  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A deposed owner closes its connections at once. */
  depose(): void {
    this.isOwner = false;
    this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe("several URLs of a cluster", patience, () => {
  let yard: ServedYard;
  let fronts: readonly [Front, Front];
  before(async () => {
    yard = await serveYard({});
    const owner = () => fronts.find(({ isOwner }) => isOwner)?.url ?? null;
    fronts = [new Front(() => yard.url, owner), new Front(() => yard.url, owner)];
    for (const front of fronts) await front.start();
    fronts[0].isOwner = true;
  });
  after(async () => {
    for (const front of fronts) await front.close();
    await yard.stop();
  });
  const urls = () => fronts.map(({ url }) => url);
  const takeOver = async () => {
    const [from, to] = fronts[0].isOwner ? fronts : ([fronts[1], fronts[0]] as const);
    from.depose();
    await new Promise((resolve) => setTimeout(resolve, 400));
    to.isOwner = true;
    return to;
  };

  test("waiting clients and a streaming worker go on at the new owner", async () => {
    const client = await connect(urls());
    const contacts: boolean[] = [];
    const begun: string[] = [];
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const worker = await work(
      urls(),
      { queue: "moved", concurrency: 4, onContact: (isThere) => contacts.push(isThere) },
      async (body, { task }) => {
        begun.push(task ?? "");
        await released;
        return `did ${body.text()}`;
      },
    );
    const submitted = [];
    for (const payload of ["a", "b", "c", "d", "e", "f"])
      submitted.push(await client.submit(payload, { queue: "moved" }));
    const results = submitted.map((task) => client.result(task));
    const watched = (async () => {
      const states = [];
      for await (const { state } of client.watch(submitted[0] as never)) states.push(state);
      return states;
    })();
    while (begun.length < 4) await new Promise((resolve) => setTimeout(resolve, 10));

    const to = await takeOver();
    while (contacts.at(-1) !== true || contacts.length < 3)
      await new Promise((resolve) => setTimeout(resolve, 10));
    release();
    const bodies = await Promise.all(results);
    assert.deepEqual(
      bodies.map((body) => body.text()),
      ["did a", "did b", "did c", "did d", "did e", "did f"],
    );
    assert.equal((await watched).at(-1), "done");
    assert.equal(begun.length, 6, "no task ran twice");
    const call = await client.call("g", { queue: "moved" });
    assert.equal(call.body.text(), "did g");
    assert.ok(to.forwarded > 0);

    // And back again, with requests under way.
    const many = Array.from({ length: 50 }, (_, at) =>
      client.submit(String(at), { queue: "moved", key: `back/${at}` }),
    );
    await takeOver();
    const ids = await Promise.all(many);
    assert.equal(new Set(ids.map(({ id }) => id)).size, 50);
    for (const task of ids) await client.result(task);
    await worker.stop();
    await client.close();
  });

  const run = async (...args: string[]) => {
    const child = spawn(process.execPath, [bin, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    const [code] = await once(child, "close");
    return { code, stdout, stderr };
  };

  test("the command takes them with commas, or each with --url", async () => {
    const [standby, owner] = fronts[0].isOwner ? [fronts[1], fronts[0]] : fronts;
    const both = `${standby.url},${owner.url}`;
    const submitted = await run("submit", both, "--queue", "by-command", "hello");
    assert.deepEqual([submitted.code, submitted.stderr], [0, ""]);
    const listed = await run(
      "tasks",
      "--queue",
      "by-command",
      "--json",
      "--url",
      standby.url,
      "--url",
      owner.url,
    );
    assert.equal(listed.code, 0, listed.stderr);
    assert.equal(JSON.parse(listed.stdout).queue, "by-command");
    const twice = await run("tasks", "--url", owner.url, "--url", owner.url);
    assert.equal(twice.code, 2);
    assert.match(twice.stderr, /is given twice/);
  });
});
