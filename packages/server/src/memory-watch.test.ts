import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultMemoryBytes, MemoryWatch } from "./memory-watch.js";

const MB = 1e6;

function watch() {
  const use = {
    ...{ processBytes: 100 * MB, usedBytes: 400 * MB },
    ...{ heapBytes: 50 * MB, heapBytesMax: 1000 * MB },
  };
  const changes: boolean[] = [];
  let collected = 0;
  const takes = { ms: 10 };
  const watched = new MemoryWatch({
    bytesMax: 500 * MB,
    measure: () => ({ ...use }),
    onChange: (isShort) => changes.push(isShort),
    collect: () => {
      collected += 1;
      return takes.ms;
    },
  });
  return { use, takes, changes, watched, collected: () => collected };
}

test("at the limit of the process memory is short, and says by how much, until a tenth is free", () => {
  const { use, changes, watched } = watch();
  watched.look(0);
  assert.equal(watched.shortage, undefined);
  use.processBytes = 500 * MB;
  watched.look(100);
  assert.equal(watched.shortage, "the process takes 500 of the 500 MB of limits.memoryBytes");
  use.processBytes = 460 * MB;
  watched.look(200);
  assert.deepEqual(changes, [true]);
  use.processBytes = 440 * MB;
  watched.look(300);
  assert.deepEqual(changes, [true, false]);
  assert.equal(watched.shortage, undefined);
});

test("four fifths of the heap are its limit, whatever the process takes", () => {
  const { use, watched } = watch();
  use.heapBytes = 800 * MB;
  watched.look(0);
  assert.equal(watched.shortage, "the heap takes 800 of its 1000 MB (--max-old-space-size)");
});

test("what is still arriving may fill a quarter of the free memory until the next look", () => {
  const { use, watched } = watch();
  const growths: number[] = [];
  watched.bound({ limitGrowth: (bytes) => growths.push(bytes) });
  use.processBytes = 300 * MB;
  watched.look(0);
  // The limit is three quarters of the memory.
  use.processBytes = 2_000 * MB;
  watched.look(100);
  assert.deepEqual(growths, [Math.floor((500 * MB) / 0.75 / 4 - 75 * MB), 0]);
});

test("a process that only keeps pages of work that is gone is not short of memory", () => {
  const { use, watched } = watch();
  use.processBytes = 540 * MB;
  watched.look(0);
  assert.match(watched.shortage ?? "", /takes 540 of the 500 MB/);
  use.usedBytes = 240 * MB;
  watched.look(100);
  assert.match(watched.shortage ?? "", /takes 540 of the 500 MB/);
  use.usedBytes = 220 * MB;
  watched.look(200);
  assert.equal(watched.shortage, undefined);
  use.usedBytes = 240 * MB;
  watched.look(300);
  assert.equal(watched.shortage, undefined);
  use.usedBytes = 250 * MB;
  watched.look(400);
  assert.match(watched.shortage ?? "", /takes 540 of the 500 MB/);
});

test("garbage is collected while memory stays short, for at most a twentieth of the time", () => {
  const { use, takes, watched, collected } = watch();
  use.processBytes = 600 * MB;
  for (let ms = 0; ms <= 900; ms += 100) watched.look(ms);
  assert.equal(collected(), 0);
  for (let ms = 1_000; ms < 2_000; ms += 100) watched.look(ms);
  assert.equal(collected(), 2);
  takes.ms = 500;
  for (let ms = 2_000; ms < 22_000; ms += 100) watched.look(ms);
  assert.equal(collected(), 4);
});

test("the default is a share of the container's memory, or of the machine's", () => {
  assert.equal(defaultMemoryBytes(800 * MB, 4000 * MB), 600 * MB);
  assert.equal(defaultMemoryBytes(0, 4000 * MB), 3000 * MB);
  assert.equal(defaultMemoryBytes(2 ** 63, 4000 * MB), 3000 * MB);
});
