// The feed to the store reports when the store is behind, and when it has caught up.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Tail } from "../durable/tail.js";
import { StoreFeed } from "./store-feed.js";
import type { StoreLink } from "./store-link.js";
import type { Answer, Request } from "./store-messages.js";

/** A store that answers when the test lets it. */
function slowStore() {
  const asked: { request: Request; answer: (answer: Answer) => void; fail: (fault: Error) => void }[] = [];
  const ask = (request: Request) =>
    new Promise<Answer>((answer, fail) => {
      asked.push({ request, answer, fail });
    });
  return { asked, link: { ask } as unknown as StoreLink };
}

const megabyte = Buffer.alloc(1_048_576);
const batch = { bytes: megabyte, start: 0, end: megabyte.length, lastTask: 0 };

test("background work waits while the store is behind, and no longer", async () => {
  const { asked, link } = slowStore();
  const feed = new StoreFeed({ link, tail: new Tail(0), onStored: () => {}, gatherBytes: 1 });
  feed.add(1, batch);
  await feed.whenCaughtUp();
  feed.add(2, batch);
  feed.add(3, batch);
  let isCaughtUp = false;
  const waiting = feed.whenCaughtUp().then(() => {
    isCaughtUp = true;
  });
  await new Promise(setImmediate);
  assert.equal(isCaughtUp, false);
  asked[0]?.answer({ type: "committed", through: 1 });
  await waiting;
  feed.stop();
});

test("after a fault of the store, background work does not wait", async () => {
  const { asked, link } = slowStore();
  const feed = new StoreFeed({ link, tail: new Tail(0), onStored: () => {}, gatherBytes: 1 });
  for (let number = 1; number <= 4; number++) feed.add(number, batch);
  const waiting = feed.whenCaughtUp();
  asked[0]?.fail(new Error("the disk is gone"));
  await waiting;
  await feed.whenCaughtUp();
  feed.stop();
});
