// Programs that are not ours and may not be there. A test that needs one skips with a line that says so, or fails where
// YARD_REQUIRE_INTEROP=1 says that it must be there.

import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { Waiting } from "./waiting.js";

const isRequired = process.env.YARD_REQUIRE_INTEROP === "1";

function findPyzmq(): string | undefined {
  return ["python3", "/usr/bin/python3"].find(
    (python) => spawnSync(python, ["-c", "import zmq"]).status === 0,
  );
}

export const python = findPyzmq();

/** For test's `skip`: false to run, or why not. */
export const withoutPyzmq: string | false =
  python !== undefined || isRequired ? false : "skipped: no python3 with pyzmq on this machine";

export interface PythonPeer {
  /** The next line it prints. */
  line(): Promise<string>;
  write(input: string): void;
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

export function startPython(script: string, ...args: string[]): PythonPeer {
  if (python === undefined) throw new Error("YARD_REQUIRE_INTEROP=1, and there is no python3 with pyzmq");
  const child: ChildProcessWithoutNullStreams = spawn(python, ["-u", "-c", script, ...args]);
  const lines = new Waiting<string>();
  const reader: Interface = createInterface({ input: child.stdout });
  reader.on("line", lines.put);
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
