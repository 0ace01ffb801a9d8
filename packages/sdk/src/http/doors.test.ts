// A client with several URLs, against real http servers of which one at a time owns the yard.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, test } from "node:test";
import { readAddresses } from "../address.js";
import { connect, dialectTable } from "../dialects.js";
import { RefusedError, UnreachableError } from "../errors.js";

import { HttpConnection } from "./connection.js";

type Role = "owner" | "standby" | "starting";

/** A dispatcher as far as these tests see it: it answers a request with its own name. */
class FakeDispatcher {
  readonly seen: { readonly path: string; readonly token: string | undefined }[] = [];
  role: Role;
  /** What it says about the owner. */
  owner: string | null = null;
  retryAfter: string | undefined = "1";
  /** Takes a request in its place. */
  meddle: ((asked: IncomingMessage, answer: ServerResponse) => boolean) | undefined;
  url = "";
  readonly #name: string;
  readonly #server: Server;

  private constructor(name: string, role: Role) {
    this.#name = name;
    this.role = role;
    this.#server = createServer((asked, answer) => this.#answer(asked, answer));
  }

  static async start(name: string, role: Role): Promise<FakeDispatcher> {
    const dispatcher = new FakeDispatcher(name, role);
    dispatcher.#server.listen(0, "127.0.0.1");
    await once(dispatcher.#server, "listening");
    dispatcher.url = `http://127.0.0.1:${(dispatcher.#server.address() as AddressInfo).port}`;
    return dispatcher;
  }

  /** Requests that are no looks for the owner. */
  get asked(): readonly string[] {
    return this.seen.flatMap(({ path }) => (path === "/readyz" ? [] : [path]));
  }

  get looks(): number {
    return this.seen.length - this.asked.length;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(asked: IncomingMessage, answer: ServerResponse): void {
    this.seen.push({ path: asked.url ?? "", token: asked.headers.authorization });
    asked.resume();
    if (this.meddle?.(asked, answer)) return;
    const problem = (fields: object) => {
      const pause = this.retryAfter === undefined ? {} : { "Retry-After": this.retryAfter };
      answer.writeHead(503, { "Content-Type": "application/problem+json", ...pause });
      answer.end(JSON.stringify({ status: 503, detail: "not here", ...fields }));
    };
    if (this.role === "starting") problem({ code: "not_ready" });
    else if (this.role === "owner") answer.end(JSON.stringify({ name: this.#name }));
    else if (asked.url === "/readyz") problem({ code: "not_ready", role: "standby" });
    else problem({ code: "not_owner", owner: this.owner });
  }
}

describe("several URLs", { timeout: 120_000 }, () => {
  const started: FakeDispatcher[] = [];
  const connections: HttpConnection[] = [];
  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.close();
    for (const dispatcher of started.splice(0)) await dispatcher.close();
  });
  const start = async (name: string, role: Role) => {
    const dispatcher = await FakeDispatcher.start(name, role);
    started.push(dispatcher);
    return dispatcher;
  };
  const connectionTo = (...urls: string[]) => {
    const connection = new HttpConnection(readAddresses(urls, dialectTable), { token: "secret of the test" });
    connections.push(connection);
    return connection;
  };
  const nameOf = async (connection: HttpConnection, method: "GET" | "POST" = "GET") =>
    (await connection.json<{ name: string }>("/v1/x", { method })).name;

  test("follow the owner that a standby names, and stay there", async () => {
    const [one, two, three] = [
      await start("one", "standby"),
      await start("two", "standby"),
      await start("three", "owner"),
    ];
    one.owner = three.url;
    const connection = connectionTo(one.url, two.url, three.url);
    assert.equal(await nameOf(connection, "POST"), "three");
    assert.equal(await nameOf(connection), "three");
    assert.deepEqual([one.asked.length, two.seen.length, three.asked.length], [1, 0, 2]);
  });

  test("never ask a dispatcher that was not named, whatever a standby says", async () => {
    const [one, two, stranger] = [
      await start("one", "standby"),
      await start("two", "owner"),
      await start("stranger", "owner"),
    ];
    for (const owner of [stranger.url, "nonsense", "", "http://[", null]) {
      one.owner = owner;
      assert.equal(await nameOf(connectionTo(one.url, two.url)), "two");
    }
    assert.deepEqual(stranger.seen, []);
    const alone = connectionTo(one.url);
    one.owner = two.url;
    await assert.rejects(nameOf(alone), { code: "not_owner", status: 503 });
  });

  test("go on to the next if nobody listens, also with a request that must not be repeated", async () => {
    const [gone, two] = [await start("gone", "owner"), await start("two", "owner")];
    await gone.close();
    assert.equal(await nameOf(connectionTo(gone.url, two.url), "POST"), "two");
  });

  test("fail at once if none can be reached, and name them all", async () => {
    const [one, two] = [await start("one", "owner"), await start("two", "owner")];
    await one.close();
    await two.close();
    await assert.rejects(nameOf(connectionTo(one.url, two.url)), (fault: Error) => {
      return fault instanceof UnreachableError && [one, two].every(({ url }) => fault.message.includes(url));
    });
  });

  test("repeat a lost request elsewhere only if that is harmless", async () => {
    const [one, two] = [await start("one", "owner"), await start("two", "owner")];
    one.meddle = (asked) => asked.socket.destroy() !== undefined;
    assert.equal(await nameOf(connectionTo(one.url, two.url)), "two");
    const connection = connectionTo(one.url, two.url);
    await assert.rejects(nameOf(connection, "POST"), UnreachableError);
    assert.deepEqual(two.asked, ["/v1/x"]);
    // The next request goes elsewhere.
    while (connection.where !== two.url) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(await nameOf(connection, "POST"), "two");
  });

  test("wait for a take-over with few looks, however many requests wait", async () => {
    const [one, two] = [await start("one", "standby"), await start("two", "standby")];
    const connection = connectionTo(one.url, two.url);
    const began = performance.now();
    const waiting = Array.from({ length: 200 }, () => nameOf(connection, "POST"));
    while (two.looks < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(performance.now() - began > 900, "Retry-After is respected");
    two.role = "owner";
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(["two"]));
    assert.ok(one.looks + two.looks < 12, `${one.looks + two.looks} looks`);
    assert.ok(one.asked.length <= 400, `${one.asked.length} requests at the standby`);
    assert.equal(two.asked.length, 200);
  });

  test("follow the owner back and forth", async () => {
    const [one, two] = [await start("one", "owner"), await start("two", "standby")];
    const connection = connectionTo(one.url, two.url);
    for (let round = 0; round < 6; round++) {
      const [owner, standby] = round % 2 === 0 ? [one, two] : [two, one];
      [owner.role, standby.role] = ["owner", "standby"];
      standby.owner = owner.url;
      assert.equal(await nameOf(connection), owner === one ? "one" : "two");
    }
  });

  test("stop waiting for an owner when the caller does", async () => {
    const [one, two] = [await start("one", "standby"), await start("two", "starting")];
    const connection = connectionTo(one.url, two.url);
    const stopping = new AbortController();
    const asked = connection.ask("/v1/x", { signal: stopping.signal });
    while (two.looks === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    stopping.abort();
    await assert.rejects(asked, { name: "AbortError" });
  });

  test("say that there is no owner if none appears", async () => {
    const [one, two] = [await start("one", "standby"), await start("two", "standby")];
    await assert.rejects(nameOf(connectionTo(one.url, two.url)), (fault: Error) => {
      return fault instanceof RefusedError && fault.code === "not_owner";
    });
    assert.ok(one.looks + two.looks < 40, `${one.looks + two.looks} looks`);
  });

  const refused: [string, string | string[], RegExp][] = [
    ["an empty list", [], /no URL is given/],
    ["an empty text", "", /is not a URL/],
    ["a list with a gap", ["http://a:1", ""], /"" is not a URL/],
    ["a comma at the end", "http://a:1,", /"" is not a URL/],
    ["a word among URLs", ["http://a:1", "b:2"], /"b:2" is not a URL/],
    ["the same place twice", "http://a:1,http://a:1/", /"http:\/\/a:1\/" is given twice/],
    ["doors of another dialect", "udp://a:1,udp://b:1", /only http doors can be several/],
  ];
  for (const [name, urls, expected] of refused) {
    test(`refuse ${name}`, async () => {
      await assert.rejects(connect(urls), { code: "bad_url", message: expected });
    });
  }

  test("are separated by commas or in a list, and a comma inside one stays", () => {
    const read = (urls: string | string[]) => {
      const { url, others = [] } = readAddresses(urls, dialectTable);
      return [url, ...others.map((other) => other.url)];
    };
    assert.deepEqual(read("http://a:1, https://b"), ["http://a:1", "https://b"]);
    assert.deepEqual(read(["http://a:1", "http://b:1/x,y"]), ["http://a:1", "http://b:1/x,y"]);
    assert.deepEqual(read("http://a:1/x,y"), ["http://a:1/x,y"]);
    assert.deepEqual(read("pulse:/run/a,b"), ["pulse:/run/a,b"]);
  });
});
