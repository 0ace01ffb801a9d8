// Every client dialect with every worker dialect, on one queue of a real dispatcher: the worker
// gets the request, and the client gets an answer in its own dialect. Prints the matrix that
// docs/dialects/bridging.md explains.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { after, before, test } from "node:test";
import { connect, type WorkOptions, work, type YardClient } from "@yardmaster/sdk";
import { patience, waitMs } from "../patience.js";
import { bodySizes, hugeSize, textOfSize } from "./body-sizes.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const queue = "shared";
const clientDialects = ["http", "pingpong", "udp", "monique", "scaler"] as const;
const workerDialects = ["http", "pingpong", "udp", "pulse", "monique", "scaler"] as const;

let yard: ServedYard;
before(async () => {
  yard = await serveYard({
    doors: {
      pingpong: { queue },
      udp: { queue },
      pulse: { queue },
      scaler: { queue, function: "scaler" },
      monique: { controllers: { [queue]: 0 } },
    },
  });
});
after(async () => {
  await yard.stop();
});

/** One URL serves both ends, except for pingpong, which has a port for each. */
function urlOf(dialect: string, end: "clients" | "workers"): string {
  const { doors } = yard;
  switch (dialect) {
    case "http":
      return yard.url;
    case "pingpong":
      return `pingpong://${doors.pingpong?.[end]}`;
    case "udp":
      return `udp://${doors.udp?.client_address}`;
    case "pulse":
      return `pulse:${resolve(yard.folder, doors.pulse?.dir ?? "")}`;
    case "scaler":
      return `scaler://${doors.scaler?.listen}`;
    default: {
      const { in: to, out, [`controllers.${queue}`]: worker } = doors.monique ?? {};
      return `monique://${to}?out=${portOf(out)}&worker=${portOf(worker)}`;
    }
  }
}

function portOf(address: string | undefined): string {
  return address?.split(":").at(-1) ?? "";
}

const named = (dialect: string): WorkOptions =>
  dialect === "http" || dialect === "monique" ? { queue } : {};

/** A JSON object, which every dialect can carry and udp's params require. */
const questionOf = (asker: string, worker: string) => ({ from: asker, to: worker });

async function ask(client: YardClient, asker: string, worker: string): Promise<string> {
  const { body } = await client.call(questionOf(asker, worker), { ...named(asker), waitMs });
  return body.text();
}

test("every client dialect through every worker dialect", patience, async (context) => {
  const clients = new Map<string, YardClient>();
  for (const dialect of clientDialects) clients.set(dialect, await connect(urlOf(dialect, "clients")));
  const cells = new Map<string, string>();
  for (const worker of workerDialects) {
    const seen: string[] = [];
    const running = await work(urlOf(worker, "workers"), named(worker), (payload) => {
      seen.push(payload.text());
      return `${worker} did it`;
    });
    for (const [asker, client] of clients) {
      const answer = await ask(client, asker, worker).catch((error: Error) => `FAILED: ${error.message}`);
      const got = seen.splice(0).join(" | ");
      const isWhole = got.includes(`"from":"${asker}"`) && got.includes(`"to":"${worker}"`);
      // A result is text; dialects whose results are JSON return it as a JSON string.
      const isAnswered = answer.replace(/^"|"$/g, "") === `${worker} did it`;
      cells.set(`${asker} ${worker}`, isWhole && isAnswered ? "yes" : `given ${got}, answered ${answer}`);
    }
    await running.stop();
  }
  for (const client of clients.values()) await client.close();
  const row = (name: string, values: readonly string[]) =>
    [name.padEnd(10), ...values.map((value) => value.padEnd(9))].join(" ").trimEnd();
  context.diagnostic(row("asks", workerDialects));
  for (const asker of clientDialects) {
    const short = workerDialects.map((worker) => (cells.get(`${asker} ${worker}`) === "yes" ? "yes" : "NO"));
    context.diagnostic(row(asker, short));
  }
  for (const [pair, cell] of cells) assert.equal(cell, "yes", pair);
});

/** A client's payload and its expected result. */
interface Sized {
  readonly client: string;
  readonly size: number;
  readonly result: Promise<string>;
}

/**
 * A scaler client's task reaches other workers as an array of its function's name and its argument.
 */
function isPayloadOf(text: string, { client, size }: Sized, worker: string): boolean {
  const sent = textOfSize(size, client);
  if (client !== "scaler" || worker === "scaler") return text === sent;
  return text.endsWith(sent) && text.includes("scaler") && text.length < size + 64;
}

async function waitingTasks(): Promise<number> {
  const response = await fetch(`${yard.url}/v1/queues`);
  const { items } = (await response.json()) as { items: { name: string; waiting: number }[] };
  return items.find(({ name }) => name === queue)?.waiting ?? 0;
}

/** One huge body per dialect on each side, not per pair. */
function sizesFor(client: string, worker: string): readonly number[] {
  const [from, to] = [clientDialects.indexOf(client as never), workerDialects.indexOf(worker as never)];
  return (from + to) % 3 === 0 ? [...bodySizes, hugeSize] : bodySizes;
}

// Without udp: bodies that do not fit its datagrams go to workers of other dialects.
for (const worker of workerDialects.filter((dialect) => dialect !== "udp")) {
  test(`a ${worker} worker is given bodies of every size that were waiting`, {
    timeout: 120_000,
  }, async () => {
    const open: Sized[] = [];
    const clients: YardClient[] = [];
    for (const name of clientDialects.filter((dialect) => dialect !== "udp")) {
      const client = await connect(urlOf(name, "clients"));
      clients.push(client);
      for (const size of sizesFor(name, worker)) {
        const submitted = await client.submit(textOfSize(size, name), named(name));
        const result = client.result(submitted, { waitMs: 100_000 }).then((body) => body.text());
        // Each is awaited below. If one fails, the others end when their client is closed, and
        // their rejections must not hide the first.
        result.catch(() => undefined);
        open.push({ client: name, size, result });
      }
    }
    while ((await waitingTasks()) < open.length);
    const ungiven = new Set(open);
    const strange: string[] = [];
    let answered = 0;
    const answers = [...bodySizes, hugeSize];
    const running = await work(urlOf(worker, "workers"), named(worker), (payload) => {
      const given = [...ungiven].find((sized) => isPayloadOf(payload.text(), sized, worker));
      if (given === undefined) strange.push(payload.text().slice(0, 100));
      else ungiven.delete(given);
      // Only one answer per round is huge.
      const size = answers[answered % answers.length] ?? 0;
      answered += 1;
      return textOfSize(size === hugeSize && answered > answers.length ? 4097 : size, worker);
    });
    try {
      for (const { client, size, result } of open) {
        const text = (await result).replace(/^"|"$/g, "");
        assert.ok(
          text === textOfSize(text.length, worker),
          `${client}'s ${size} bytes: ${text.slice(0, 100)}`,
        );
        assert.ok(
          answers.includes(text.length),
          `${client}'s ${size} bytes were answered with ${text.length}`,
        );
      }
      assert.deepEqual([strange, [...ungiven].map(({ client, size }) => `${client} ${size}`)], [[], []]);
    } finally {
      await running.stop();
      for (const client of clients) await client.close();
    }
  });
}
