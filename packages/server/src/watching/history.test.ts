import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Instant, type Moment, type QueueCounts, RatedCount, type WallTime } from "@yardmaster/core";
import { History } from "./history.js";

const wallAtStart = 1_700_000_000_000;
const at = (ms: number): Moment => ({ instant: ms as Instant, wall: (wallAtStart + ms) as WallTime });

/** A queue whose counts a test moves. */
class Counted {
  readonly name: string;
  waiting = 0;
  running = 0;
  oldestAt: WallTime | undefined;
  readonly oldestTask = undefined;
  #tally = newTally();

  constructor(name: string) {
    this.name = name;
  }

  submit(count: number, ms: number): void {
    for (let n = 0; n < count; n += 1) this.#tally.submitted.add(ms as Instant);
  }

  finish(count: number, ms: number): void {
    for (let n = 0; n < count; n += 1) this.#tally.done.add(ms as Instant);
  }

  get tally(): QueueCounts["tally"] {
    return this.#tally as unknown as QueueCounts["tally"];
  }

  forget(): { name: string; tally: QueueCounts["tally"] } {
    const { name, tally } = this;
    this.#tally = newTally();
    return { name, tally };
  }
}

function newTally() {
  return {
    submitted: new RatedCount(),
    done: new RatedCount(),
    failed: new RatedCount(),
    lost: 0,
    expired: 0,
    cancelled: 0,
  };
}

describe("history", () => {
  test("keeps each second, ten seconds and two minutes, of a queue and of all together", () => {
    const history = new History();
    const [render, thumbs] = [new Counted("render"), new Counted("thumbs")];
    history.sample(at(0), [render, thumbs], []);
    for (let second = 0; second < 60; second += 1) {
      render.submit(3, second * 1_000 + 500);
      render.finish(2, second * 1_000 + 500);
      render.waiting = second + 1;
      thumbs.submit(1, second * 1_000 + 500);
      history.sample(at(second * 1_000 + 900), [render, thumbs], []);
    }
    const [series] = history.view("5m", at(60_000), ["render"]).series;
    assert.deepEqual(series?.points.in.slice(-3), [3, 3, 3]);
    assert.deepEqual(series?.points.done.slice(-3), [2, 2, 2]);
    assert.deepEqual(series?.points.waiting.slice(-3), [58, 59, 60]);
    assert.equal(series?.points.waiting[0], null);
    assert.equal(series?.points.waiting.length, 299);
    const [all] = history.view("5m", at(60_000)).series;
    assert.deepEqual([all?.name, all?.points.in.at(-1)], [null, 4]);
    const tens = history.view("1h", at(60_000), ["render"]);
    assert.deepEqual(tens.series[0]?.points.in.slice(-2), [30, 30]);
    assert.equal(tens.stepMs, 10_000);
    assert.equal(history.sumOf("in", 60_000 as Instant, 10), 40);
  });

  test("tells only new figures, and names the queues that it does not follow", () => {
    const history = new History();
    const render = new Counted("render");
    for (let second = 0; second <= 20; second += 1) {
      render.submit(1, second * 1_000);
      history.sample(at(second * 1_000), [render], []);
    }
    const view = history.view("5m", at(20_500), ["render", "other"], (wallAtStart + 18_000) as WallTime);
    assert.equal(view.series[0]?.points.in.length, 2);
    assert.equal(view.from, wallAtStart + 18_000);
    assert.equal(view.to, wallAtStart + 20_000);
    assert.deepEqual(view.untracked, ["other"]);
    const again = history.view("5m", at(20_500), ["render"], view.to);
    assert.equal(again.series[0]?.points.in.length, 0);
  });

  test("a queue that was forgotten and is back counts on, and so does the sum", () => {
    const history = new History();
    const queue = new Counted("q");
    history.sample(at(0), [queue], []);
    queue.submit(5, 500);
    history.sample(at(1_000), [queue], []);
    const gone = queue.forget();
    history.sample(at(2_000), [], [gone]);
    queue.submit(2, 2_500);
    history.sample(at(3_000), [queue], []);
    const points = history.view("5m", at(4_000), ["q"]).series[0]?.points.in.slice(-4);
    assert.deepEqual(points, [null, 5, 0, 2], "it is followed from when it first holds something");
    assert.deepEqual(history.view("5m", at(4_000)).series[0]?.points.in.slice(-4), [0, 5, 0, 2]);
  });

  test("follows the busiest 200 queues: a quiet one gives way to one that is busier", () => {
    const history = new History();
    const quiet = Array.from({ length: 200 }, (_, n) => new Counted(`quiet-${n}`));
    for (const queue of quiet) queue.waiting = 1;
    history.sample(at(0), quiet, []);
    assert.equal(history.tracked, 200);
    const busy = new Counted("busy");
    for (let second = 1; second < 30; second += 1) {
      busy.submit(50, second * 1_000);
      history.sample(at(second * 1_000), [...quiet, busy], []);
    }
    assert.equal(history.tracked, 200);
    assert.deepEqual(history.view("5m", at(30_000), ["busy"]).untracked, []);
  });

  test("200 queues take less than 16 MB", () => {
    const history = new History();
    const queues = Array.from({ length: 300 }, (_, n) => new Counted(`q${n}`));
    for (const queue of queues) queue.waiting = 1;
    history.sample(at(0), queues, []);
    assert.equal(history.tracked, 200);
    assert.ok(history.bytes > 1_000_000 && history.bytes < 16_000_000, String(history.bytes));
  });
});
