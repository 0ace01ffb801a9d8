import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect } from "@yardmaster/sdk";
import { CommandYard } from "../testing/commands.js";

const yard = new CommandYard();
before(() =>
  yard.serve({
    pingpong: { clients: "127.0.0.1:0", workers: "127.0.0.1:0" },
    udp: { client_address: { port: 0 } },
  }),
);
after(() => yard.close());

describe("yardmaster bench", { timeout: 600_000 }, () => {
  test("measures over http, and leaves nothing waiting", async () => {
    const [figures] = await yard.json(["bench", yard.url, "-n", "200", "--bytes", "10", "-c", "8"]);
    const latency = figures?.latencyMs as Record<string, number>;
    assert.deepEqual([figures?.tasks, figures?.payloadBytes, figures?.concurrency], [200, 10, 8]);
    for (const name of ["submittedPerSecond", "doneOfThosePerSecond", "roundTripsPerSecond"])
      assert.ok(Number(figures?.[name]) > 0, name);
    assert.ok(latency.p50 && latency.max && latency.p50 <= latency.max);
    const [queue] = await yard.json(["queues"]);
    assert.match(String(queue?.name), /^bench-/);
    assert.deepEqual([queue?.waiting, queue?.running], [0, 0]);
  });

  test("cancels what it has submitted when it is interrupted", async () => {
    const { child, ended, complaints } = yard.start(["bench", yard.url, "-n", "1000000"]);
    const client = await connect(yard.url);
    const ours = ({ name, waiting }: { name: string; waiting: number }) =>
      name.startsWith("bench-") && waiting > 0;
    for await (const { type, data } of client.events({ types: ["queue"] })) {
      if (type === "queue" && ours(data as never)) break;
    }
    child.kill("SIGINT");
    assert.equal((await ended).code, 130);
    assert.match(
      complaints(),
      /^yardmaster bench: interrupted; [\d,]+ tasks of queue bench-\w+ cancelled\n$/,
    );
    assert.deepEqual((await client.queues()).filter(ours), []);
    await client.close();
  });

  test("measures through other doors", async () => {
    const { clients, workers } = yard.doors.pingpong ?? {};
    const shown = await yard.run([
      "bench",
      `pingpong://${clients}`,
      "--work",
      `pingpong://${workers}`,
      "-n",
      "50",
      "-c",
      "4",
    ]);
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(
      shown.stdout,
      /^50 tasks of 100 bytes, 4 at once\n {2}round trips {2}[\d,]+\/s\n {2}latency {6}p50 /,
    );
    const udp = `udp://${yard.doors.udp?.client_address}`;
    assert.equal((await yard.run(["bench", udp, "-n", "20", "-c", "2"])).code, 0);
  });

  test("exits with 1 if no dispatcher answers, and with 2 after a wrong option", async () => {
    const none = await yard.run(["bench", "http://127.0.0.1:1", "-n", "1"]);
    assert.equal(none.code, 1);
    assert.match(none.stderr, /cannot be reached/);
    const bad = await yard.run(["bench", "-n", "many"]);
    assert.equal(bad.code, 2);
    assert.match(bad.stderr, /expected a whole number from 1 to 10000000/);
  });
});
