import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { atTerminal, bin, CommandYard, withoutScript } from "../testing/commands.js";

const yard = new CommandYard();
before(() =>
  yard.serve({
    pingpong: { clients: "127.0.0.1:0", workers: "127.0.0.1:0" },
    udp: { client_address: { port: 0 } },
  }),
);
after(() => yard.close());

/** Resolves when this many tasks wait in a queue. */
async function waiting(queue: string, number: number): Promise<void> {
  for (;;) {
    const queues = await yard.json(["queues"]);
    if (queues.find(({ name }) => name === queue)?.waiting === number) return;
  }
}

const payloadOf = async (id: string) => (await yard.run(["task", id, "--payload"])).stdout;

describe("yardmaster submit", { timeout: 600_000, concurrency: 2 }, () => {
  test("submits one task and prints its number", async () => {
    const { code, stdout } = await yard.run([
      "submit",
      yard.url,
      "--queue",
      "one",
      "frame 1",
      "--priority",
      "5",
      "--key",
      "k",
    ]);
    assert.equal(code, 0);
    const [, id = ""] = /^task (\d+) is accepted in queue one\n$/.exec(stdout) ?? [];
    const [task] = await yard.json(["task", id]);
    assert.deepEqual(
      [task?.state, task?.priority, task?.key, task?.contentType],
      ["waiting", 5, "k", "text/plain; charset=utf-8"],
    );
    assert.equal(await payloadOf(id), "frame 1");
    const [again] = await yard.json(["submit", yard.url, "--queue", "one", "frame 1", "--key", "k"]);
    assert.equal(again?.id, id);
  });

  test("submits each line of standard input, without the line ends", async () => {
    const items = await yard.json(["submit", yard.url, "-q", "lines", "-"], { input: "a\r\n\nc ü\nlast" });
    assert.equal(items.length, 4);
    const payloads = await Promise.all(items.map(({ id }) => payloadOf(String(id))));
    assert.deepEqual(payloads, ["a", "", "c ü", "last"]);
  });

  test("submits binary data, and a whole file as one payload", async () => {
    const bytes = Buffer.from([0, 255, 10, 254, 13]);
    const [line] = await yard.json(["submit", yard.url, "-q", "bytes", "--whole", "-"], { input: bytes });
    const { stdout } = await yard.run(["export", "--queue", "bytes", "--payloads"]);
    const { payloadBase64, id, contentType } = JSON.parse(stdout);
    assert.deepEqual(
      [id, payloadBase64, contentType],
      [line?.id, bytes.toString("base64"), "application/octet-stream"],
    );
  });

  test("submits a large file in batches, and with a key prefix only once", async () => {
    const lines = 5_000;
    const file = yard.file("lines.txt", Array.from({ length: lines }, (_, at) => `line ${at}\n`).join(""));
    for (let time = 0; time < 2; time += 1) {
      const { code, stdout, stderr } = await yard.run([
        "submit",
        yard.url,
        "-q",
        "large",
        "--file",
        file,
        "--key-prefix",
        "p",
      ]);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(stdout, /^5,000 tasks accepted in /);
    }
    const queues = await yard.json(["queues"]);
    assert.equal(queues.find(({ name }) => name === "large")?.waiting, lines);
  });

  test("waits for results and prints them in order; a failed task makes it exit 1", async () => {
    const worker = yard.start([
      "work",
      yard.url,
      "-q",
      "squares",
      "-c",
      "3",
      "--quiet",
      "--",
      "sh",
      "-c",
      "read n; [ $n != 3 ] && echo $((n * n))",
    ]);
    const good = await yard.run(["submit", yard.url, "-q", "squares", "--wait", "-"], {
      input: "1\n2\n4\n5\n",
    });
    assert.deepEqual(good, { code: 0, stdout: "1\n4\n16\n25\n", stderr: "" });
    const bad = await yard.run(["submit", yard.url, "-q", "squares", "--wait", "2", "3"]);
    assert.deepEqual([bad.code, bad.stdout], [1, "4\n"]);
    assert.match(bad.stderr, /^task 2: task \d+ failed: exit code 1\n$/);
    const json = await yard.run(["submit", yard.url, "-q", "squares", "--wait", "--json", "6", "3"]);
    assert.equal(json.code, 1);
    const [six, three] = json.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      [six.state, six.result, three.state, three.error.code],
      ["done", "36\n", "failed", "exit_1"],
    );
    worker.child.kill("SIGTERM");
    assert.equal((await worker.ended).code, 0);
  });

  test("gives up waiting when it was told to, with exit code 1", async () => {
    const { code, stderr } = await yard.run([
      "submit",
      yard.url,
      "-q",
      "nobody",
      "--wait-limit",
      "100ms",
      "x",
    ]);
    assert.equal(code, 1);
    assert.match(stderr, /^yardmaster submit: task \d+ is not over yet\n$/);
  });

  test("goes through other doors, which answer with results", async () => {
    const worker = yard.start([
      "work",
      `pingpong://${yard.doors.pingpong?.workers}`,
      "--",
      "tr",
      "a-z",
      "A-Z",
    ]);
    const over = await yard.run(["submit", `pingpong://${yard.doors.pingpong?.clients}`, "abc", "def"]);
    assert.deepEqual(over, { code: 0, stdout: "ABC\nDEF\n", stderr: "" });
    worker.child.kill("SIGTERM");
    await worker.ended;
    const udp = `udp://${yard.doors.udp?.client_address}`;
    assert.equal((await yard.run(["submit", udp, "no result asked for"])).code, 0);
    const echo = yard.start(["work", udp, "--", "cat"]);
    const text = await yard.run(["submit", udp, "--wait", "--type", "application/json", '{"x":1}']);
    assert.deepEqual([text.code, text.stdout], [0, '{"x":1}\n']);
    echo.child.kill("SIGTERM");
    await echo.ended;
  });

  test("a dispatcher that stops in the middle: prints how many were accepted, and what to do", async () => {
    let answered = 0;
    const fake = createServer((request, response) => {
      let lines = "";
      request.on("data", (chunk) => {
        lines += chunk;
      });
      request.on("end", () => {
        answered += 1;
        if (answered > 2) return request.socket.destroy();
        const items = lines
          .trim()
          .split("\n")
          .map((_, at) => ({ id: String(at + 1) }));
        return response.end(JSON.stringify({ items }));
      });
    });
    await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`;
    const input = "x\n".repeat(10_000);
    const { code, stderr } = await yard.run(["submit", url, "-q", "q", "-"], { input });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /cannot be reached: .*\n[\d,]+ tasks? (was|were) accepted before\. It is not known whether .* --key-prefix/,
    );
    fake.close();
    fake.closeAllConnections();
  });

  test("a queue that is full holds the source back until there is room", async () => {
    const full = await new CommandYard().serve({}, { queues: { small: { maxWaiting: 3 } } });
    try {
      const submitting = full.start(["submit", full.url, "-q", "small", "-"], {
        input: "1\n2\n3\n4\n5\n6\n7\n",
      });
      const worker = full.start(["work", full.url, "-q", "small", "--idle", "5m", "--", "cat"]);
      const { code, stdout } = await submitting.ended;
      assert.equal(code, 0);
      assert.match(stdout, /^7 tasks accepted/);
      worker.child.kill("SIGTERM");
      await worker.ended;
    } finally {
      full.close();
    }
  });

  test("waiting for results, a full queue holds the source back until there is room", async () => {
    const full = await new CommandYard().serve({}, { queues: { small: { maxWaiting: 2 } } });
    try {
      const submitting = full.start(["submit", full.url, "-q", "small", "--wait", "-"], {
        input: "1\n2\n3\n4\n5\n6\n7\n",
      });
      const worker = full.start(["work", full.url, "-q", "small", "--idle", "5m", "--", "cat"]);
      const { code, stdout } = await submitting.ended;
      assert.deepEqual([code, stdout], [0, "1\n2\n3\n4\n5\n6\n7\n"]);
      worker.child.kill("SIGTERM");
      await worker.ended;
      const without = await full.run(
        ["submit", full.url, "-q", "small", "--wait", "--wait-for-room", "100ms", "-"],
        { input: "1\n2\n3\n" },
      );
      assert.equal(without.code, 1);
      assert.match(without.stderr, /queue small is full: it accepted nothing for 100 ms/);
    } finally {
      full.close();
    }
  });

  test("lines of a source that stays open are submitted, and their results printed, as they come", async () => {
    const worker = yard.start(["work", yard.url, "-q", "slowly", "--", "cat"]);
    const waits = yard.start(["submit", yard.url, "-q", "slowly", "--wait", "-"], {
      input: "one\n",
      isOpen: true,
    });
    assert.equal(await waits.line(), "one");
    waits.child.stdin?.end("two\n");
    assert.equal(await waits.line(), "two");
    assert.equal((await waits.ended).code, 0);
    const tells = yard.start(["submit", yard.url, "-q", "slowly", "--json", "-"], {
      input: "three\n",
      isOpen: true,
    });
    assert.match(await tells.line(), /"index":0/);
    tells.child.stdin?.end();
    assert.equal((await tells.ended).code, 0);
    worker.child.kill("SIGTERM");
    await worker.ended;
  });

  test("a queue that stays full: says what it waits for, and gives up with exit 1", async () => {
    const full = await new CommandYard().serve({}, { queues: { small: { maxWaiting: 3 } } });
    try {
      const submitting = full.start(["submit", full.url, "-q", "small", "--wait-for-room", "2500ms", "-"], {
        input: "1\n2\n3\n4\n5\n",
      });
      await submitting.complained(/\n/);
      assert.equal(
        submitting.complaints(),
        "queue small is full: waiting for room; gives up after 2.5 s without an accepted task (--wait-for-room)\n",
      );
      const { code, stdout, stderr } = await submitting.ended;
      assert.deepEqual([code, stdout], [1, ""]);
      const [, ...said] = stderr.trimEnd().split("\n");
      assert.equal(
        said[0],
        "yardmaster submit: queue small is full: it accepted nothing for 2.5 s (--wait-for-room).",
      );
      assert.equal(said[1], "3 tasks were accepted before, and no others.");
      const one = await full.run(["submit", full.url, "-q", "small", "--wait-for-room", "100ms", "x"]);
      assert.equal(one.code, 1);
      assert.match(one.stderr, /queue small is full: it accepted nothing for 100 ms/);
      const json = await full.run(["submit", "-q", "small", "--wait-for-room", "100ms", "--json", "x", "y"]);
      assert.equal(json.code, 1);
      assert.deepEqual(
        json.stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line).error.code),
        ["queue_full", "queue_full"],
      );
    } finally {
      full.close();
    }
  });

  test("a full queue at a terminal: a live line says so", { skip: withoutScript() }, async () => {
    const full = await new CommandYard().serve({}, { queues: { small: { maxWaiting: 1 } } });
    try {
      const command = `'${process.execPath}' '${bin}' submit ${full.url} -q small --wait-for-room 2500ms a b`;
      const { stdout } = await atTerminal(`stty cols 60; ${command}`);
      assert.match(
        stripVTControlCharacters(stdout),
        /\rqueue small is full: waiting for room for [\d.]+ s; /,
      );
      const again = await atTerminal(`stty cols 60; ${command}`);
      assert.ok(again.stdout.includes("\r\x1b[Kyardmaster submit: queue small is full"), again.stdout);
    } finally {
      full.close();
    }
  });

  for (const [signal, expected] of [["SIGINT", 130] as const, ["SIGTERM", 143] as const]) {
    test(`${signal} ends it in order, and it says how many were accepted`, async () => {
      const queue = `interrupted-${signal}`;
      // Two batches and a half; the source stays open.
      const submitting = yard.start(["submit", yard.url, "-q", queue, "--json", "-"], {
        input: "x\n".repeat(2_500),
        isOpen: true,
      });
      await waiting(queue, 2_500);
      submitting.child.kill(signal);
      const { code, stdout, stderr } = await submitting.ended;
      assert.deepEqual([code, stdout.trimEnd().split("\n").length], [expected, 2_500]);
      assert.match(
        stderr,
        /^yardmaster submit: interrupted\. 2,500 tasks were accepted before, and no others\.\n$/,
      );
      await waiting(queue, 2_500);
    });
  }

  test("Ctrl-C while it waits for room: ends at once, and says how many were accepted", async () => {
    const full = await new CommandYard().serve({}, { queues: { small: { maxWaiting: 3 } } });
    try {
      const submitting = full.start(["submit", "-q", "small", "-"], { input: "1\n2\n3\n4\n5\n" });
      await submitting.complained(/is full/);
      submitting.child.kill("SIGINT");
      const { code, stderr } = await submitting.ended;
      assert.equal(code, 130);
      assert.match(stderr, /yardmaster submit: interrupted\. 3 tasks were accepted before, and no others\./);
    } finally {
      full.close();
    }
  });

  test("Ctrl-C while it waits for results: says how many came", async () => {
    const submitting = yard.start(["submit", "-q", "nobody-works", "--wait", "a", "b"]);
    await waiting("nobody-works", 2);
    submitting.child.kill("SIGINT");
    const { code, stderr } = await submitting.ended;
    assert.equal(code, 130);
    assert.equal(
      stderr,
      "yardmaster submit: interrupted. 0 results came before. Tasks that were accepted go on.\n",
    );
  });

  test("where the dispatcher is: --url, the first word, YARD_URL", async () => {
    const nobody = { env: { YARD_URL: "http://127.0.0.1:1" } };
    const payloads = async (args: string[], options = {}) => {
      const items = await yard.json(["submit", "-q", "where", ...args], options);
      return Promise.all(items.map(({ id }) => payloadOf(String(id))));
    };
    assert.deepEqual(await payloads(["hello"]), ["hello"]);
    assert.deepEqual(await payloads(["note: buy milk", "frame:12"]), ["note: buy milk", "frame:12"]);
    assert.deepEqual(await payloads([yard.url, "hello"], nobody), ["hello"]);
    assert.deepEqual(await payloads(["--url", yard.url, "http://x.example/", "b"], nobody), [
      "http://x.example/",
      "b",
    ]);
    const away = await yard.run(["submit", "-q", "where", "hello"], nobody);
    assert.equal(away.code, 1);
    assert.match(away.stderr, /http:\/\/127\.0\.0\.1:1 cannot be reached/);
  });

  test("a hundred thousand lines take no more memory than a few thousand", async (t) => {
    const few = await submittedTo(5_000);
    const many = await submittedTo(100_000);
    // The file has 51 MB. A quarter of it is more than temporary buffers need, and less than kept
    // lines would.
    t.diagnostic(`${few} bytes for few lines, ${many} for many`);
    assert.ok(many - few < 12_500_000, `${few} bytes for few lines, ${many} for many`);
  });

  test("progress is shown at a terminal, and the line is taken away", { skip: withoutScript() }, async () => {
    const file = yard.file("shown.txt", "x\n".repeat(20_000));
    const line = `stty cols 60; '${process.execPath}' '${bin}' submit ${yard.url} -q shown --file ${file}`;
    const { stdout, code } = await atTerminal(line);
    assert.equal(code, 0);
    const drawn = stdout.split("\r").map((part) => stripVTControlCharacters(part).trim());
    const bars = drawn.filter((part) => part.startsWith("["));
    assert.ok(bars.length > 0, stdout);
    for (const bar of bars) {
      assert.match(bar, /^\[#* *\] \d+% {2}[\d,]+ tasks/);
      assert.ok(bar.length < 60, bar);
    }
    assert.match(drawn.findLast((part) => part !== "") ?? "", /^20,000 tasks accepted in /);
  });

  const mistakes: [args: string[], stderr: RegExp][] = [
    [
      ["submit"],
      /^yardmaster submit: nothing to submit: give a payload, .*\nyardmaster submit --help lists the options\.\n$/,
    ],
    [["submit", "-q", "a", "http://x.example:1"], /nothing to submit: give a payload/],
    [
      ["submit", "-q", "a", "gopher://x:1"],
      /expected http, .*\nIf it is a payload, say where the dispatcher is with --url\.\n/,
    ],
    [["submit", "URL", "-q", "a b", "x"], /"a b" is not a queue's name: 1 to 128 of /],
    [["submit", "URL"], /nothing to submit: give a payload, - for lines of standard input, or --file/],
    [["submit", "127.0.0.1:7420", "x"], /"127\.0\.0\.1:7420" is not a URL: expected one of http, /],
    [["submit", "gopher://x:1", "x"], /no dialect is called gopher: expected http, /],
    [["submit", "http://", "x"], /"http:\/\/" is not a URL/],
    [["submit", "pulse:/run/controller", "x"], /pulse cannot submit tasks; it has workers only/],
    [["submit", "URL", "x"], /http has many queues: name one/],
    [
      ["submit", "pingpong://127.0.0.1:1", "-q", "a", "x"],
      /pingpong cannot name a queue; its door has one, set by doors\.pingpong\.queue/,
    ],
    [
      ["submit", "udp://127.0.0.1:1", "--priority", "1", "x"],
      /udp cannot give a task a priority; use the http door for it/,
    ],
    [
      ["submit", "URL", "-q", "a", "--delay", "5", "x"],
      /'--delay <duration>' argument '5' is invalid\. expected a duration such as 500ms/,
    ],
    [
      ["submit", "URL", "-q", "a", "--priority", "high", "x"],
      /expected a whole number from -2147483648 to 2147483647/,
    ],
    [["submit", "URL", "-q", "a", "--key", "k", "x", "y"], /--key is for one task; many take --key-prefix/],
    [["submit", "URL", "-q", "a", "-", "x"], /- stands for the lines of standard input/],
    [["submit", "URL", "-q", "a", "--file", "f", "x"], /--file and a payload: give one of them/],
  ];
  for (const [args, expected] of mistakes) {
    test(`a mistake ends it with 2: ${args.join(" ")}`, async () => {
      const { code, stdout, stderr } = await yard.run(args.map((word) => (word === "URL" ? yard.url : word)));
      assert.deepEqual([code, stdout], [2, ""], stderr);
      assert.match(stderr, expected);
    });
  }

  const faults: [args: string[], stderr: RegExp][] = [
    [
      ["submit", "http://127.0.0.1:1", "-q", "a", "x"],
      /http:\/\/127\.0\.0\.1:1 cannot be reached: nothing listens there .*\nStart one with: yardmaster serve\./,
    ],
    [["submit", "URL", "-q", "a", "--file", "none.txt"], /none\.txt: there is no such file/],
    [["submit", "URL", "-q", "a", "--file", "."], /\.: is a folder; expected a file/],
  ];
  for (const [args, expected] of faults) {
    test(`a fault ends it with 1: ${args.join(" ")}`, async () => {
      const { code, stdout, stderr } = await yard.run(args.map((word) => (word === "URL" ? yard.url : word)));
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, expected);
      assert.doesNotMatch(stderr, /^ {4}at /m);
    });
  }
});

/** Peak of live bytes while this many lines are submitted to a server that accepts everything. */
async function submittedTo(lines: number): Promise<number> {
  const sink = createServer((request, response) => {
    let received = 0;
    request.on("data", (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) received += 1;
    });
    request.on("end", () => {
      const items = Array.from({ length: received }, (_, at) => ({ id: String(at) }));
      response.end(JSON.stringify({ items }));
    });
  });
  // This process may stall for longer than the default of 5 s. A batch on a connection that closes
  // meanwhile would be lost.
  sink.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`;
  const line = `${createHash("sha256").update("x").digest("hex").repeat(8)}\n`;
  const file = yard.file(`lines-${lines}.txt`, line.repeat(lines));
  const liveBytes = join(yard.folder, `live-bytes-${lines}`);
  const { code, stdout, stderr } = await yard.run(["submit", url, "-q", "q", "--json", "--file", file], {
    env: {
      NODE_OPTIONS: `--expose-gc --import=${new URL("../testing/live-bytes.js", import.meta.url)}`,
      LIVE_BYTES_FILE: liveBytes,
    },
  });
  sink.close();
  sink.closeAllConnections();
  assert.deepEqual([code, stderr], [0, ""]);
  assert.equal(stdout.split("\n").length, lines + 1);
  return Number(readFileSync(liveBytes, "utf8"));
}
