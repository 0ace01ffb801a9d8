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

test("what is still arriving may fill an eighth of the free memory until the next look", () => {
  const { use, watched } = watch();
  const growths: number[] = [];
  watched.bound({ limitGrowth: (bytes) => growths.push(bytes) });
  use.processBytes = 300 * MB;
  watched.look(0);
  use.processBytes = 570 * MB;
  watched.look(100);
  use.processBytes = 2_000 * MB;
  watched.look(200);
  const rounded = growths.map((bytes) => Math.round(bytes / 1_000) * 1_000);
  assert.deepEqual(rounded, [(275 * MB) / 8, (5 * MB) / 8, 0]);
});

test("a process that only keeps pages of work that is gone accepts work after a calm", () => {
  const { use, watched } = watch();
  const lookUntil = (fromMs: number, toMs: number) => {
    for (let ms = fromMs; ms <= toMs; ms += 100) watched.look(ms);
    return watched.shortage;
  };
  use.processBytes = 540 * MB;
  assert.match(lookUntil(0, 10_000) ?? "", /takes 540 of the 500 MB/);
  use.usedBytes = 150 * MB;
  assert.match(lookUntil(10_100, 14_900) ?? "", /takes 540 of the 500 MB/);
  use.usedBytes = 170 * MB;
  watched.look(15_000);
  use.usedBytes = 150 * MB;
  assert.match(lookUntil(15_100, 19_900) ?? "", /takes 540 of the 500 MB/);
  assert.equal(lookUntil(20_000, 20_000), undefined);
  use.usedBytes = 400 * MB;
  use.processBytes = 560 * MB;
  assert.equal(lookUntil(20_100, 30_000), undefined, "new work uses the pages that were kept");
  use.processBytes = 565 * MB;
  assert.match(lookUntil(30_100, 30_100) ?? "", /takes 565 of the 500 MB/);
  use.processBytes = 449 * MB;
  assert.equal(lookUntil(30_200, 30_200), undefined);
  use.processBytes = 500 * MB;
  assert.match(lookUntil(30_300, 30_300) ?? "", /takes 500 of the 500 MB/);
  use.usedBytes = 100 * MB;
  use.processBytes = 460 * MB;
  assert.match(lookUntil(30_400, 35_200) ?? "", /takes 460 of the 500 MB/);
  assert.equal(lookUntil(35_300, 35_300), undefined);
});

test("after a calm, requests have room again, whatever the process takes", () => {
  const { use, watched } = watch();
  const growths: number[] = [];
  watched.bound({ limitGrowth: (bytes) => growths.push(bytes) });
  use.processBytes = 600 * MB;
  use.usedBytes = 100 * MB;
  for (let ms = 0; ms <= 5_000; ms += 5_000) watched.look(ms);
  watched.look(5_100);
  assert.equal(watched.shortage, undefined);
  assert.ok((growths.at(-1) ?? 0) > 3 * MB, `${growths}`);
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
