// Memory that peers share: the read buffer, and the buffers of small outgoing messages. No peer may
// see another's bytes, and messages arrive whole and in order however reads split them.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Inbox } from "../test-kit/inbox.js";
import { message, RawPeer } from "../test-kit/raw-peer.js";
import type { Peer } from "./peer.js";
import { Router } from "./router.js";

/**
 * Messages that are accepted in packed form, that are wanted as frames, and that are too long for
 * packed form.
 */
const kinds = ["a", "no", "l".repeat(300)] as const;

const words = fc.array(fc.tuple(fc.constantFrom(...kinds), fc.nat(3)), { minLength: 1, maxLength: 20 });
const cuts = fc.array(fc.nat(200), { maxLength: 8 });
const pauses = fc.array(fc.boolean(), { minLength: 20, maxLength: 20 });

test("messages that are read where they came and others keep their order, through cuts and pauses", async () => {
  const got = new Inbox<string>();
  let holds: boolean[] = [];
  const arrived = (peer: Peer, text: string) => {
    assert.equal(peer.isPaused, false, "nothing comes in a pause");
    got.put(text);
    if (holds.pop() !== true) return;
    router.pause(peer);
    setImmediate(() => router.resume(peer));
  };
  const router: Router = new Router({
    onMessage: (peer, frames) => arrived(peer, message(...frames).toString("latin1")),
    onPacked: (peer, bytes, from, to) => {
      if (bytes[from + 2] !== 0x61) return false;
      arrived(peer, bytes.toString("latin1", from, to));
      return true;
    },
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const peer = await RawPeer.join(endpoint, "DEALER");
  peer.stream.setNoDelay(true);
  await fc.assert(
    fc.asyncProperty(words, cuts, pauses, async (said, cutAt, held) => {
      holds = [...held];
      const sent = said.map(([word, frames], index) => {
        return message(word, ...new Array<string>(frames).fill(`${index}`));
      });
      let rest = Buffer.concat(sent);
      for (const at of cutAt) {
        peer.send(rest.subarray(0, at));
        rest = rest.subarray(at);
        await new Promise(setImmediate);
      }
      if (rest.length > 0) peer.send(rest);
      const came = await got.take(sent.length);
      assert.deepEqual(
        came,
        sent.map((bytes) => bytes.toString("latin1")),
      );
    }),
    { numRuns: 150 },
  );
  await router.close();
});

test("bytes that one peer has not taken yet are not overwritten by messages to others", async () => {
  const peers = new Inbox<Peer>();
  // Without pings, which a slow machine would find among the frames.
  const router = new Router({ onPeer: peers.put, heartbeat: { intervalMs: 0 } });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const deaf = await RawPeer.join(endpoint, "DEALER");
  const deafPeer = await peers.next();
  const good = await RawPeer.join(endpoint, "DEALER");
  const goodPeer = await peers.next();
  deaf.stream.pause();
  const text = (count: number) => `${count} `.repeat(50).slice(0, 250);
  let count = 0;
  // Each in a write of its own, until the system takes no more.
  while (deafPeer.pendingBytes === 0) {
    assert.equal(router.sendTo(deafPeer, [Buffer.from(text(count++))]), "sent");
    await new Promise(setImmediate);
  }
  for (let index = 0; index < 300; index++) {
    router.sendTo(goodPeer, [Buffer.alloc(250, "others' bytes ")]);
    await good.frames.next();
  }
  deaf.stream.resume();
  const frames = await deaf.frames.take(count);
  frames.forEach(({ body }, index) => {
    assert.equal(body.toString(), text(index));
  });
  await router.close();
});
