// The outbox: a decoder reads back what was put in, in order; nothing is kept; large frames are not
// copied.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FrameDecoder } from "./frames.js";
import { defaultLimits } from "./limits.js";
import { Outbox } from "./outbox.js";

function decode(segments: Buffer[]): Buffer[][] {
  const decoder = new FrameDecoder(defaultLimits);
  decoder.acceptsMessages = true;
  decoder.feed(Buffer.concat(segments));
  const messages: Buffer[][] = [];
  let frames: Buffer[] = [];
  while (decoder.next() === "frame") {
    frames.push(decoder.body);
    if (decoder.isMore) continue;
    messages.push(frames);
    frames = [];
  }
  return messages;
}

const frame = fc
  .oneof(fc.nat(40), fc.nat(600), fc.constantFrom(255, 256, 8191, 8192, 70_000))
  .map((size) => Buffer.alloc(size, size % 256));

test("messages come out as they went in, and the bytes are counted", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(frame, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 30 }),
      (messages) => {
        const outbox = new Outbox();
        for (const message of messages) outbox.putMessage(message);
        assert.equal(outbox.messages, messages.length);
        const { bytes } = outbox;
        const segments = outbox.take();
        assert.equal(
          segments.reduce((sum, segment) => sum + segment.length, 0),
          bytes,
        );
        assert.deepEqual(decode(segments), messages);
        assert.deepEqual([outbox.bytes, outbox.messages, outbox.take().length], [0, 0, 0]);
      },
    ),
    { numRuns: 200 },
  );
});

test("a large frame goes by reference, a small one is copied", () => {
  const outbox = new Outbox();
  const large = Buffer.alloc(100_000);
  const small = Buffer.from("small");
  outbox.putMessage([small, large]);
  small.fill(0);
  const segments = outbox.take();
  assert.equal(segments[1]?.buffer, large.buffer);
  assert.ok(segments[0]?.includes("small"));
});

test("the first buffer of a turn is small and later ones grow", () => {
  const outbox = new Outbox();
  for (let index = 0; index < 2_000; index++) outbox.putMessage([Buffer.alloc(100)]);
  const sizes = outbox.take().map((segment) => segment.length);
  assert.ok((sizes[0] as number) <= 512);
  assert.ok(Math.max(...sizes) > 32_000 && Math.max(...sizes) <= 65_536);
  assert.ok(sizes.length < 20);
});

test("bytes that were taken are not overwritten", () => {
  const outbox = new Outbox();
  outbox.putMessage([Buffer.from("first")]);
  const [first] = outbox.take();
  const before = Buffer.from(first as Buffer);
  outbox.putMessage([Buffer.from("second")]);
  assert.deepEqual(first, before);
});
