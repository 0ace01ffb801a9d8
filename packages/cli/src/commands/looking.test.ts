// The commands that show and control: tasks, task, workers, queues, cancel, retry, drain, export,
// top, tap.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { atTerminal, bin, CommandYard, withoutScript } from "../testing/commands.js";

const yard = new CommandYard();
let ids: string[] = [];

/** A line as narrow as it is shown, colours aside. */
const columns = (line: string) => [...stripVTControlCharacters(line)].length;
const esc = "\x1b";

before(async () => {
  await yard.serve({ pingpong: { clients: "127.0.0.1:0", workers: "127.0.0.1:0" } });
  const items = await yard.json(["submit", yard.url, "-q", "render", "1", "2", "fail", "4"]);
  ids = items.map(({ id }) => String(id));
  const script =
    'read x; [ "$x" != fail ] || { printf "bad \\033[31mframe\\nin line 2" >&2; exit 1; }; echo "made $x"';
  await yard.run([
    "work",
    yard.url,
    "-q",
    "render",
    "--name",
    "ann",
    "--idle",
    "400ms",
    "--",
    "sh",
    "-c",
    script,
  ]);
  // The first worker said goodbye, so it is gone. This one has not, and stays.
  await claimAsAnn();
  await yard.json(["submit", yard.url, "-q", "idle", "--priority", "7", "--key", "a key", "waits"]);
});
after(() => yard.close());

const claimAsAnn = () => fetch(`${yard.url}/v1/queues/render:claim?worker=ann`, { method: "POST" });

describe("the commands that look", { timeout: 600_000, concurrency: 2 }, () => {
  test("tasks: a table, newest first, chosen by queue and state", async () => {
    const { code, stdout } = await yard.run(["tasks", "-q", "render"]);
    assert.equal(code, 0);
    const [head, ...rows] = stdout.trimEnd().split("\n");
    assert.match(head ?? "", /^ID +QUEUE +STATE +AGE +DOOR +WORKER +SAYS$/);
    assert.deepEqual(
      rows.map((row) => row.trim().split(/ +/)[0]),
      [...ids].reverse(),
    );
    const failed = await yard.run(["tasks", "--state", "failed", "--since", "1h", "--search", "exit_1"]);
    assert.match(
      failed.stdout,
      /exit_1: exit code 1: bad \\u001b\[31mframe⏎in line 2/,
      "what others wrote moves no cursor",
    );
    assert.equal(
      (await yard.run(["tasks", "-q", "render", "--ids"])).stdout,
      `${[...ids].reverse().join("\n")}\n`,
    );
    const [newest] = await yard.json(["tasks", "-q", "render", "--limit", "1"]);
    assert.equal(newest?.id, ids[3]);
    const more = await yard.run(["tasks", "-q", "render", "--limit", "2"]);
    assert.match(more.stderr, /^there are more: --limit 20, or yardmaster export for all\n$/);
    const none = await yard.run(["tasks", "-q", "nothing"]);
    assert.deepEqual(none, { code: 0, stdout: "", stderr: "no such tasks\n" });
  });

  test("tables fit the columns there are", async () => {
    for (const width of [50]) {
      for (const args of [["tasks"], ["workers"], ["queues"], ["task", ids[2] ?? ""], ["top"]]) {
        const { stdout } = await yard.run(args, { env: { COLUMNS: String(width) } });
        for (const line of stdout.split("\n")) assert.ok(columns(line) <= width, `${width}: ${line}`);
      }
    }
  });

  test("at a terminal there are colours and its width counts; NO_COLOR takes the colours away", {
    skip: withoutScript(),
  }, async () => {
    const line = `stty cols 50 rows 20; '${process.execPath}' '${bin}' tasks --url ${yard.url}`;
    const coloured = (await atTerminal(line)).stdout;
    assert.ok(coloured.includes(`${esc}[32mdone`), coloured);
    for (const shown of coloured.split("\r\n")) assert.ok(columns(shown) <= 50, shown);
    assert.ok(!(await atTerminal(line, { NO_COLOR: "1" })).stdout.includes(`${esc}[3`));
  });

  test("task: facts and story; a failed or unknown one is exit 1", async () => {
    const good = await yard.run(["task", ids[0] ?? ""]);
    assert.equal(good.code, 0);
    assert.match(
      good.stdout,
      /^task \d+ is done\n {2}queue {5}render\n {2}submitted through http, .* ago\n {2}worker {4}http\/ann\n/,
    );
    assert.match(
      good.stdout,
      /AT +BECAME +BECAUSE +WORKER +ATTEMPT\n.* waiting +submitted\n.* running +assigned +http\/ann/,
    );
    const bad = await yard.run(["task", ids[2] ?? ""]);
    assert.equal(bad.code, 1);
    assert.match(bad.stdout, /is failed\n[\s\S]*error {5}exit_1: /);
    assert.deepEqual(await yard.run(["task", "999999"]), {
      code: 1,
      stdout: "",
      stderr: "yardmaster task: there is no task 999999\n",
    });
    const result = await yard.run(["task", ids[2] ?? "", "--result"]);
    assert.equal(result.code, 1);
    assert.match(result.stderr, /task \d+ failed: exit code 1/);
    assert.equal((await yard.run(["task", ids[1] ?? "", "--wait", "--result"])).stdout, "made 2\n");
  });

  test("task: one that waits says why, and has no result yet", async () => {
    const [waiting] = await yard.json(["tasks", "-q", "idle"]);
    const id = String(waiting?.id);
    assert.match(
      (await yard.run(["task", id])).stdout,
      /is waiting\n {2}queue {5}idle, priority 7\n[\s\S]*key {7}a key\n[\s\S]*why {7}no_worker: /,
    );
    const none = await yard.run(["task", id, "--result"]);
    assert.deepEqual(
      [none.code, none.stderr],
      [1, `yardmaster task: task ${id} is waiting: it has no result yet; --wait waits for it\n`],
    );
    const late = await yard.run(["task", id, "--wait-limit", "100ms"]);
    assert.deepEqual([late.code, late.stderr], [1, `yardmaster task: task ${id} is not over yet\n`]);
  });

  test("workers and queues", async () => {
    // The minute after which a silent worker is lost begins anew.
    await claimAsAnn();
    const { stdout } = await yard.run(["workers"]);
    assert.match(stdout, /^WORKER +STATE +RUNS +SEEN +QUEUES +ADDRESS\nhttp\/ann +idle +0\/0 /);
    const queues = await yard.json(["queues"]);
    const idle = queues.find(({ name }) => name === "idle");
    assert.ok(idle);
    assert.ok(Number(idle.oldestTask) > 0 && !Number.isNaN(Date.parse(String(idle.oldestAt))));
    // How large the rates still are depends on how long ago it was submitted.
    assert.equal((idle.inPerSecond as number[]).length, 2);
    assert.deepEqual(idle, {
      name: "idle",
      waiting: 1,
      running: 0,
      paused: false,
      draining: false,
      limited: false,
      waitingBy: { no_worker: 1 },
      waitingBytes: idle.waitingBytes,
      oldestAt: idle.oldestAt,
      oldestTask: idle.oldestTask,
      workers: 0,
      workersBy: {},
      inPerSecond: idle.inPerSecond,
      donePerSecond: [0, 0],
      failedPerSecond: [0, 0],
      inBy: idle.inBy,
      doneBy: {},
      pausedAt: null,
      pausedBy: null,
      refusedAt: null,
      maxWaiting: 1_000_000,
    });
    assert.match(
      (await yard.run(["queues", "--pause", "other", "--create"])).stdout,
      /other +0 +0 +paused\n$/,
    );
    const both = await yard.run(["drain", "--queue", "other"]);
    assert.match(both.stdout, /other +0 +0 +paused, draining\n$/);
    assert.match((await yard.run(["queues"])).stdout, /other +0 +0 +paused, draining\n/);
    assert.match((await yard.run(["queues", "--resume", "other"])).stdout, /other +0 +0 +open\n$/);
    const drained = await yard.run(["drain", "--queue", "closed", "--create"]);
    assert.match(drained.stdout, /closed +0 +0 +draining\n$/);
    assert.equal(drained.stderr, "0 tasks are still in queue closed\n");
    const refused = await yard.run(["submit", yard.url, "-q", "closed", "x"]);
    assert.deepEqual(
      [refused.code, refused.stderr],
      [1, "yardmaster submit: Queue closed is being drained.\n"],
    );
  });

  test("an order to a queue that is not there is a typo: exit 1, and the queue is named", async () => {
    for (const args of [
      ["queues", "--pause", "typo"],
      ["queues", "--resume", "typo"],
      ["drain", "--queue", "typo"],
    ]) {
      const { code, stdout, stderr } = await yard.run(args);
      assert.deepEqual([code, stdout], [1, ""], args.join(" "));
      assert.match(stderr, /^yardmaster \w+: there is no queue typo; yardmaster queues lists them\./);
    }
    const queues = await yard.json(["queues"]);
    assert.ok(!queues.some(({ name }) => name === "typo"));
    // The queue of a door is there before its first task.
    assert.equal((await yard.run(["queues", "--pause", "pingpong"])).code, 0);
    assert.equal((await yard.run(["queues", "--resume", "pingpong"])).code, 0);
  });

  test("cancel and retry: by number and in a pipeline; each refusal is told, and makes it exit with 1", async () => {
    await yard.run(["submit", yard.url, "-q", "piped", "a", "b", "c"]);
    const waiting = await yard.run(["tasks", "-q", "piped", "--state", "waiting", "--ids"]);
    const cancelled = await yard.run(["cancel", "-"], { input: waiting.stdout });
    assert.equal(cancelled.code, 0);
    assert.match(cancelled.stdout, /^(task \d+ is cancelled\n){3}$/);
    assert.match(cancelled.stderr, /^3 tasks cancelled, 0 refused, in .*\n$/);
    const [first = ""] = waiting.stdout.split("\n");
    const again = await yard.run(["cancel", first, "999999"]);
    assert.equal(again.code, 1);
    assert.match(
      again.stderr,
      /^task \d+: task \d+ is cancelled\ntask 999999: There is no live task 999999\.\n$/,
    );
    const retried = await yard.run(["retry", first]);
    assert.equal(retried.code, 0);
    assert.match(retried.stdout, /^task \d+ is retried as task \d+\n$/);
    assert.equal(retried.stderr, "", "one that is named needs no total");
    const anew = await yard.run(["retry", "-"], { input: `${first}\n999999\n` });
    assert.equal(anew.code, 1);
    assert.match(anew.stderr, /^task 999999: .*\n1 task retried, 1 refused, in .*\n$/);
    const wrong = await yard.run(["retry", ids[0] ?? "", "--json"]);
    assert.equal(wrong.code, 1);
    assert.equal(JSON.parse(wrong.stdout).error.code, "wrong_state");
  });

  test("cancel: many at a terminal show how far it is, and a total", { skip: withoutScript() }, async () => {
    const items = await yard.json(["submit", yard.url, "-q", "shown", "-"], { input: "x\n".repeat(200) });
    const file = yard.file("shown.ids", items.map(({ id }) => `${id}\n`).join(""));
    const line = `'${process.execPath}' '${bin}' cancel --url ${yard.url} - < ${file} > /dev/null`;
    const { code, stdout } = await atTerminal(line);
    assert.equal(code, 0);
    const drawn = stdout.split("\r").map((part) => stripVTControlCharacters(part).trim());
    assert.ok(
      drawn.some((part) => /^[\d,]+ tasks {2}[\d,]+\/s$/.test(part)),
      stdout,
    );
    assert.match(drawn.findLast((part) => part !== "") ?? "", /^200 tasks cancelled, 0 refused, in /);
  });

  test("cancel by filter: asks at a terminal, and only yes is a yes", { skip: withoutScript() }, async () => {
    await yard.run(["submit", yard.url, "-q", "asked", "a", "b"]);
    const line = `'${process.execPath}' '${bin}' cancel --url ${yard.url} --queue asked`;
    const no = await atTerminal(line, {}, "n");
    assert.match(no.stdout, /Cancel 2 tasks\? \[y\/N\] [\s\S]*nothing was done/);
    assert.equal(no.code, 1);
    const yes = await atTerminal(line, {}, "y");
    assert.match(stripVTControlCharacters(yes.stdout), /2 tasks cancelled, 0 refused, in /);
    assert.equal(yes.code, 0);
    const none = await yard.run(["purge", "asked", "--yes"]);
    assert.deepEqual([none.code, none.stderr], [0, "no such tasks\n"]);
    const unknown = await yard.run(["purge", "aksed", "--yes"]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /there is no queue aksed; yardmaster queues lists them/);
    const [action] = await yard.json(["retry", "--queue", "asked", "--state", "cancelled", "--yes"]);
    assert.deepEqual([action?.kind, action?.done, action?.state], ["retry", 2, "done"]);
    const purged = await yard.run(["purge", "asked", "--yes"]);
    assert.match(purged.stdout, /^2 tasks cancelled, 0 refused, in /);
  });

  test("export: JSON lines of any query, with bytes where asked", async () => {
    const file = join(yard.folder, "out.jsonl");
    const { code, stdout, stderr } = await yard.run([
      "export",
      "-q",
      "render",
      "--payloads",
      "--results",
      "-o",
      file,
    ]);
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(stderr, /^4 tasks written to .*out\.jsonl in /);
    const lines = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ payload, result }) => [payload, result]),
      [
        ["4", "made 4\n"],
        ["fail", undefined],
        ["2", "made 2\n"],
        ["1", "made 1\n"],
      ],
    );
    const nowhere = await yard.run(["export", "-o", "/dev/null/x"]);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /^yardmaster export: \/dev\/null\/x: ENOTDIR/);
  });

  test("export: more than a page, and a reader that has enough", async () => {
    await yard.run(["submit", yard.url, "-q", "pages", "-"], { input: "x\n".repeat(2_500) });
    const { stdout, stderr: total } = await yard.run(["export", "-q", "pages"]);
    assert.match(total, /^2,500 tasks written in .*\n$/);
    const seen = new Set(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).id),
    );
    assert.equal(seen.size, 2_500);
    const line = `'${process.execPath}' '${bin}' export --url ${yard.url} -q pages | head -1`;
    const {
      status,
      stdout: one,
      stderr,
    } = spawnSync("bash", ["-o", "pipefail", "-c", line], { encoding: "utf8" });
    assert.deepEqual([status, one.trim().split("\n").length, stderr], [0, 1, ""]);
    // bash reads a pipe byte by byte, so export must wait for room many times.
    const slowly = `'${process.execPath}' '${bin}' export --url ${yard.url} -q pages | while read -r line; do :; done`;
    const slow = spawnSync("bash", ["-c", slowly], { encoding: "utf8" });
    assert.match(slow.stderr, /^2,500 tasks written in .*\n$/);
  });

  test("top: once without a terminal, several times as JSON", async () => {
    const { code, stdout } = await yard.run(["top"]);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^yardmaster {2}127\.0\.0\.1:\d+ .* live \d\d:\d\d:\d\d {3}\? keys\n[\s\S]*\nwaiting [\d,]+ .*\n\nqueue [\s\S]*\nidle .*nobody\n[\s\S]*http\/ann/,
    );
    assert.ok(!stdout.includes(esc));
    const samples = await yard.json(["top", "--count", "2", "--interval", "50ms"]);
    assert.equal(samples.length, 2);
    // Workers of other tests may still end tasks.
    const [before, after] = samples.map(({ outcomes }) => outcomes as Record<string, number>);
    const rates = samples[1]?.perSecond as Record<string, number>;
    for (const state of ["done", "failed"])
      assert.equal(rates[state] === 0, before?.[state] === after?.[state], state);
  });

  test("top: live at a terminal, until q", { skip: withoutScript() }, () => {
    // The key is pressed once the screen shows it, however long that takes. A pipe would not be a
    // terminal to read it from.
    const press = "for n in $(seq 600); do grep -qs 'q quit' \"$SEEN\" && break; sleep 0.1; done; printf q";
    const line = `stty cols 80 rows 24; '${process.execPath}' '${bin}' top --url ${yard.url} --interval 200ms`;
    const { stdout, status } = spawnSync("sh", ["-c", `(${press}) | script -qefc "$LINE" "$SEEN"`], {
      encoding: "utf8",
      env: { ...process.env, TERM: "xterm", LINE: line, SEEN: join(yard.folder, "seen") },
      // If q does not work, the command would run forever.
      timeout: 120_000,
    });
    assert.equal(status, 0);
    const [before, live = "", after] = stdout.split(/\[\?1049[hl]/);
    assert.match(live, /waiting [\s\S]*q quit/);
    assert.deepEqual([before, after?.trim()], [esc, ""]);
  });

  test("tap: a door that is not open is named, with those that are", async () => {
    const { code, stderr } = await yard.run(["tap", "--door", "pingpogn"]);
    assert.equal(code, 1);
    assert.match(stderr, /there is no open door pingpogn; open are: .*\bpingpong\b/);
  });

  test("tap: decoded messages of a door, live, until it is told to stop", async () => {
    const tap = yard.start(["tap", "--door", "pingpong", "--count", "3", "--json"]);
    const shown = yard.start(["tap", "--door", "pingpong"], { env: { COLUMNS: "70" } });
    const worker = yard.start(["work", `pingpong://${yard.doors.pingpong?.workers}`, "--", "cat"]);
    // It begins to listen when it does: until then there is traffic.
    const traffic = setInterval(
      () => void yard.run(["submit", `pingpong://${yard.doors.pingpong?.clients}`, "x"]),
      700,
    );
    const { code, stdout } = await tap.ended;
    await shown.line();
    shown.child.kill("SIGINT");
    const people = await shown.ended;
    assert.equal(people.code, 0);
    clearInterval(traffic);
    worker.child.kill("SIGTERM");
    await worker.ended;
    assert.equal(code, 0);
    const messages = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.equal(messages.length, 3);
    for (const { door, direction, peer, type } of messages) {
      assert.equal(door, "pingpong");
      assert.match(direction, /^(in|out)$/);
      assert.ok(peer.length > 0 && type.length > 0);
    }
    for (const line of people.stdout.trim().split("\n")) {
      assert.match(line, /^\d\d:\d\d:\d\d\.\d{3} pingpong [→←] /);
      assert.ok(columns(line) <= 70, line);
    }
  });

  const mistakes: [args: string[], stderr: RegExp][] = [
    [
      ["tasks", "--state", "gone"],
      /'-s, --state <state>' argument 'gone' is invalid\. Allowed choices are waiting, running, done, failed/,
    ],
    [
      ["tasks", "--since", "yesterday"],
      /expected a time such as 2026-05-01T12:00:00Z, or how long ago: 5m, 2h, 1d/,
    ],
    [["tasks", "--statu", "x"], /unknown option '--statu'\n\(Did you mean --state\?\)/],
    [["tasks", "render"], /too many arguments/],
    [["tasks", "--ids", "--json"], /--ids and --json: give one of them/],
    [
      ["tasks", "--url", "udp://127.0.0.1:5555"],
      /--url: udp:\/\/127\.0\.0\.1:5555: only the http door can answer this/,
    ],
    [["task"], /missing required argument 'id'/],
    [["task", "1", "--payload", "--result"], /--payload and --result: give one of them/],
    [["cancel"], /missing required argument 'id'/],
    [["cancel", "-", "3"], /- reads the ids from standard input: give no other ids/],
    [["cancel", "3", "--queue", "q"], /give the tasks' numbers or a filter, not both/],
    [
      ["cancel", "--state", "done"],
      /--state done: such tasks cannot be cancelled; expected waiting or running/,
    ],
    [["retry", "--state", "waiting"], /expected failed or cancelled or expired/],
    [["cancel", "--queue", "idle"], /this would cancel 1 task; add --yes to confirm/],
    [["purge"], /missing required argument 'queue'/],
    [["queues", "--pause", "a b"], /"a b" is not a queue's name: 1 to 128 of /],
    [["drain", "--queue", "-"], /"-" is not a queue's name|is not a queue's name/],
    [["tasks", "--queue", "a b"], /a queue's name: 1 to 128 of /],
    [["drain"], /give either --worker or --queue/],
    [["queues", "--pause", "a", "--resume", "b"], /--pause and --resume: give one of them/],
    [["top", "--count", "0"], /expected a whole number from 1/],
  ];
  for (const [args, expected] of mistakes) {
    test(`a mistake ends it with 2: ${args.join(" ")}`, async () => {
      const { code, stdout, stderr } = await yard.run(args);
      assert.deepEqual([code, stdout], [2, ""], stderr);
      assert.match(stderr, expected);
      assert.match(stderr, new RegExp(`yardmaster ${args[0]} --help lists the options\\.\n$`));
    });
  }

  for (const name of [
    "tasks",
    "task",
    "workers",
    "queues",
    "cancel",
    "retry",
    "purge",
    "drain",
    "export",
    "top",
    "tap",
  ]) {
    test(`${name}: says that no dispatcher answers, and what to do`, async () => {
      const words =
        { task: ["1"], cancel: ["1"], retry: ["1"], purge: ["q", "--yes"], drain: ["--queue", "q"] }[name] ??
        [];
      const { code, stdout, stderr } = await yard.run([name, ...words, "--url", "http://127.0.0.1:1"]);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /cannot be reached: nothing listens there[\s\S]*Start one with: yardmaster serve/);
    });
  }

  test("a token is asked for, and taken from flag and environment", async () => {
    const guarded = await new CommandYard().serve({
      http: { listen: "127.0.0.1:0", token: "a-s3cret-of-size" },
    });
    try {
      const without = await guarded.run(["queues"]);
      assert.equal(without.code, 1);
      assert.match(without.stderr, /Give its token with --token, or set YARD_TOKEN\.\n$/);
      assert.equal((await guarded.run(["queues", "--token", "a-s3cret-of-size"])).code, 0);
      assert.equal((await guarded.run(["queues"], { env: { YARD_TOKEN: "a-s3cret-of-size" } })).code, 0);
      assert.equal(
        (await guarded.run(["queues", "--url", guarded.url.replace("//", "//:a-s3cret-of-size@")])).code,
        0,
      );
    } finally {
      guarded.close();
    }
  });
});
