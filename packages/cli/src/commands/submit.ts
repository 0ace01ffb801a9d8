// `yardmaster submit`: hands in tasks, one or a million, through any door.

import { createReadStream, statSync } from "node:fs";
import {
  Body,
  connect,
  inOrder,
  type SubmitOptions,
  TaskEndedError,
  type YardClient,
  YardError,
} from "@yardmaster/sdk";
import type { Command } from "commander";
import { count, counted, durationMs, span, wholeNumber } from "../amounts.js";
import {
  CommandFault,
  ending,
  type JsonOption,
  newCommand,
  print,
  printJson,
  UsageFault,
  using,
  warn,
  withJson,
  withToken,
} from "../command.js";
import { type LineSource, linesOf } from "../lines.js";
import { Progress } from "../progress.js";
import { printable } from "../terminal.js";

interface Flags extends JsonOption {
  readonly token?: string;
  readonly queue?: string;
  readonly file?: string;
  readonly whole?: boolean;
  readonly type?: string;
  readonly priority?: number;
  readonly delay?: number;
  readonly timeout?: number;
  readonly expires?: number;
  readonly attempts?: number;
  readonly failures?: number;
  readonly key?: string;
  readonly keyPrefix?: string;
  readonly wait?: boolean;
  readonly waitLimit?: number;
  readonly inFlight: number;
}

export function submitCommand(): Command {
  const command = newCommand("submit", "hand in tasks, one or a million", [
    { does: "one task", line: "yardmaster submit http://127.0.0.1:7420 --queue render 'frame 1'" },
    {
      does: "every line of a file; run again after an accident, each only once",
      line: "yardmaster submit http://127.0.0.1:7420 --queue render \\\n    --key-prefix monday - < frames.txt",
    },
    {
      does: "a file as one payload",
      line: "yardmaster submit http://127.0.0.1:7420 --queue ocr --whole --file scan.png",
    },
    {
      does: "and wait for the results, in order",
      line: "seq 5 | yardmaster submit http://127.0.0.1:7420 --queue squares --wait -",
    },
    { does: "through another door", line: "yardmaster submit pingpong://127.0.0.1:5562 'frame 1'" },
  ])
    .argument(
      "<url>",
      "where: http://host:7420, pingpong://host:5562 (its clients'\nport), udp://host:5555, …",
    )
    .argument("[payload...]", "one task each; - hands in each line of standard input")
    .option("-q, --queue <name>", "which queue, where the dialect has queues (http)")
    .option("-f, --file <file>", "hand in each line of a file")
    .option("--whole", "with - or --file: all of it is one payload")
    .option("--type <type>", "content type of the payloads (default: by what they are)")
    .option("--priority <number>", "higher goes first", wholeNumber(-(2 ** 31), 2 ** 31 - 1))
    .option("--delay <duration>", "not before so long", durationMs)
    .option("--timeout <duration>", "time limit of an attempt", durationMs)
    .option("--expires <duration>", "give up if no worker took it by then", durationMs)
    .option("--attempts <number>", "lost attempts until it fails", wholeNumber(1, 1_000_000))
    .option("--failures <number>", "reported failures until it fails", wholeNumber(1, 1_000_000))
    .option("--key <key>", "of one task: the same key again is the same task")
    .option("--key-prefix <prefix>", "of many: each has the key PREFIX:NUMBER")
    .option("-w, --wait", "wait for the outcomes, and print the results in order")
    .option("--wait-limit <duration>", "at most so long for each; goes with --wait", durationMs)
    .option("--in-flight <number>", "with --wait: tasks under way at once", wholeNumber(1, 10_000), 64);
  return withJson(withToken(command)).action(
    ending((url: string, payloads: readonly string[], flags: Flags) => submit(url, payloads, flags)),
  );
}

async function submit(url: string, payloads: readonly string[], flags: Flags): Promise<number> {
  const source = sourceOf(payloads, flags);
  return using(await connect(url, flags.token === undefined ? {} : { token: flags.token }), (client) => {
    // Where nobody acknowledges, only the result tells that it was taken.
    const waits = flags.wait || flags.waitLimit !== undefined || !client.acknowledges;
    return waits ? submitAndWait(client, source, flags) : submitAll(client, source, flags);
  });
}

interface Source {
  readonly items: AsyncIterable<Item> | Iterable<Item>;
  /** There is one, and no more. */
  readonly isSingle: boolean;
  /** How much of it has been read, from 0 to 1, where its size is known. */
  readonly share: (done: number) => number | undefined;
}

interface Item {
  readonly payload: Body | string;
  readonly key?: string;
}

function sourceOf(payloads: readonly string[], flags: Flags): Source {
  const { file, whole, key, keyPrefix, type } = flags;
  const isStream = payloads.length === 1 && payloads[0] === "-";
  if (file !== undefined && payloads.length > 0)
    throw new UsageFault("--file and a payload: give one of them");
  if (file === undefined && payloads.length === 0) {
    throw new UsageFault("nothing to hand in: give a payload, - for lines of standard input, or --file");
  }
  if (whole && file === undefined && !isStream) throw new UsageFault("--whole goes with - or --file");
  const isMany = file !== undefined || isStream ? !whole : payloads.length > 1;
  if (isMany && key !== undefined) throw new UsageFault("--key is for one task; many take --key-prefix");
  if (!isMany && keyPrefix !== undefined)
    throw new UsageFault("--key-prefix is for many tasks; one takes --key");
  const named = (payload: Item["payload"], index: number): Item => ({
    payload,
    ...(key === undefined ? {} : { key }),
    ...(keyPrefix === undefined ? {} : { key: `${keyPrefix}:${index + 1}` }),
  });
  if (file === undefined && !isStream) {
    return {
      items: payloads.map(named),
      isSingle: payloads.length === 1,
      share: (done) => done / payloads.length,
    };
  }
  const stream = file === undefined ? process.stdin : createReadStream(file, { highWaterMark: 262_144 });
  const bytesTotal = file === undefined ? undefined : sizeOf(file);
  if (whole) return { items: wholeOf(stream, type, named), isSingle: true, share: () => undefined };
  const source = linesOf(stream, file ?? "standard input");
  return {
    items: linesAsItems(source, type, named),
    isSingle: false,
    share: () => (bytesTotal === undefined || bytesTotal === 0 ? undefined : source.bytesRead() / bytesTotal),
  };
}

function sizeOf(file: string): number | undefined {
  try {
    const stat = statSync(file);
    if (stat.isDirectory()) throw new CommandFault(`${file}: is a folder; expected a file`);
    return stat.isFile() ? stat.size : undefined;
  } catch (cause) {
    if (cause instanceof CommandFault) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new CommandFault(`${file}: ${code === "ENOENT" ? "there is no such file" : message}`, { cause });
  }
}

const textType = "text/plain; charset=utf-8";

async function* linesAsItems(
  { lines }: LineSource,
  type: string | undefined,
  named: (payload: Body, index: number) => Item,
): AsyncGenerator<Item> {
  let index = 0;
  for await (const line of lines) {
    yield named(new Body(line, type ?? textType), index);
    index += 1;
  }
}

async function* wholeOf(
  stream: AsyncIterable<Buffer>,
  type: string | undefined,
  named: (payload: Body, index: number) => Item,
): AsyncGenerator<Item> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  yield named(new Body(Buffer.concat(pieces), type), 0);
}

function optionsOf(flags: Flags): SubmitOptions {
  const { queue, type, priority, delay, timeout, expires, attempts, failures } = flags;
  const options = {
    queue,
    contentType: type,
    priority,
    delayMs: delay,
    timeoutMs: timeout,
    expiresMs: expires,
    attempts,
    failures,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** So many mistakes are shown; a million lines may all have the same. */
const mistakesShown = 10;

class Mistakes {
  number = 0;
  readonly #progress: Progress;

  constructor(progress: Progress) {
    this.#progress = progress;
  }

  add(index: number, error: Error): void {
    this.number += 1;
    this.#progress.clear();
    if (this.number <= mistakesShown) warn(`task ${index + 1}: ${printable(error.message)}`);
    if (this.number === mistakesShown + 1) warn("… and more");
  }
}

async function submitAll(
  client: YardClient,
  { items, isSingle, share }: Source,
  flags: Flags,
): Promise<number> {
  const progress = new Progress("tasks", !isSingle);
  const mistakes = new Mistakes(progress);
  let accepted = 0;
  try {
    for await (const item of client.submitMany(items, optionsOf(flags))) {
      if (item.error !== undefined) {
        if (isSingle) throw item.error;
        mistakes.add(item.index, item.error);
        if (flags.json)
          printJson({ index: item.index, error: { code: item.error.code, message: item.error.message } });
        continue;
      }
      accepted += 1;
      if (flags.json) await written(`${JSON.stringify({ index: item.index, id: item.id })}\n`);
      else if (isSingle)
        print(`task ${item.id} is accepted${flags.queue === undefined ? "" : ` in queue ${flags.queue}`}`);
      progress.show(accepted, share(accepted));
    }
  } catch (fault) {
    progress.clear();
    if (fault instanceof YardError && fault.code === "unreachable" && !isSingle)
      throw halfway(fault, accepted, flags);
    throw fault;
  }
  progress.clear();
  if (!flags.json && !isSingle) {
    print(
      `${counted(accepted, "task")} accepted in ${span(progress.elapsedMs)} (${count((accepted / progress.elapsedMs) * 1000)}/s)`,
    );
  }
  if (mistakes.number > 0) warn(`${counted(mistakes.number, "task was", "tasks were")} refused`);
  return mistakes.number > 0 ? 1 : 0;
}

function halfway(fault: YardError, accepted: number, { keyPrefix }: Flags): CommandFault {
  const again =
    keyPrefix === undefined
      ? "Whether those under way were too is not known; with --key-prefix it could be run again safely."
      : "Run it again as it is: what was accepted is not accepted twice.";
  return new CommandFault(
    `${fault.message}\n${counted(accepted, "task was", "tasks were")} accepted before. ${again}`,
    {
      cause: fault,
    },
  );
}

async function submitAndWait(
  client: YardClient,
  { items, isSingle, share }: Source,
  flags: Flags,
): Promise<number> {
  const progress = new Progress("results", !isSingle);
  const mistakes = new Mistakes(progress);
  const waiting = flags.waitLimit === undefined ? {} : { waitMs: flags.waitLimit };
  const outcomes = inOrder(items, flags.inFlight, async ({ payload, ...item }, index) => {
    try {
      return { index, ...(await client.call(payload, { ...optionsOf(flags), ...item, ...waiting })) };
    } catch (error) {
      if (error instanceof YardError && isOutcome(error)) return { index, error };
      throw error;
    }
  });
  let done = 0;
  for await (const outcome of outcomes) {
    done += 1;
    if ("error" in outcome) {
      if (isSingle && !flags.json) throw outcome.error;
      mistakes.add(outcome.index, outcome.error);
      if (flags.json) printJson(failureJson(outcome.index, outcome.error));
    } else {
      progress.clear();
      if (flags.json) await written(`${JSON.stringify(resultJson(outcome))}\n`);
      else await written(outcome.body.bytes, outcome.body.bytes.at(-1) !== 0x0a);
    }
    progress.show(done, share(done));
  }
  progress.clear();
  return mistakes.number > 0 ? 1 : 0;
}

/** What is said of one task, and not of the dispatcher or of how it was asked. */
function isOutcome(error: YardError): boolean {
  return (
    error instanceof TaskEndedError ||
    ["still_open", "truncated", "too_large", "key_conflict"].includes(error.code)
  );
}

function failureJson(index: number, error: YardError) {
  const ended = error instanceof TaskEndedError ? { id: error.task, state: error.state } : {};
  return { index, ...ended, error: { code: error.code, message: error.message } };
}

function resultJson({ index, id, body }: { index: number; id: string; body: Body }) {
  const text = body.text();
  const isText = Buffer.from(text).equals(body.bytes);
  const result = isText ? { result: text } : { resultBase64: body.bytes.toString("base64") };
  return { index, id, state: "done", contentType: body.contentType, ...result };
}

/** Waits for room where the reader of our output is slow. */
async function written(text: string | Uint8Array, addsNewline = false): Promise<void> {
  const hasRoom = process.stdout.write(text);
  if (addsNewline) process.stdout.write("\n");
  if (!hasRoom) await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
}
