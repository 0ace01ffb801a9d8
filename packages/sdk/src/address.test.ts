import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hostAndPort, readAddress } from "./address.js";
import { connect, dialectTable, work } from "./dialects.js";
import { ArgumentError, UnsupportedError } from "./errors.js";

const read = (url: string) => readAddress(url, dialectTable);

describe("URLs", () => {
  test("pick the dialect, the host and the port", () => {
    for (const [url, scheme, place] of [
      ["http://127.0.0.1:7420", "http", "127.0.0.1:7420"],
      ["http://yard", "http", "yard:7420"],
      ["HTTP://Yard:1", "http", "yard:1"],
      ["https://yard.example", "https", "yard.example:443"],
      ["http://[::1]:7420/", "http", "[::1]:7420"],
      ["pingpong://127.0.0.1:5562", "pingpong", "127.0.0.1:5562"],
      ["udp://host", "udp", "host:5555"],
      ["udp://[::1]:5555", "udp", "[::1]:5555"],
    ] as const) {
      const address = read(url);
      assert.deepEqual([address.scheme, hostAndPort(address)], [scheme, place], url);
    }
    assert.equal(read("pulse:/run/my%20controller").path, "/run/my controller");
    assert.equal(read("pulse:/run/controller?numbering=main").parameters.get("numbering"), "main");
    assert.equal(read("http://:s3%20cret@yard").password, "s3 cret");
    assert.equal(read("http://yard/behind/proxy/").path, "/behind/proxy/");
  });

  test("with mistakes are refused with what was expected", () => {
    for (const [url, words] of [
      ["", /"" is not a URL: expected one of http, https, /],
      ["127.0.0.1:7420", /is not a URL: expected one of http/],
      ["localhost:7420", /is not a URL: expected one of http/],
      ["ftp://x", /no dialect is called ftp: expected http, /],
      ["constructor://x:1", /no dialect is called constructor: expected http, /],
      ["__proto__://x:1", /is not a URL: expected one of http, /],
      ["http://", /is not a URL/],
      ["http://host:99999", /is not a URL/],
      ["http://:%zz@host", /is not a URL/],
      ["pingpong://host", /names no host and port: pingpong:\/\/host:port/],
      ["pingpong:5562", /is not a URL: expected one of http/],
    ] as const) {
      assert.throws(
        () => read(url),
        (fault) => fault instanceof ArgumentError && words.test(fault.message),
        url,
      );
    }
  });

  test("of a dialect that cannot do it are refused with a typed error", async () => {
    await assert.rejects(connect("pulse:/run/controller"), (fault) => {
      assert.ok(fault instanceof UnsupportedError);
      assert.deepEqual(
        [fault.code, fault.dialect, fault.operation],
        ["unsupported", "pulse", "submit tasks"],
      );
      return true;
    });
    await assert.rejects(
      work("udp://h:1", { queue: "q" }, () => ""),
      /udp cannot choose a queue; its door has one/,
    );
    await assert.rejects(
      work("http://h:1", {}, () => ""),
      /http has many queues: name one/,
    );
    await assert.rejects(
      work("http://h:1", { queue: "q", concurrency: 1.5 }, () => ""),
      /concurrency: expected/,
    );
    await assert.rejects(
      work("monique://h", { queue: "q" }, () => ""),
      /names no controller's port for workers: \?worker=10000/,
    );
    await assert.rejects(
      work("monique://h?worker=x", { queue: "q" }, () => ""),
      /worker: found "x", expected a port/,
    );
    await assert.rejects(
      work("monique://h?worker=1", {}, () => ""),
      /monique has many specs: name one as the queue/,
    );
    await assert.rejects(connect("monique://h?form=d9"), /form: found d9, expected d1 or d3/);
    await assert.rejects(
      work("pulse:/x?numbering=odd", {}, () => ""),
      /numbering: found odd, expected document or main/,
    );
    const mistakes: readonly [url: string, words: RegExp][] = [
      ["pulse:/x?nextPulse=60", /nextPulse: found 60, expected a duration such as 500ms/],
      ["pulse:/x?nextPulse=1500ms", /nextPulse is in whole seconds/],
      ["pulse:/x?nextPulse=10s&pulse=10s", /the controller would give the worker up/],
      ["pulse:/x?restart=never", /restart: found never, expected register or end/],
      [
        "pulse:/x?interval=1s",
        /interval is not a parameter here: expected numbering, nextPulse, pulse, restart/,
      ],
      ["pingpong://h:1?form=programme", /form: found programme, expected document or program/],
      ["pingpong://h:1?brokerTimeout=0s", /brokerTimeout: found 0s, expected a duration/],
      ["pingpong://h:1?timeouts=0", /timeouts: found 0, expected a whole number from 1/],
      ["pingpong://h:1?from=program", /from is not a parameter here: expected form, ping/],
      ["udp://h:1?form=program", /form is not a parameter here: expected none/],
      ["scaler://h:1?func=f", /func is not a parameter here: expected function/],
    ];
    for (const [url, words] of mistakes)
      await assert.rejects(
        work(url, {}, () => ""),
        words,
        url,
      );
    const atClients: readonly [url: string, words: RegExp][] = [
      ["pingpong://h:1?form=programme", /form: found programme, expected document or program/],
      ["udp://h:1?x=1", /x is not a parameter here: expected none/],
      ["scaler://h:1?func=f", /func is not a parameter here: expected function/],
      ["monique://h:1?tech=1", /tech is not a parameter here: expected out, worker, techIn/],
    ];
    for (const [url, words] of atClients) await assert.rejects(async () => connect(url), words, url);
  });
});
