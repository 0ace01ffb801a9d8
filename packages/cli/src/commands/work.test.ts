import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, watch, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { connect, type YardClient } from "@yardmaster/sdk";
import { atTerminal, bin, CommandYard, withoutScript } from "../testing/commands.js";

const yard = new CommandYard();
before(() => {
  const [free, out, techIn, techOut] = Array.from({ length: 4 }, () => "127.0.0.1:0");
  return yard.serve({
    pulse: { dir: join(yard.folder, "pulse") },
    pingpong: { clients: free, workers: free },
    udp: { client_address: { host: "127.0.0.1", port: 0 } },
    scaler: { listen: free },
    monique: { in: free, out, techIn, techOut, controllers: { shout: 0 } },
  });
});
after(() => yard.close());

async function submitted(queue: string, payload: string, ...flags: string[]): Promise<string> {
  const [item] = await yard.json(["submit", yard.url, "-q", queue, payload, ...flags]);
  return String(item?.id);
}

async function taskIs(id: string, state: string): Promise<Record<string, unknown>> {
  return seen(
    "task",
    (client) => client.task(id),
    (task) => task.id === id && task.state === state,
  );
}

/** Follows the dispatcher's events until one matches; `now` is the state when the stream begins. */
async function seen(
  type: "task" | "worker",
  now: (client: YardClient) => Promise<object>,
  isWanted: (item: Record<string, unknown>) => boolean,
): Promise<Record<string, unknown>> {
  const client = await connect(yard.url);
  try {
    for await (const { type: event, data } of client.events({ types: [type] })) {
      const item = (event === "snapshot" ? await now(client) : data) as Record<string, unknown>;
      if (isWanted(item)) return item;
    }
  } finally {
    await client.close();
  }
  throw new Error(`the events ended before the ${type} was seen`);
}

const errorOf = (task: Record<string, unknown>) => task.error as { code: string; message: string };

/** The pid that a command wrote into a file, once it differs from `before`. */
async function pidIn(file: string, before?: number): Promise<number> {
  const watcher = watch(dirname(file));
  try {
    for (;;) {
      const changed = once(watcher, "change");
      const text = existsSync(file) ? readFileSync(file, "utf8") : "";
      if (text.endsWith("\n") && Number(text) !== before) return Number(text);
      await changed;
    }
  } finally {
    watcher.close();
  }
}

/** Polls, because the system reports the end of a process only to its parent. */
async function isGone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await pause(20);
  }
}

/** A command that starts another in the background, which does not care for SIGTERM, and waits. */
const stubborn = (file: string) =>
  `sh -c 'trap "" TERM; echo $$ > ${file}; while :; do sleep 0.1; done' & wait; while :; do sleep 0.1; done`;

describe("yardmaster work", { timeout: 600_000, concurrency: 2 }, () => {
  test("payload on standard input, result from standard output, ids in the environment", async () => {
    const id = await submitted("plain", "frame 1");
    const script =
      'cat; printf " by %s of %s, %s" "$YARD_TASK" "$YARD_QUEUE" "$YARD_CONTENT_TYPE"; test -n "$YARD_ATTEMPT" && test -z "$YARD_TOKEN"';
    const run = await yard.run(
      ["work", yard.url, "-q", "plain", "--idle", "300ms", "--", "sh", "-c", script],
      {
        env: { YARD_TOKEN: "secret" },
      },
    );
    assert.equal(run.code, 0);
    assert.match(run.stdout, new RegExp(`^task ${id} done in .*, \\d+ B\n$`));
    const { stdout } = await yard.run(["task", id, "--result"]);
    assert.equal(stdout, `frame 1 by ${id} of plain, text/plain; charset=utf-8`);
  });

  test("bytes go through as they are", async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 256));
    const [item] = await yard.json(["submit", yard.url, "-q", "bytes", "--whole", "-"], { input: bytes });
    await yard.run(["work", yard.url, "-q", "bytes", "--idle", "300ms", "--", "cat"]);
    const [line] = (await yard.run(["export", "-q", "bytes", "--results"])).stdout.split("\n");
    const task = JSON.parse(line ?? "");
    assert.equal(task.id, item?.id);
    assert.ok(Buffer.from(task.resultBase64, "base64").equals(bytes));
  });

  test("an exit code fails the attempt, with the end of standard error", async () => {
    const id = await submitted("bad", "x");
    const { stdout, stderr, code } = await yard.run([
      "work",
      yard.url,
      "-q",
      "bad",
      "--idle",
      "300ms",
      "--json",
      "--",
      "sh",
      "-c",
      "echo no such frame >&2; exit 3",
    ]);
    assert.equal(code, 0);
    assert.equal(stderr, "no such frame\n");
    assert.deepEqual(JSON.parse(stdout).error, { code: "exit_3", message: "exit code 3: no such frame" });
    const shown = await yard.run(["task", id, "--json"]);
    assert.equal(shown.code, 1);
    assert.deepEqual(errorOf(JSON.parse(shown.stdout)), {
      code: "exit_3",
      message: "exit code 3: no such frame",
    });
  });

  test("a program that does not read, or dies by a signal", async () => {
    const large = yard.file("large.bin", "y".repeat(1_000_000));
    const [item] = await yard.json(["submit", yard.url, "-q", "deaf", "--whole", "--file", large]);
    const signalled = await submitted("deaf", "x");
    await yard.run([
      "work",
      yard.url,
      "-q",
      "deaf",
      "--idle",
      "300ms",
      "--",
      "sh",
      "-c",
      'case "$YARD_CONTENT_TYPE" in text*) kill -SEGV $$;; esac; echo ok',
    ]);
    assert.equal((await yard.run(["task", String(item?.id), "--result"])).stdout, "ok\n");
    assert.equal(errorOf(await taskIs(signalled, "failed")).code, "signal_SIGSEGV");
  });

  test("several at once, and no more", async () => {
    const log = join(yard.folder, "at-once.log");
    writeFileSync(log, "");
    await yard.run(["submit", yard.url, "-q", "many", "-"], { input: "x\n".repeat(9) });
    const script = `echo + >> ${log}; sleep 0.2; echo - >> ${log}`;
    const { code } = await yard.run([
      "work",
      yard.url,
      "-q",
      "many",
      "-c",
      "3",
      "--idle",
      "500ms",
      "--",
      "sh",
      "-c",
      script,
    ]);
    assert.equal(code, 0);
    let now = 0;
    let most = 0;
    for (const line of readFileSync(log, "utf8").trim().split("\n")) {
      now += line === "+" ? 1 : -1;
      most = Math.max(most, now);
    }
    assert.deepEqual([now, most], [0, 3]);
  });

  test("a time limit ends the command and all it started", async () => {
    const file = join(yard.folder, "limit.pid");
    const id = await submitted("slow", "x");
    const worker = yard.start([
      "work",
      yard.url,
      "-q",
      "slow",
      "--timeout",
      "500ms",
      "--kill-after",
      "200ms",
      "--",
      "sh",
      "-c",
      stubborn(file),
    ]);
    const pid = await pidIn(file);
    const task = await taskIs(id, "failed");
    assert.deepEqual(errorOf(task), { code: "time_limit", message: "the time limit of the attempt is over" });
    await isGone(pid);
    worker.child.kill("SIGTERM");
    assert.equal((await worker.ended).code, 0);
  });

  test("a task that is cancelled ends its command", async () => {
    const file = join(yard.folder, "cancel.pid");
    const id = await submitted("cancelled", "x");
    const worker = yard.start([
      "work",
      yard.url,
      "-q",
      "cancelled",
      "--lease",
      "300ms",
      "--kill-after",
      "200ms",
      "--",
      "sh",
      "-c",
      stubborn(file),
    ]);
    const pid = await pidIn(file);
    assert.equal((await yard.run(["cancel", id])).stdout, `task ${id} is cancelled\n`);
    await isGone(pid);
    const next = await submitted("cancelled", "y");
    await taskIs(next, "running");
    // Twice, and not SIGKILL: that would leave the command running.
    const second = await pidIn(file, pid);
    worker.child.kill("SIGTERM");
    await worker.complained(/finishing 1 task/);
    worker.child.kill("SIGTERM");
    assert.equal((await worker.ended).code, 0);
    await isGone(second);
  });

  test("the first SIGTERM lets commands finish, and nothing new is taken", async () => {
    const go = join(yard.folder, "go");
    const file = join(yard.folder, "finish.pid");
    const first = await submitted("finish", "x");
    const second = await submitted("finish", "y");
    const script = `echo $$ > ${file}; while [ ! -e ${go} ]; do sleep 0.05; done; echo finished`;
    const worker = yard.start(["work", yard.url, "-q", "finish", "--", "sh", "-c", script]);
    await pidIn(file);
    worker.child.kill("SIGTERM");
    await worker.complained(/\n/);
    assert.equal(
      worker.complaints(),
      "yardmaster work: finishing 1 task, for 10 s at most; send SIGTERM again to stop at once\n",
    );
    writeFileSync(go, "");
    assert.equal((await worker.ended).code, 0);
    assert.equal((await yard.run(["task", first, "--result"])).stdout, "finished\n");
    await taskIs(second, "waiting");
  });

  test("a second SIGTERM ends commands, and their tasks go to others at once", async () => {
    const file = join(yard.folder, "second.pid");
    // One try: returning the task does not use it.
    const id = await submitted("second", "x", "--attempts", "1");
    const worker = yard.start([
      "work",
      yard.url,
      "-q",
      "second",
      "--kill-after",
      "200ms",
      "--",
      "sh",
      "-c",
      stubborn(file),
    ]);
    const pid = await pidIn(file);
    worker.child.kill("SIGTERM");
    await worker.complained(/finishing 1 task/);
    worker.child.kill("SIGTERM");
    const { code, stdout, stderr } = await worker.ended;
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^task ${id} given back after `));
    assert.match(stderr, /\nyardmaster work: stopping at once\n$/);
    await isGone(pid);
    await yard.run(["work", yard.url, "-q", "second", "--idle", "1s", "--", "echo", "by another"]);
    assert.equal((await yard.run(["task", id, "--result"])).stdout, "by another\n");
  });

  test("drained from outside it ends by itself, with 0", async () => {
    const worker = yard.start(["work", yard.url, "-q", "drained", "--name", "ann", "--", "cat"]);
    const worksFor = async (client: YardClient) =>
      (await client.workers()).find(({ id }) => id === "http/ann") ?? {};
    await seen("worker", worksFor, ({ id }) => id === "http/ann");
    const [view] = await yard.json(["drain", "--worker", "http/ann"]);
    assert.equal(view?.state, "draining");
    assert.equal((await worker.ended).code, 0);
  });

  test("works through the pulse door", async () => {
    const worker = yard.start([
      "work",
      `pulse:${yard.doors.pulse?.dir}`,
      "--quiet",
      "--",
      "tr",
      "a-z",
      "A-Z",
    ]);
    const { stdout } = await yard.run(["submit", yard.url, "-q", "pulse", "--wait", "abc"]);
    assert.equal(stdout, "ABC\n");
    worker.child.kill("SIGTERM");
    assert.equal((await worker.ended).code, 0);
  });

  test("works through the monique door, whose queues are specs", async () => {
    const { in: to, out, "controllers.shout": given } = yard.doors.monique ?? {};
    const port = (address: string | undefined) => address?.split(":").at(-1);
    const url = `monique://${to}?out=${port(out)}&worker=${port(given)}`;
    const worker = yard.start(["work", url, "-q", "shout", "--quiet", "--", "tr", "a-z", "A-Z"]);
    const { stdout, stderr } = await yard.run(["submit", url, "-q", "shout", "abc", "def"]);
    assert.deepEqual([stdout, stderr], ["ABC\nDEF\n", ""]);
    worker.child.kill("SIGTERM");
    assert.equal((await worker.ended).code, 0);
  });

  for (const { name, address } of [
    { name: "pingpong", address: () => `pingpong://${yard.doors.pingpong?.workers}` },
    { name: "udp", address: () => `udp://${yard.doors.udp?.client_address}` },
    { name: "scaler", address: () => `scaler://${yard.doors.scaler?.listen}?function=cat` },
    { name: "pulse", address: () => `pulse:${yard.doors.pulse?.dir}?nextPulse=1s&pulse=50ms` },
  ]) {
    test(`idle at the ${name} door: ends by itself, with 0`, async () => {
      const { code, stderr } = await yard.run(["work", address(), "--idle", "1s", "--", "cat"]);
      assert.deepEqual([code, stderr], [0, ""]);
    });
  }

  test("a dispatcher that is away is told once and waited for", async () => {
    let tries = 0;
    const gateway = createServer((_request, response) => {
      tries += 1;
      response.socket?.destroy();
      if (tries === 3) worker.child.kill("SIGINT");
    });
    await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
    const worker = yard.start(["work", url, "-q", "q", "--", "cat"]);
    const { code, stderr } = await worker.ended;
    gateway.close();
    assert.equal(code, 1, "nobody was there");
    assert.deepEqual(stderr.match(/^yardmaster work: .{5}/gm), [
      "yardmaster work: http:",
      "yardmaster work: stopp",
      "yardmaster work: no di",
    ]);
    assert.equal(stderr.match(/cannot be reached/g)?.length, 1, stderr);
  });

  const nobody = "127.0.0.1:1";
  for (const url of [
    `http://${nobody}`,
    `pingpong://${nobody}`,
    `udp://${nobody}`,
    `scaler://${nobody}`,
    `monique://${nobody}?worker=1`,
    "pulse:/nowhere",
  ]) {
    test(`no dispatcher at ${url}: with --idle it exits with 1`, async () => {
      const queue = /http|monique/.test(url) ? ["-q", "q"] : [];
      const { code, stderr } = await yard.run(["work", url, ...queue, "--idle", "500ms", "--", "cat"]);
      assert.equal(code, 1, stderr);
      assert.ok(stderr.includes(`yardmaster work: no dispatcher answered at ${url}`), stderr);
    });
  }

  test("where the dispatcher is: the first word, --url, YARD_URL", async () => {
    const id = await submitted("where", "x");
    const rest = ["-q", "where", "--idle", "300ms", "--", "echo"];
    assert.equal((await yard.run(["work", ...rest, "by environment"])).code, 0);
    assert.equal((await yard.run(["task", id, "--result"])).stdout, "by environment\n");
    const nobody = { env: { YARD_URL: "http://127.0.0.1:1" } };
    assert.equal((await yard.run(["work", yard.url, ...rest], nobody)).code, 0);
    assert.equal((await yard.run(["work", "--url", yard.url, ...rest], nobody)).code, 0);
    assert.equal((await yard.run(["work", ...rest], nobody)).code, 1);
  });

  for (const signal of ["INT", "TERM"]) {
    test(`SIG${signal} that reaches the command too: the task is given back, and no try is lost`, async () => {
      const queue = `given-back-${signal}`;
      const id = await submitted(queue, "x", "--attempts", "1");
      // Like a Ctrl-C that arrives between fork and the command's own process group, or a
      // supervisor that signals all.
      const script = `kill -${signal} $PPID; kill -${signal} $$`;
      const { code, stdout } = await yard.run(["work", yard.url, "-q", queue, "--", "sh", "-c", script]);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`^task ${id} given back after `));
      await taskIs(id, "waiting");
      await yard.run(["work", yard.url, "-q", queue, "--idle", "300ms", "--", "true"]);
      await taskIs(id, "done");
    });
  }

  test("a signal that only the command got fails the attempt", async () => {
    const id = await submitted("own-signal", "x");
    const script = "kill -INT $$";
    await yard.run(["work", yard.url, "-q", "own-signal", "--idle", "300ms", "--", "sh", "-c", script]);
    assert.equal(errorOf(await taskIs(id, "failed")).code, "signal_SIGINT");
  });

  test("Ctrl-C at a terminal, however it meets commands that are being started, fails no task", {
    skip: withoutScript(),
  }, async () => {
    const file = yard.file("at-terminal.txt", "x\n".repeat(400));
    for (const round of [1, 2, 3]) {
      const queue = `at-terminal-${round}`;
      await yard.run(["submit", yard.url, "-q", queue, "--file", file]);
      const done = yard.file(queue, "");
      const command = `'${process.execPath}' '${bin}' work ${yard.url} -q ${queue} -c 8 --quiet -- sh -c 'echo >> ${done}'`;
      // The whole foreground process group gets the signal, as it does from the terminal's driver.
      const interrupt = `until [ $(wc -l < ${done}) -ge ${10 * round} ]; do sleep 0.01; done; kill -INT 0`;
      const { stdout, code } = await atTerminal(`(${interrupt}) & exec ${command}`);
      assert.equal(code, 0, stdout);
      const states = (await yard.json(["tasks", "-q", queue, "--limit", "400"])).map(({ state }) => state);
      assert.deepEqual(new Set(states), new Set(["waiting", "done"]));
      assert.match(
        stdout,
        /yardmaster work: (finishing \d tasks?, .*; press Ctrl-C again to stop at once|stopping)\r\n/,
      );
    }
  });

  const mistakes: [args: string[], stderr: RegExp][] = [
    [["work", "URL"], /what to run comes after --: yardmaster work URL \[options\] -- command…/],
    [["work", "URL", "--"], /missing required argument 'command'/],
    [["work", "render", "--", "cat"], /"render" is not a URL; what to run comes after --/],
    [["work", "gopher://x:1", "--", "cat"], /no dialect is called gopher/],
    [["work", "URL", "-q", "a b", "--", "cat"], /"a b" is not a queue's name/],
    [
      ["work", "URL", "-q", "q", "--", "no-such-program"],
      /there is no program "no-such-program" that can be run; is it in PATH\?/,
    ],
    [["work", "URL", "--", "cat"], /http has many queues: name one to work for/],
    [["work", "URL", "-q", "q", "-c", "0", "--", "cat"], /expected a whole number from 1 to 1000/],
    [
      ["work", "udp://127.0.0.1:1", "-q", "q", "--", "cat"],
      /udp cannot choose a queue; its door has one, set by doors\.udp\.queue/,
    ],
  ];
  for (const [args, expected] of mistakes) {
    test(`a mistake ends it with 2: ${args.join(" ")}`, async () => {
      const { code, stdout, stderr } = await yard.run(args.map((word) => (word === "URL" ? yard.url : word)));
      assert.deepEqual([code, stdout], [2, ""], stderr);
      assert.match(stderr, expected);
    });
  }

  test("a refusal that will not pass ends it with 1", async () => {
    const guarded = await new CommandYard().serve({
      http: { listen: "127.0.0.1:0", token: "a-token-of-its-own" },
    });
    try {
      const { code, stderr } = await guarded.run(["work", guarded.url, "-q", "q", "--", "cat"]);
      assert.equal(code, 1);
      assert.match(stderr, /Give its token with --token, or set YARD_TOKEN\./);
    } finally {
      guarded.close();
    }
  });
});
