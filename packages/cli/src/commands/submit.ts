// `yardmaster submit`: submits one task or a million, through any door.

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
import { count, counted, durationMs, span, taskIds, wholeNumber } from "../amounts.js";
import {
  CommandFault,
  ending,
  type HttpFlags,
  httpCredentials,
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
import { ifListening } from "../listener.js";
import { Progress } from "../progress.js";
import { RoomRetries } from "../room-retries.js";
import { RoomWatch } from "../room-watch.js";
import { againWords, exitCodeOf, hearSignals } from "../signals.js";
import { printable } from "../terminal.js";
import { type CredentialFlags, credentialsFor, withCredentials } from "../zmq-credentials.js";
import { type Source, type SourceFlags, sourceOf } from "./submit-source.js";

interface Flags extends JsonOption, SourceFlags, CredentialFlags, HttpFlags {
  readonly url?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly delay?: number;
  readonly timeout?: number;
  readonly expires?: number;
  readonly attempts?: number;
  readonly failures?: number;
  readonly after?: readonly string[];
  readonly ifFailed?: "cancel" | "run";
  readonly group?: string;
  readonly wait?: boolean;
  readonly waitLimit?: number;
  readonly waitForRoom: number;
  readonly inFlight: number;
}

export function submitCommand(): Command {
  const command = newCommand("submit", "submit tasks, one or a million", [
    { does: "one task", line: "yardmaster submit http://127.0.0.1:7420 --queue render 'frame 1'" },
    {
      does: "every line of a file; safe to run again, each line is submitted once",
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
    {
      does: "start only after tasks 12 and 13 are done",
      line: "yardmaster submit http://127.0.0.1:7420 --queue film --after 12,13 'cut'",
    },
    { does: "through another door", line: "yardmaster submit pingpong://127.0.0.1:5562 'frame 1'" },
  ])
    .description(
      `Submits tasks, one or a million. If the first word is a URL, it names the
dispatcher: http://host:7420, pingpong://host:5562 (its clients' port),
udp://host:5555, … Each other word is the payload of one task; - stands for the
lines of standard input. If the first payload is itself a URL, name the
dispatcher with --url.

When the queue is full, the command waits for room, and gives up after
--wait-for-room. Ctrl-C stops it and prints how many tasks were accepted.`,
    )
    .usage("[url] [options] [payload...]")
    .argument("[url]", "the dispatcher's URL")
    .argument("[payload...]", "the payloads: one task each")
    .option("-q, --queue <name>", "the queue, for dialects with queues (http)")
    .option("-f, --file <file>", "submit each line of a file")
    .option("--whole", "with - or --file: submit the whole input as one payload")
    .option("--type <type>", "content type of the payloads (default: by their content)")
    .option("--priority <number>", "higher goes first", wholeNumber(-(2 ** 31), 2 ** 31 - 1))
    .option("--delay <duration>", "start no sooner than this", durationMs)
    .option("--timeout <duration>", "time limit of an attempt", durationMs)
    .option("--expires <duration>", "expire if no worker has taken it by then", durationMs)
    .option("--attempts <number>", "lost attempts after which it fails", wholeNumber(1, 1_000_000))
    .option("--failures <number>", "reported failures after which it fails", wholeNumber(1, 1_000_000))
    .option("--after <ids>", "start only when these tasks have ended: 12,13", taskIds)
    .addOption(
      new Option(
        "--if-failed <what>",
        "with --after: what to do if one of those tasks fails, expires or is cancelled",
      ).choices(["cancel", "run"]),
    )
    .option("--group <key>", "groups of one queue take turns")
    .option("--key <key>", "key of one task: the same key again is the same task")
    .option("--key-prefix <prefix>", "keys of many tasks: PREFIX:NUMBER")
    .addOption(
      new Option("--wait-for-room <duration>", "give up when a full queue accepts nothing for this long")
        .argParser(durationMs)
        .default(60_000, "1m"),
    )
    .option("-w, --wait", "wait for the outcomes, and print the results in order")
    .option("--wait-limit <duration>", "maximum wait for each result; goes with --wait", durationMs)
    .option("--in-flight <number>", "with --wait: unfinished tasks at once", wholeNumber(1, 10_000), 64);
  return withJson(withCredentials(withToken(withAddress(command)))).action(
    // Without a URL the first payload is where the URL would be.
    ending((_url: string | undefined, _payloads: readonly string[], flags: Flags, self: Command) =>
      submit(self.args, flags),
    ),
  );
}

async function submit(given: readonly string[], flags: Flags): Promise<number> {
  const { url, words: payloads } = addressed(
    given,
    flags.url,
    "\nIf it is a payload, say where the dispatcher is with --url.",
  );
  const source = sourceOf(payloads, flags);
  const options = {
    ...credentialsFor(url, flags),
    ...httpCredentials(flags),
  };
  return using(await connect(url, options), (client) => {
    // In a dialect without acknowledgements, only the result shows that a task was accepted.
    const waits = flags.wait || flags.waitLimit !== undefined || !client.acknowledges;
    const submit = waits ? submitAndWait : submitAll;
    return ifListening(client, submit(client, source, flags));
  });
}

function optionsOf(flags: Flags): SubmitOptions {
  const { queue, type, priority, delay, timeout, expires, attempts, failures } = flags;
  const { after, ifFailed, group } = flags;
  const options = {
    queue,
    contentType: type,
    priority,
    delayMs: delay,
    timeoutMs: timeout,
    expiresMs: expires,
    attempts,
    failures,
    after,
    ifFailed,
    group,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Maximum number of mistakes shown: a million lines may all have the same one. */
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
  const interruption = new Interruption(progress, (isAnswered) => unfinished(accepted, flags, isAnswered));
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
  if (interruption.cause) return interruption.end(true);
  if (unplaced > 0) throw noRoom(accepted, flags, true);
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

function noRoom(accepted: number, flags: Flags, isAnswered: boolean): CommandFault {
  const { queue, waitForRoom } = flags;
  const full = queue === undefined ? "the queue is full" : `queue ${queue} is full`;
  return new CommandFault(
    `${full}: it accepted nothing for ${span(waitForRoom)} (--wait-for-room).\n${unfinished(accepted, flags, isAnswered)}`,
  );
}

/** Says how many were accepted, and how to continue. `isAnswered`: no request is open. */
function unfinished(accepted: number, { keyPrefix }: Flags, isAnswered = false): string {
  const number = counted(accepted, "task was", "tasks were");
  if (keyPrefix !== undefined)
    return `${number} accepted before. Run it again unchanged: no task is accepted twice.`;
  if (isAnswered) return `${number} accepted before, and no others.`;
  return `${number} accepted before. It is not known whether the tasks of open requests were accepted. With --key-prefix, the command can be run again safely.`;
}

/**
 * Ctrl-C: waits for the answers of open requests unless it comes again, then says how many were
 * accepted.
 */
class Interruption {
  /** The received signal, if any. */
  cause: NodeJS.Signals | undefined;
  readonly #stop = new AbortController();
  readonly #progress: Progress;
  readonly #words: (isAnswered: boolean) => string;

  constructor(progress: Progress, words: (isAnswered: boolean) => string) {
    this.#progress = progress;
    this.#words = words;
    const { first, second } = hearSignals();
    void first.then((signal) => {
      this.cause = signal;
      this.#stop.abort();
      const ask = () => warn(`waiting for open requests; ${againWords(signal)} to stop at once`);
      setTimeout(ask, slowMs).unref();
    });
    void second.then(() => process.exit(this.end()));
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Returns the exit code. `isAnswered`: no request is open. */
  end(isAnswered = false): number {
    this.#progress.clear();
    warn(`yardmaster submit: interrupted. ${this.#words(isAnswered)}`);
    return exitCodeOf(this.cause ?? "SIGINT");
  }
}

/** Open requests usually end within this time, and then nothing is said. */
const slowMs = 1_000;

async function submitAndWait(
  client: YardClient,
  { items, isSingle, share }: Source,
  flags: Flags,
): Promise<number> {
  const progress = new Progress("results", !isSingle);
  const mistakes = new Mistakes(progress);
  const waiting = flags.waitLimit === undefined ? {} : { waitMs: flags.waitLimit };
  let done = 0;
  const room = new RoomRetries(flags);
  const outcomes = inOrder(items, flags.inFlight, async ({ payload, ...item }, index) => {
    const call = () => client.call(payload, { ...optionsOf(flags), ...item, ...waiting });
    try {
      return { index, ...(await room.tried(call)) };
    } catch (error) {
      if (error instanceof YardError && isOutcome(error)) return { index, error };
      throw error;
    }
  });
  const interruption = new Interruption(
    progress,
    () => `${counted(done, "result")} came before. Tasks that were accepted go on.`,
  );
  const ended = AbortSignal.any([interruption.signal, room.gaveUp]);
  for await (const outcome of untilAborted(outcomes, ended)) {
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
  if (room.gaveUp.aborted) throw noRoom(room.accepted, flags, false);
  return mistakes.number > 0 ? 1 : 0;
}

/** True if the error is about one task rather than the dispatcher or the request. */
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

/** Waits when the reader of our output is slow. */
async function written(text: string | Uint8Array, addsNewline = false): Promise<void> {
  const hasRoom = process.stdout.write(text);
  if (addsNewline) process.stdout.write("\n");
  if (!hasRoom) await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
}
