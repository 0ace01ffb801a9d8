// `yardmaster submit`: hands in tasks, one or a million, through any door.

import {
  type Body,
  connect,
  inOrder,
  type SubmitOptions,
  TaskEndedError,
  untilAborted,
  type YardClient,
  YardError,
} from "@yardmaster/sdk";
import { type Command, Option } from "commander";
import { count, counted, durationMs, span, wholeNumber } from "../amounts.js";
import {
  CommandFault,
  ending,
  type JsonOption,
  newCommand,
  print,
  printJson,
  using,
  warn,
  withJson,
  withToken,
} from "../command.js";
import { addressed, withAddress } from "../dispatcher-address.js";
import { Progress } from "../progress.js";
import { RoomWatch } from "../room-watch.js";
import { againWords, exitCodeOf, hearSignals } from "../signals.js";
import { printable } from "../terminal.js";
import { type Source, type SourceFlags, sourceOf } from "./submit-source.js";

interface Flags extends JsonOption, SourceFlags {
  readonly url?: string;
  readonly token?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly delay?: number;
  readonly timeout?: number;
  readonly expires?: number;
  readonly attempts?: number;
  readonly failures?: number;
  readonly wait?: boolean;
  readonly waitLimit?: number;
  readonly waitForRoom: number;
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
    .description(
      `Submits tasks, one or a million. The first word is the dispatcher if it is a URL:
http://host:7420, pingpong://host:5562 (its clients' port), udp://host:5555, …
Other words are payloads, one task each; - stands for the lines of standard
input. A first payload that is a URL itself needs --url.

A full queue holds it back: it says so, and gives up after --wait-for-room.
Ctrl-C ends it in order, and it says how many tasks were accepted.`,
    )
    .usage("[url] [options] [payload...]")
    .argument("[word...]", "the dispatcher's URL, and payloads: one task each")
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
    .addOption(
      new Option("--wait-for-room <duration>", "how long a full queue may accept nothing")
        .argParser(durationMs)
        .default(60_000, "1m"),
    )
    .option("-w, --wait", "wait for the outcomes, and print the results in order")
    .option("--wait-limit <duration>", "at most so long for each; goes with --wait", durationMs)
    .option("--in-flight <number>", "with --wait: tasks under way at once", wholeNumber(1, 10_000), 64);
  return withJson(withToken(withAddress(command))).action(
    ending((words: readonly string[], flags: Flags) => submit(words, flags)),
  );
}

async function submit(given: readonly string[], flags: Flags): Promise<number> {
  const { url, words: payloads } = addressed(
    given,
    flags.url,
    "\nIf it is a payload, say where the dispatcher is with --url.",
  );
  const source = sourceOf(payloads, flags);
  return using(await connect(url, flags.token === undefined ? {} : { token: flags.token }), (client) => {
    // Where nobody acknowledges, only the result tells that it was taken.
    const waits = flags.wait || flags.waitLimit !== undefined || !client.acknowledges;
    return waits ? submitAndWait(client, source, flags) : submitAll(client, source, flags);
  });
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
  const room = new RoomWatch(new Progress("tasks"), flags.waitForRoom);
  let accepted = 0;
  let unplaced = 0;
  const interruption = new Interruption(progress, () => unfinished(accepted, flags));
  const options = {
    ...optionsOf(flags),
    stop: interruption.signal,
    roomWaitMs: flags.waitForRoom,
    onAnswered: room.answered.bind(room),
  };
  try {
    for await (const item of client.submitMany(items, options)) {
      if (item.error !== undefined) {
        if (flags.json) printJson({ index: item.index, error: codeAndMessage(item.error) });
        if (item.error.code === "queue_full") {
          unplaced += 1;
          continue;
        }
        if (isSingle) throw item.error;
        mistakes.add(item.index, item.error);
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
      throw new CommandFault(`${fault.message}\n${unfinished(accepted, flags)}`, { cause: fault });
    throw fault;
  } finally {
    room.close();
    progress.clear();
  }
  if (interruption.cause) return interruption.end();
  if (unplaced > 0) throw noRoom(accepted, flags);
  if (!flags.json && !isSingle) {
    print(
      `${counted(accepted, "task")} accepted in ${span(progress.elapsedMs)} (${count((accepted / progress.elapsedMs) * 1000)}/s)`,
    );
  }
  if (mistakes.number > 0) warn(`${counted(mistakes.number, "task was", "tasks were")} refused`);
  return mistakes.number > 0 ? 1 : 0;
}

function codeAndMessage({ code, message }: YardError) {
  return { code, message };
}

function noRoom(accepted: number, flags: Flags): CommandFault {
  const { queue, waitForRoom } = flags;
  const full = queue === undefined ? "the queue is full" : `queue ${queue} is full`;
  return new CommandFault(
    `${full}: it accepted nothing for ${span(waitForRoom)} (--wait-for-room).\n${unfinished(accepted, flags)}`,
  );
}

/** How far it came, and how to go on. */
function unfinished(accepted: number, { keyPrefix }: Flags): string {
  const again =
    keyPrefix === undefined
      ? "Whether those under way were too is not known; with --key-prefix it could be run again safely."
      : "Run it again as it is: what was accepted is not accepted twice.";
  return `${counted(accepted, "task was", "tasks were")} accepted before. ${again}`;
}

/** Ctrl-C: what is under way is still answered, for as long as nobody asks again; then it says how far it came. */
class Interruption {
  /** The signal that came, if one did. */
  cause: NodeJS.Signals | undefined;
  readonly #stop = new AbortController();
  readonly #progress: Progress;
  readonly #words: () => string;

  constructor(progress: Progress, words: () => string) {
    this.#progress = progress;
    this.#words = words;
    const { first, second } = hearSignals();
    void first.then((signal) => {
      this.cause = signal;
      this.#stop.abort();
      const ask = () => warn(`waiting for what is under way; ${againWords(signal)} to stop at once`);
      setTimeout(ask, slowMs).unref();
    });
    void second.then(() => process.exit(this.end()));
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The exit code. */
  end(): number {
    this.#progress.clear();
    warn(`yardmaster submit: interrupted. ${this.#words()}`);
    return exitCodeOf(this.cause ?? "SIGINT");
  }
}

/** What is under way usually ends within this, so nothing need be said of it. */
const slowMs = 1_000;

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
  const interruption = new Interruption(
    progress,
    () => `${counted(done, "result")} came before. Tasks that were accepted go on.`,
  );
  for await (const outcome of untilAborted(outcomes, interruption.signal)) {
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
  if (interruption.cause) return interruption.end();
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
