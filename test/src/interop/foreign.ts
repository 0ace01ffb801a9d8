// Programs of others as peers in tests. If one is not installed, its test is skipped with the
// reason. With YARD_REQUIRE_INTEROP=1 a skip is a failure, so that CI cannot silently lose these
// tests.

import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { Inbox } from "./inbox.js";

/** For the `skip` option of tests: why a test that needs this program cannot run here, or false. */
export function skipReason(program: string, args: readonly string[]): string | false {
  return runs(program, args) ? false : missing([program, ...args].join(" "));
}

const pythons = ["python3", "/usr/bin/python3"];
const withZmq = pythons.find((program) => runs(program, ["-c", "import zmq"]));
const python = withZmq ?? pythons.find((program) => runs(program, ["-c", "import json, socket, struct"]));

/** The same for a Python with pyzmq. */
export const withoutPyzmq: string | false = withZmq === undefined ? missing("python3 with pyzmq") : false;

/** The same if that Python also needs this module. */
export function withoutModule(module: string): string | false {
  if (python !== undefined && runs(python, ["-c", `import ${module}`])) return false;
  return missing(`python3 with ${module}`);
}

function runs(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

function missing(what: string): string {
  const reason = `${what} does not run here`;
  if (process.env.YARD_REQUIRE_INTEROP === "1") throw new Error(`YARD_REQUIRE_INTEROP is set, but ${reason}`);
  return reason;
}

export interface PythonPeer {
  /** The next line it prints. */
  line(): Promise<string>;
  write(input: string): void;
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

export function startPython(script: string, ...args: string[]): PythonPeer {
  if (python === undefined) throw new Error("a test that needs Python is to be skipped without it");
  const child: ChildProcessWithoutNullStreams = spawn(python, ["-u", "-c", script, ...args]);
  const lines = new Inbox<string>();
  createInterface({ input: child.stdout }).on("line", lines.put);
  child.stderr.pipe(process.stderr);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    line: () => lines.next(),
    write: (input) => void child.stdin.write(input),
    signal: (signal) => void child.kill(signal),
    stop: () => {
      child.kill("SIGKILL");
      return ended;
    },
  };
}
