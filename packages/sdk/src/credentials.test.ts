// Credentials for ZeroMQ doors: both ends of every dialect show them, and a refusal is noticed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { curveKeyPair, Pub, Pull, Push, Router, type ZmtpSocket } from "@yardmaster/zmtp";
import { connect, work } from "./dialects.js";
import { patience } from "./testing/patience.js";

const server = curveKeyPair();
const client = curveKeyPair();
const curve = { curve: { serverKey: server.publicKey, ...client } };
const plain = { plain: { username: "ann", password: "hunter2" } };

/** Who has connected: a promise for each number of peers. */
class Guests {
  readonly names: unknown[] = [];
  #wake: () => void = () => {};

  readonly options = {
    security: {
      mechanisms: ["CURVE", "PLAIN"] as const,
      secretKey: server.secretKey,
      authenticate: (shown: { mechanism: string; publicKey?: string; username?: string }) =>
        shown.publicKey === client.publicKey ? "by key" : shown.username === "ann" ? "by name" : undefined,
    },
    onPeer: ({ principal }: { principal: unknown }) => {
      this.names.push(principal);
      this.#wake();
    },
  };

  async first(count: number): Promise<unknown[]> {
    while (this.names.length < count) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.names;
  }
}

async function bound(socket: ZmtpSocket): Promise<number> {
  const { endpoint } = await socket.bind("tcp://127.0.0.1:0");
  return Number(endpoint.split(":").at(-1));
}

for (const scheme of ["pingpong", "scaler"]) {
  test(`${scheme}: a client by CURVE and a worker by PLAIN`, patience, async () => {
    const guests = new Guests();
    const router = new Router(guests.options);
    const url = `${scheme}://127.0.0.1:${await bound(router)}`;
    const asking = await connect(url, { security: curve });
    assert.deepEqual(await guests.first(1), ["by key"]);
    const worker = await work(url, { security: plain }, () => "");
    assert.deepEqual(await guests.first(2), ["by key", "by name"]);
    await Promise.all([asking.close(), worker.stop()]);
    await router.close();
  });
}

test("monique: every socket of a component shows them", patience, async () => {
  const guests = new Guests();
  const sockets = [new Pull(guests.options), new Pub(guests.options), new Push(guests.options)] as const;
  const [input, out, controller] = await Promise.all(sockets.map(bound));
  const url = `monique://127.0.0.1:${input}?out=${out}&worker=${controller}`;
  const worker = await work(url, { queue: "squares", security: curve }, () => "");
  assert.deepEqual(await guests.first(3), ["by key", "by key", "by key"]);
  await worker.stop();
  await Promise.all(sockets.map((socket) => socket.close()));
});

test("a refused client says so instead of waiting for ever", patience, async () => {
  const router = new Router(new Guests().options);
  const url = `pingpong://127.0.0.1:${await bound(router)}`;
  for (const security of [
    { plain: { username: "eve", password: "" } },
    { curve: { ...curve.curve, ...curveKeyPair() } },
  ]) {
    const refused = await connect(url, { security });
    await assert.rejects(refused.call("job"), { code: "not_connected" });
    await refused.close();
  }
  await router.close();
});

test("other dialects do not take credentials that they would not show", patience, async () => {
  for (const url of ["http://127.0.0.1:7420", "udp://127.0.0.1:5555"]) {
    await assert.rejects(connect(url, { security: plain }), { code: "unsupported" });
    await assert.rejects(
      work(url, { security: plain }, () => ""),
      { code: "unsupported" },
    );
  }
});
