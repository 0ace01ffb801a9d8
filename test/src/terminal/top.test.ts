// `yardmaster top` at real pseudo-terminals: the screens of the drawing, their sizes, keys and
// orders.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { connect, work } from "@yardmaster/sdk";
import { PictureYard } from "../browser/picture-yard.js";
import { serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { PseudoTerminal, withoutTerminal } from "./pseudo-terminal.js";

/** A worker that never ends a task by itself. */
const hold = (_payload: unknown, { signal }: { readonly signal: AbortSignal }) =>
  new Promise<string>((_, reject) => signal.addEventListener("abort", reject));

/** A row without the blanks between its columns. */
const words = (line: string | undefined) => (line ?? "").trim().split(/ {2,}/);
const rowOf = (lines: readonly string[], start: string) =>
  lines.find((line) => line.trim().startsWith(start));

describe("top at a terminal", { ...patience, skip: withoutTerminal }, () => {
  let yard: PictureYard;
  const opened: PseudoTerminal[] = [];
  const open = (columns: number, rows: number, ...args: string[]) => {
    const terminal = new PseudoTerminal(["top", "--url", yard.base, ...args], { columns, rows });
    opened.push(terminal);
    return terminal;
  };
  before(async () => {
    yard = await new PictureYard().open();
  });
  after(async () => {
    for (const terminal of opened) terminal.close();
    await yard?.close();
  });

  test("60×12: one problem, and rows below every head", async () => {
    const terminal = open(60, 12);
    const lines = await terminal.shows("transcode  ", "scaler/w-09");
    assert.equal(lines.length, 12);
    for (const line of lines) assert.ok(line.length <= 60, line);
    assert.match(lines[1] ?? "", /^× transcode: .* 2 more$/);
    const at = (head: RegExp) => lines.findIndex((line) => head.test(line));
    for (const head of [/^queue\b/, /^worker\b/])
      assert.match(lines[at(head) + 1] ?? "", /\d/, lines.join("\n"));
  });

  test("a terminal without room for a row says how large it must be", async () => {
    const terminal = open(30, 6);
    await terminal.shows("needs 40 x 7");
  });

  test("80×24: problems, figures, queues with their signals, workers in trouble, keys", async () => {
    const terminal = open(80, 24);
    const lines = await terminal.shows("transcode  ", "48 more", "▲ scaler/w-09", "at work");
    assert.equal(lines.length, 24);
    for (const line of lines) assert.ok(line.length <= 80, line);
    assert.match(lines[0] ?? "", /^yardmaster {2}127\.0\.0\.1:\d+ +live \d\d:\d\d:\d\d {3}\? keys$/);
    assert.match(lines[1] ?? "", /^× transcode: 412 tasks wait and no worker serves the queue/);
    assert.match(lines[2] ?? "", /^▲ render: 14 tasks failed with the same error in 10 min \(exit_137\)/);
    assert.equal(lines[3], "‖ emails: paused by 10.0.4.2; 260 tasks wait.");
    assert.match(
      lines[5] ?? "",
      /^waiting 15,\d{3} {3}running [\d,]+ {3}done 5\d\d\/s {3}failed 0\.13\/s {3}oldest 6:\d\d$/,
    );
    assert.equal(lines[7], "queue          waiting                        running  done/s  oldest  why");
    assert.match(lines[8] ?? "", /^transcode {10}412 {6}■{7} × {15}0 {7}0 {4}6:\d\d {2}no worker$/);
    assert.match(lines[9] ?? "", /^emails {13}260 {6}■{7} ‖ {15}0 {7}0 {4}2:\d\d {2}paused$/);
    assert.match(lines[10] ?? "", /^render {11}1,204 {4}■{9} ▲ ■{3} {10}12 {5}2\.9 {4}1:\d\d {2}all busy$/);
    assert.match(lines[11] ?? "", /^fit-models {7}8,431 {2}■{11} ▲ ■{8} {4}958 {5}318 +\S+ s {2}all busy$/);
    assert.deepEqual(
      lines.slice(12, 16).map((line) => [words(line)[0], /[×‖▲●◷]/.exec(line)?.[0]]),
      [
        ["thumbs", "●"],
        ["sensors", "●"],
        ["example_clock", "●"],
        ["nightly", "◷"],
      ],
    );
    assert.equal(lines[17], "worker                queue        running  done/m  last heard");
    assert.match(
      lines[18] ?? "",
      /^▲ scaler\/w-09 {9}fit-models {2}\d\d of 40 +\d+ {2}▕█{8,9} {1,2}▏ 5\d s$/,
    );
    assert.match(lines[19] ?? "", /^▲ pingpong\/gpu-04 {5}render {8}1 of 1 +\d+ {2}at work$/);
    assert.match(lines[20] ?? "", /^↓ http\/eve {12}thumbs +\d {10}draining$/);
    assert.equal(lines[22], "  48 more, 2 of them idle; 3 lost in the last hour");
    assert.equal(lines[23], "1 overview 2 stream 3 tasks 4 workers 5 queues  / find d drain p pause q quit");
    terminal.press("q");
    assert.equal(await terminal.ended, 0);
    assert.ok(terminal.written.endsWith("\x1b[?25h\x1b[?1049l"), "the screen from before is back");
  });

  test("120×40: also doors, small plots, the stream and what workers say", async () => {
    const terminal = open(120, 40);
    const lines = await terminal.shows("came in by", /gpu-07 .*\/\/x/, /[▁▂▃▄▅▆▇█]{8}/);
    assert.equal(lines.length, 40);
    for (const line of lines) assert.ok([...line].length <= 120, line);
    assert.match(lines[0] ?? "", /52 workers {3}6 doors +live/);
    assert.match(lines[1] ?? "", /fell silent\. +\[s\] start one$/);
    assert.match(lines[2] ?? "", /on pingpong\/gpu-04\. +\[d\] drain it$/);
    assert.match(lines[3] ?? "", /\[p\] resume$/);
    const [render, transcode] = [rowOf(lines, "render  "), rowOf(lines, "transcode  ")];
    assert.match(
      render ?? "",
      /^render {8}http, pingpong {5}1,204 .* 12 {5}3\.1 {5}2\.9 {5}1:\d\d {2}pingpong, http$/,
    );
    assert.match(transcode ?? "", / 412 {8}■{7} × {19}0 {5}1\.1 {7}0 {5}6:\d\d {2}nobody$/);
    assert.match(
      rowOf(lines, "stream, 1 min") ?? "",
      /t thumbs .*r render.* {3}! failed {2}\/ lost {2}x gone {2}\. idle$/,
    );
    assert.match(rowOf(lines, "pingpong/gpu-04") ?? "", /^pingpong\/gpu-04 {6}r[r!]{59} +9\d% {2}13 failed$/);
    assert.match(rowOf(lines, "pingpong/gpu-07") ?? "", /r\/+x[. ]+r.*came back$/);
    assert.match(rowOf(lines, "http/eve") ?? "", /draining, \d tasks? left$/);
    assert.match(rowOf(lines, "scaler, 24 workers") ?? "", /f{60} +9\d% {2}40 each, share of slots$/);
    assert.match(rowOf(lines, "▲ scaler/w-09") ?? "", /▕█{12} {2}▏ 5\d s +cpu 97%, memory 6\.1 GB$/);
    assert.match(
      lines.at(-1) ?? "",
      /^1 overview 2 stream 3 tasks 4 failures 5 workers 6 queues 7 wire {3}\/ find/,
    );
    terminal.press("\x03");
    assert.equal(await terminal.ended, 0);
  });

  test("a terminal that changes its size is drawn anew at once, also when it is tiny", async () => {
    // Only a resize can draw within the hour.
    const terminal = open(80, 24, "--interval", "1h");
    await terminal.shows("fit-models");
    terminal.resize(120, 40);
    const large = await terminal.shows("came in by", "stream, 1 min");
    assert.equal(large.length, 40);
    terminal.resize(40, 10);
    const lines = await terminal.shows(10, "waiting");
    for (const line of lines) assert.ok([...line].length <= 40, line);
  });

  test("--ascii: the same screen without a character beyond ASCII", async () => {
    const terminal = open(80, 24, "--ascii");
    const lines = await terminal.shows("transcode  ", "48 more", "! scaler/w-09");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are ASCII too.
    assert.match(terminal.written, /^[\x00-\x7f]*$/);
    assert.match(lines[8] ?? "", /^transcode {10}412 {6}#{7} x /);
    assert.match(lines[18] ?? "", /\|#{8,9} {1,2}\| 5\d s$/);
  });

  test("keys: every view, choose, ask before draining, find a task, and back", async () => {
    const terminal = open(120, 40);
    await terminal.shows("came in by");
    for (const [key, shown] of [
      ["2", "stream, 1 min"],
      ["3", "exit_137: killed"],
      ["4", "184 tasks failed in the last hour, of 4 kinds"],
      ["5", "lost in the last hour\n× "],
      ["6", "nightly"],
      ["7", "more messages passed and are not shown."],
      ["?", "drain the chosen worker; it asks once more"],
      ["1", "came in by"],
    ] as const) {
      terminal.press(key);
      await terminal.shows(shown);
    }
    terminal.press("d");
    await terminal.shows("drain pingpong/gpu-04? It holds 1 task. d again drains it");
    assert.deepEqual(yard.orders, [], "nothing is drained by one press");
    terminal.press("d");
    await terminal.shows(/there is no such thing/);
    assert.deepEqual(yard.orders, ["/v1/workers/pingpong/gpu-04:drain"]);
    terminal.press("s");
    await terminal.shows(`yardmaster work ${yard.base} --queue transcode -- ./your-program`);
    terminal.press("/gpu\r");
    const found = await terminal.shows("only gpu");
    assert.ok(rowOf(found, "▲ pingpong/gpu-04") !== undefined && rowOf(found, "http/ann") === undefined);
    terminal.press("\x1b");
    await terminal.shows("http/ann");
    terminal.press("/776907\r");
    await terminal.shows("task 776907 is done");
  });
});

describe("top and a real dispatcher", { ...patience, skip: withoutTerminal }, () => {
  test("it pauses, resumes, cancels and drains, and says when the dispatcher is away", async () => {
    const yard = await serveYard({ engine: "memory" });
    const client = await connect(yard.url);
    const held = await work(yard.url, { queue: "held", name: "ann" }, hold);
    await client.submit("runs", { queue: "held" });
    const task = await client.submit("waits", { queue: "lonely" });
    const terminal = new PseudoTerminal(["top", "--url", yard.url, "--interval", "200ms"], {
      columns: 120,
      rows: 40,
    });
    try {
      await terminal.shows(/× lonely: 1 task waits and no worker serves the queue/, /http\/ann +held +1/);
      terminal.press("6jp");
      await terminal.shows("lonely is paused; p resumes it", /■ ‖/);
      terminal.press("p");
      await terminal.shows("lonely runs again", /■ ×/);
      terminal.press("\r");
      await terminal.shows("only lonely", new RegExp(`${task.id} +lonely +waiting`));
      terminal.press("jc");
      await terminal.shows(`cancel task ${task.id}? c again cancels it`);
      terminal.press("c");
      await terminal.shows(`task ${task.id} is cancelled`);
      assert.equal((await client.task(task.id)).state, "cancelled");
      terminal.press("5jd");
      await terminal.shows("drain http/ann? It holds 1 task. d again drains it");
      terminal.press("d");
      await terminal.shows("http/ann gets nothing more", /↓ http\/ann .* draining/);
      yard.process.kill("SIGKILL");
      await terminal.shows(/no answer for \d+ s/);
      terminal.press("q");
      assert.equal(await terminal.ended, 0);
    } finally {
      terminal.close();
      await held.stop({ graceMs: 0 }).catch(() => {});
      await client.close();
      rmSync(yard.folder, { recursive: true, force: true });
    }
  });

  test("a dispatcher that is not there is said on an ordinary line", async () => {
    const terminal = new PseudoTerminal(["top", "--url", "http://127.0.0.1:9"], { columns: 80, rows: 24 });
    assert.notEqual(await terminal.ended, 0);
    assert.match(terminal.written, /yardmaster top: .*127\.0\.0\.1:9/);
    assert.ok(!terminal.written.includes("\x1b[?1049h"));
  });
});
