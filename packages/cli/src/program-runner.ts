// Runs a program for one task, in its own process group, so that all its children can be ended with
// it.

import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";
import { Body, InterruptedError, type WorkContext, YardError } from "@yardmaster/sdk";
import { reportLines } from "./report-lines.js";

export interface ProgramRun {
  readonly context: WorkContext;
  readonly timeoutMs?: number;
  readonly killAfterMs: number;
  /** True if this process was told to stop, or is told within a moment. */
  readonly isStopping: () => Promise<boolean>;
  /** Media type of the result; by default text if it is text. */
  readonly contentType?: string;
}

/** The default maximum size of a result. */
const outputBytesMax = 268_435_456;
/** How much of standard error is kept, as a failure's detail. */
const errorBytesKept = 16_384;
/** How much of that is its message; a task keeps 1,024 characters of one. */
const messageLengthMax = 900;

/** Finds the program as a shell would. */
export function findProgram(name: string): string | undefined {
  if (name.includes("/")) return isProgram(name) ? name : undefined;
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Resolves with its output. Rejects when it failed, was ended, or wrote too much. */
export async function runProgram(
  path: string,
  args: readonly string[],
  payload: Body,
  { context, timeoutMs, killAfterMs, isStopping, contentType }: ProgramRun,
): Promise<Body> {
  context.signal.throwIfAborted();
  const child = spawn(path, args, {
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    env: environment(payload, context),
  });
  reportLines(child.stdio[3] as Readable, context, (words) =>
    process.stderr.write(`yardmaster work: task ${context.task}: ${words}\n`),
  );
  const group = new ProcessGroup(child, killAfterMs);
  const interrupt = () => group.end(context.signal.reason as Error);
  context.signal.addEventListener("abort", interrupt, { once: true });
  const limit =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => group.end(new InterruptedError("time_limit")), timeoutMs);
  try {
    const { output, complaint, code, signal } = await outcomeOf(child, group, payload);
    if (group.endedFor) throw group.endedFor;
    if (isStopSignal(signal) && (await isStopping())) throw new InterruptedError("stopping");
    if (code !== 0) throw failure(code, signal, complaint);
    return new Body(output, contentType ?? typeOf(output));
  } finally {
    clearTimeout(limit);
    context.signal.removeEventListener("abort", interrupt);
  }
}

function environment(payload: Body, { task, attempt, queue, dialect }: WorkContext): NodeJS.ProcessEnv {
  const { YARD_TOKEN: _, ...env } = process.env;
  const known = {
    YARD_TASK: task,
    YARD_ATTEMPT: attempt,
    YARD_QUEUE: queue,
    YARD_DIALECT: dialect,
    YARD_CONTENT_TYPE: payload.contentType,
  };
  for (const [name, value] of Object.entries(known)) if (value !== undefined) env[name] = value;
  return env;
}

interface Ended {
  readonly output: Buffer;
  readonly complaint: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

function outcomeOf(child: ChildProcess, group: ProcessGroup, payload: Body): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const output: Buffer[] = [];
    let bytes = 0;
    let complaint = Buffer.alloc(0);
    child.stdout?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > outputBytesMax) group.end(tooMuch());
      else output.push(chunk);
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      process.stderr.write(chunk);
      complaint = Buffer.concat([complaint, chunk]).subarray(-errorBytesKept);
    });
    // A program need not read its input.
    child.stdin?.on("error", () => {});
    child.stdin?.end(payload.bytes);
    child.once("error", (cause) =>
      reject(new YardError("not_started", `it could not be started: ${cause.message}`)),
    );
    child.once("exit", () => group.leaderEnded());
    child.once("close", (code, signal) => {
      resolve({ output: Buffer.concat(output), complaint: complaint.toString("utf8").trim(), code, signal });
    });
  });
}

/**
 * True for a stop signal that we did not send. A supervisor signals all processes of a service, and
 * the terminal's Ctrl-C reaches a child that is forked and not in its own process group yet. In
 * both cases the program did not fail.
 */
function isStopSignal(signal: NodeJS.Signals | null): boolean {
  return signal === "SIGINT" || signal === "SIGTERM";
}

function tooMuch(): YardError {
  return new YardError("output_too_large", `it printed over ${outputBytesMax} bytes`);
}

function failure(code: number | null, signal: NodeJS.Signals | null, complaint: string): YardError {
  const how = signal === null ? `exit code ${code}` : `ended by ${signal}`;
  // The end of the output says most.
  const message = complaint.length <= messageLengthMax ? complaint : `…${complaint.slice(-messageLengthMax)}`;
  const error = new YardError(
    signal === null ? `exit_${code}` : `signal_${signal}`,
    message === "" ? how : `${how}: ${message}`,
  );
  return complaint === message ? error : Object.assign(error, { detail: complaint });
}

function typeOf(output: Buffer): string {
  const isText = Buffer.from(output.toString("utf8")).equals(output) && !output.includes(0);
  return isText ? "text/plain; charset=utf-8" : "application/octet-stream";
}

class ProcessGroup {
  /** Why it was ended, if it was. */
  endedFor: Error | undefined;
  readonly #child: ChildProcess;
  readonly #killAfterMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(child: ChildProcess, killAfterMs: number) {
    this.#child = child;
    this.#killAfterMs = killAfterMs;
  }

  end(reason: Error): void {
    if (this.endedFor) return;
    this.endedFor = reason;
    this.#signal("SIGTERM");
    this.#timer = setTimeout(() => this.#signal("SIGKILL"), this.#killAfterMs);
  }

  /** Its remaining children would keep its output open and run on unnoticed. */
  leaderEnded(): void {
    clearTimeout(this.#timer);
    this.#signal("SIGKILL");
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch (fault) {
      // The group is gone or, on macOS, gone and not yet waited for.
      if (!["ESRCH", "EPERM"].includes((fault as NodeJS.ErrnoException).code ?? "")) throw fault;
    }
  }
}
