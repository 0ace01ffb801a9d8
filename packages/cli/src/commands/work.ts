// `yardmaster work URL -- command…`: makes any program a worker. The payload is its standard input,
// the result its standard output, and its exit code decides.

import { type Body, InterruptedError, type RunningWorker, type WorkContext, work } from "@yardmaster/sdk";
import { type Command, Option } from "commander";
import { counted, size, span, timerMs, wholeNumber } from "../amounts.js";
import {
  CommandFault,
  ending,
  type HttpFlags,
  httpCredentials,
  newCommand,
  print,
  printJson,
  UsageFault,
  warn,
  withJson,
  withToken,
} from "../command.js";
import { addressed, withAddress } from "../dispatcher-address.js";
import { endOutputWith } from "../output.js";
import { findProgram, runProgram } from "../program-runner.js";
import { againWords, hearSignals, type Signals } from "../signals.js";
import { paint, printable } from "../terminal.js";
import { type CredentialFlags, credentialsFor, withCredentials } from "../zmq-credentials.js";

interface Flags extends CredentialFlags, HttpFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly queue?: string;
  readonly concurrency: number;
  readonly name?: string;
  readonly lease: number;
  readonly timeout?: number;
  readonly killAfter: number;
  readonly grace: number;
  readonly idle?: number;
  readonly type?: string;
  readonly quiet?: boolean;
}

export function workCommand(): Command {
  const command = newCommand("work", "make any program a worker", [
    {
      does: "squares, two at a time",
      line: "yardmaster work http://127.0.0.1:7420 --queue squares --concurrency 2 \\\n    -- sh -c 'read n; echo $((n * n))'",
    },
    {
      does: "at most a minute each; processes that a command started end with it",
      line: "yardmaster work http://127.0.0.1:7420 --queue render --timeout 1m -- ./render",
    },
    { does: "through another door", line: "yardmaster work pingpong://127.0.0.1:5563 -- tr a-z A-Z" },
  ])
    .description(
      `Makes any program a worker. The command runs once for each task: the payload is
its standard input, and what it prints is the result. Exit code 0 means done;
any other fails the attempt, with the end of standard error as the message.
YARD_TASK, YARD_ATTEMPT, YARD_QUEUE, YARD_DIALECT and YARD_CONTENT_TYPE are set
where they are known. A line that the command writes to file descriptor 3 is
its progress: a number from 0 to 1, a message, both, or JSON.

When a task is cancelled or lost, its command is ended with its whole process
group. The first SIGTERM or SIGINT lets running commands finish; a second one
ends them and gives their tasks back. While the dispatcher is away, the worker
keeps trying to connect; if it stops without a connection, the exit code is 1.

The URL names the door: http://host:7420, pingpong://host:5563 (its workers'
port), udp://host:5555, pulse:/run/controller, …`,
    )
    .usage("[url] [options] -- <command...>")
    .argument("[url]", "the dispatcher's URL")
    .argument("[command...]", "after --: the command to run for each task, and its arguments")
    .option("-q, --queue <names>", "the queue, or several, separated by commas (http)")
    .option("-c, --concurrency <number>", "number of commands to run at once", wholeNumber(1, 1000), 1)
    .option("--name <name>", "the worker's name, for dialects that have names")
    .addOption(
      duration("--lease <duration>", "a task is lost after this time without a beat (http)", 30_000, "30s"),
    )
    .option("--timeout <duration>", "time limit of a command; then the attempt fails", timerMs)
    .addOption(duration("--kill-after <duration>", "time between SIGTERM and SIGKILL", 5_000, "5s"))
    .addOption(
      duration("--grace <duration>", "how long running commands may go on after SIGTERM", 10_000, "10s"),
    )
    .option("--idle <duration>", "stop after this time without a task", timerMs)
    .option("--type <type>", "content type of the results (default: text or bytes)")
    .option("--quiet", "do not print tasks that are done");
  return withJson(
    withCredentials(withToken(withAddress(command))),
    "print one JSON object for each attempt",
  ).action(
    ending((_url: string | undefined, _command: readonly string[], flags: Flags, self: Command) => {
      // Without a URL the first word of the command is where the URL would be.
      const words = self.args;
      const given = (self.parent as Command & { readonly rawArgs: readonly string[] }).rawArgs;
      const command = given.slice(given.indexOf("--") + 1);
      return workFor(words.slice(0, words.length - command.length), command, flags);
    }),
  );
}

function duration(flags: string, description: string, ms: number, shown: string): Option {
  return new Option(flags, description).argParser(timerMs).default(ms, shown);
}

async function workFor(
  words: readonly string[],
  [program, ...args]: readonly string[],
  flags: Flags,
): Promise<number> {
  const { url, words: others } = addressed(words, flags.url);
  if (others[0] !== undefined)
    throw new UsageFault(`${JSON.stringify(others[0])} is not a URL; what to run comes after --`);
  if (program === undefined) throw new UsageFault("missing required argument 'command': it comes after --");
  const path = findProgram(program);
  if (path === undefined) {
    throw new UsageFault(`there is no program ${JSON.stringify(program)} that can be run; is it in PATH?`);
  }
  const signals = hearSignals();
  const ledger = new Ledger(flags);
  const starting = work(
    url,
    {
      concurrency: flags.concurrency,
      leaseMs: flags.lease,
      ...queuesIn(flags.queue),
      ...(flags.name === undefined ? {} : { name: flags.name }),
      ...httpCredentials(flags),
      ...credentialsFor(url, flags),
      onContact: (isThere) => ledger.contact(isThere),
      onError: (error) => ledger.trouble(error),
    },
    (payload, context) =>
      ledger.keep(context, () =>
        runProgram(path, args, payload, {
          context,
          killAfterMs: flags.killAfter,
          isStopping: signals.hasCome,
          ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
          ...(flags.type === undefined ? {} : { contentType: flags.type }),
        }),
      ),
  );
  const idle = new Promise<void>((resolve) => ledger.whenIdle(resolve));
  // Workers of some dialects start only when a dispatcher is there.
  const worker = await Promise.race([starting, idle, signals.first]);
  if (typeof worker !== "object") throw nobody(url);
  void idle.then(() => worker.stop());
  stopOnSignals(worker, signals, ledger, flags.grace);
  let code = 0;
  endOutputWith((lostCode, why) => {
    code = lostCode;
    ledger.finishing(why, flags.grace);
    void worker.stop({ graceMs: flags.grace });
  });
  await worker.ended;
  if (!ledger.isInContact) throw nobody(url);
  return code;
}

function queuesIn(written: string | undefined) {
  if (written === undefined) return {};
  const queues = written.split(",");
  return queues.length === 1 ? { queue: written } : { queues };
}

function nobody(url: string): CommandFault {
  return new CommandFault(`no dispatcher answered at ${url}`);
}

function stopOnSignals(worker: RunningWorker, signals: Signals, ledger: Ledger, graceMs: number): void {
  void signals.first.then((signal) => {
    ledger.stopping(signal, graceMs);
    void worker.stop({ graceMs });
  });
  void signals.second.then(() => {
    warn("yardmaster work: stopping at once");
    void worker.stop({ graceMs: 0 });
  });
}

/** How long `work --idle` waits for the first sign of a dispatcher, at least. */
const firstContactMs = 5_000;

/** Reports finished tasks as they come, and detects idleness. */
class Ledger {
  readonly #flags: Flags;
  #running = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #onIdle: () => void = () => {};
  #lastTrouble = "";
  #isInContact = false;
  /** False until the dispatcher has answered, or is known to be away. */
  #hasNews = false;

  constructor(flags: Flags) {
    this.#flags = flags;
  }

  /** True if the dispatcher answered the last request. */
  get isInContact(): boolean {
    return this.#isInContact;
  }

  contact(isThere: boolean): void {
    // Only news starts the idle time again. Otherwise failures would make it wait for a lost
    // dispatcher, and the answered pulses of an idle worker would keep it going.
    const isNews = !this.#hasNews || (isThere && !this.#isInContact);
    this.#isInContact = isThere;
    this.#hasNews = true;
    if (isNews) this.#watchIdle();
  }

  stopping(signal: NodeJS.Signals, graceMs: number): void {
    const tasks = counted(this.#running, "task");
    const words = `finishing ${tasks}, for ${span(graceMs)} at most; ${againWords(signal)} to stop at once`;
    warn(`yardmaster work: ${this.#running === 0 ? "stopping" : words}`);
  }

  finishing(why: string, graceMs: number): void {
    const tasks = counted(this.#running, "task");
    warn(`yardmaster work: ${why}; finishing ${tasks}, for ${span(graceMs)} at most`);
  }

  whenIdle(act: () => void): void {
    this.#onIdle = act;
    this.#watchIdle();
  }

  async keep(context: WorkContext, run: () => Promise<Body>): Promise<Body> {
    const startedAt = performance.now();
    this.#running += 1;
    clearTimeout(this.#idleTimer);
    try {
      const result = await run();
      this.#tell(context, performance.now() - startedAt, result);
      return result;
    } catch (fault) {
      this.#tell(context, performance.now() - startedAt, fault as Error);
      throw fault;
    } finally {
      this.#running -= 1;
      this.#watchIdle();
    }
  }

  /** An unreachable dispatcher is reported once rather than at every retry. */
  trouble(error: unknown): void {
    const words = error instanceof Error ? error.message : String(error);
    if (words === this.#lastTrouble || this.#isToldAlready(error)) return;
    this.#lastTrouble = words;
    warn(`yardmaster work: ${printable(words)}`);
  }

  readonly #told = new WeakSet<object>();

  #isToldAlready(error: unknown): boolean {
    return typeof error === "object" && error !== null && this.#told.has(error);
  }

  #watchIdle(): void {
    clearTimeout(this.#idleTimer);
    if (this.#flags.idle === undefined || this.#running > 0) return;
    // A connection takes its time on a busy machine, and an idle time may be short.
    const ms = this.#hasNews ? this.#flags.idle : Math.max(this.#flags.idle, firstContactMs);
    this.#idleTimer = setTimeout(this.#onIdle, ms);
  }

  #tell({ task, attempt }: WorkContext, ms: number, outcome: Body | Error): void {
    this.#lastTrouble = "";
    const isDone = !(outcome instanceof Error);
    const isReturned = outcome instanceof InterruptedError && outcome.code === "stopping";
    if (!isDone) this.#told.add(outcome);
    if (this.#flags.json) {
      const { code = "failed" } = outcome as { code?: string };
      printJson({
        task,
        attempt,
        state: isDone ? "done" : isReturned ? "returned" : "failed",
        ms: Math.round(ms),
        ...(isDone ? { resultBytes: outcome.bytes.length } : { error: { code, message: outcome.message } }),
      });
      return;
    }
    const name = task === undefined ? "a task" : `task ${printable(task)}`;
    if (isDone && !this.#flags.quiet)
      print(`${name} ${paint("green", "done")} in ${span(ms)}, ${size(outcome.bytes.length)}`);
    if (isReturned) print(`${name} ${paint("yellow", "given back")} after ${span(ms)}`);
    else if (!isDone)
      print(`${name} ${paint("red", "failed")} after ${span(ms)}: ${printable(outcome.message)}`);
  }
}
