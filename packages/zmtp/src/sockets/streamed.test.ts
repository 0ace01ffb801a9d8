// Bodies that are fetched while they are written, and frames that are too large to keep.

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { DroppedFrames } from "../connection.js";
import type { StreamedBody } from "../streamed-body.js";
import { Inbox } from "../test-kit/inbox.js";
import { message, RawPeer } from "../test-kit/raw-peer.js";
import type { Peer } from "./peer.js";
import { Router } from "./router.js";

const pieceBytes = 1_000_000;

/** A body of pieces, each of which is filled with its number. */
class Pieces implements StreamedBody {
  readonly length: number;
  pulled = 0;
  readonly ended = new Inbox<number>();
  readonly #count: number;
  readonly #missing: number;

  constructor(count: number, missing = -1) {
    this.#count = count;
    this.#missing = missing;
    this.length = count * pieceBytes;
  }

  pull(take: (piece: Uint8Array | undefined) => void): void {
    const piece = this.pulled++;
    assert.ok(piece < this.#count, "no piece is asked for twice");
    const bytes = piece === this.#missing ? undefined : Buffer.alloc(pieceBytes, piece);
    // Some come at once, some later.
    if (piece % 2 === 0) take(bytes);
    else setImmediate(() => take(bytes));
  }

  end(): void {
    this.ended.put(this.pulled);
  }
}

async function joined(options: ConstructorParameters<typeof Router>[0] = {}) {
  const peers = new Inbox<Peer>();
  const gone = new Inbox<Peer>();
  const router = new Router({
    ...{ onPeer: peers.put, onPeerGone: (peer: Peer) => gone.put(peer) },
    // Without pings, which a slow machine would find among the frames.
    heartbeat: { intervalMs: 0 },
    ...options,
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const raw = await RawPeer.join(endpoint, "DEALER", { identity: Buffer.from("raw") });
  return { router, raw, peer: await peers.next(), gone };
}

test("a streamed body arrives whole, between the messages sent before and after it", async () => {
  const { router, raw, peer } = await joined();
  const [first, second] = [new Pieces(5), new Pieces(2)];
  router.sendTo(peer, [Buffer.from("before")]);
  router.sendStreamed(peer, [Buffer.from("head"), first, Buffer.from("between"), second]);
  router.sendTo(peer, [Buffer.from("after")]);
  const frames = await raw.frames.take(6);
  assert.deepEqual(
    frames.map(({ body }) => (body.length < 100 ? String(body) : body.length)),
    ["before", "head", 5 * pieceBytes, "between", 2 * pieceBytes, "after"],
  );
  const large = frames[2]?.body as Buffer;
  for (let piece = 0; piece < 5; piece++) {
    const part = large.subarray(piece * pieceBytes, (piece + 1) * pieceBytes);
    assert.ok(part.equals(Buffer.alloc(pieceBytes, piece)), `piece ${piece}`);
  }
  assert.deepEqual([await first.ended.next(), await second.ended.next()], [5, 2]);
  await router.close();
});

test("a peer that does not read has little pulled for it, and nothing once it is gone", async () => {
  const { router, raw, peer, gone } = await joined();
  raw.stream.pause();
  const body = new Pieces(200);
  const behind = new Pieces(1);
  router.sendStreamed(peer, [body]);
  await once(raw.stream, "readable");
  router.sendStreamed(peer, [behind]);
  assert.ok(peer.pendingBytes < 2 * pieceBytes, "what is not pulled does not count as pending");
  raw.stream.destroy();
  await gone.next();
  assert.ok((await body.ended.next()) < 100, "the kernel's buffers take some megabytes");
  assert.equal(await behind.ended.next(), 0);
  await router.close();
});

test("a piece that cannot be had closes the connection", async () => {
  const { router, raw, peer, gone } = await joined();
  const body = new Pieces(3, 1);
  router.sendStreamed(peer, [body]);
  assert.equal(await gone.next(), peer);
  assert.equal(await body.ended.next(), 2);
  raw.stream.destroy();
  await router.close();
});

test("a frame that is too large is dropped, and the message comes without it", async () => {
  const got = new Inbox<[string[], number[]]>();
  const faults: string[] = [];
  const { router, raw } = await joined({
    limits: { frameBytesMax: 100_000, messageBytesMax: 150_000 },
    dropsOversized: true,
    onFault: (_, kind) => faults.push(kind),
    onMessage: (_, frames, dropped: DroppedFrames = new Map()) =>
      got.put([frames.map(String), frames.map((frame) => dropped.get(frame) ?? frame.length)]),
  });
  raw.send(message("a", "x".repeat(1_000_000), "b", "y".repeat(100_001)));
  raw.send(message("next"));
  assert.deepEqual(await got.next(), [
    ["a", "", "b", ""],
    [1, 1_000_000, 1, 100_001],
  ]);
  assert.deepEqual(await got.next(), [["next"], [4]]);
  const part = "z".repeat(60_000);
  raw.send(message(part, part, part, "end"));
  const [kept, sizes] = await got.next();
  assert.deepEqual([kept[2], sizes], ["", [60_000, 60_000, 60_000, 3]], "the sum is over its limit");
  assert.deepEqual(faults, []);
  await router.close();
});
