// After an unclean shutdown, checks every record of the file while the engine already works: in a
// child process with the lowest priority. The file's structure was checked before it was opened
// (file-account.ts).

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

export type CheckReport =
  | { readonly type: "damaged"; readonly what: string }
  /** Every record was checked. */
  | { readonly type: "done"; readonly records: number };

export interface RecordCheck {
  /** Ends the check early. */
  stop(): void;
  /** Resolves when the check is complete or was stopped. */
  readonly ended: Promise<void>;
}

export function checkRecords(path: string, onDamage: (what: string) => void): RecordCheck {
  const child = fork(fileURLToPath(new URL("./record-check-child.js", import.meta.url)), [path], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    execArgv: [],
  });
  const stop = () => {
    // The caller waits for its end.
    child.ref();
    child.kill("SIGKILL");
  };
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("exit", (code, signal) => {
      if (code !== 0 && signal !== "SIGKILL") onDamage(`${path}: reading it ended with ${signal ?? code}`);
      resolve();
    });
  });
  child.on("message", (report: CheckReport) => {
    if (report.type === "damaged") onDamage(report.what);
  });
  // A running check must not keep the process alive.
  child.unref();
  child.channel?.unref();
  return { stop, ended };
}
