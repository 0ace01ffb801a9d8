// Looks at every record of a file that was not closed in order, while the engine works already: in a child, at the lowest
// priority. That the file's structure is whole was seen before it was opened (file-account.ts).

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

export type CheckReport =
  | { readonly type: "damaged"; readonly what: string }
  /** Every record was looked at. */
  | { readonly type: "done"; readonly records: number };

export interface RecordCheck {
  /** Ends what is left of it. */
  stop(): void;
  /** When all records were looked at, or it was ended. */
  readonly ended: Promise<void>;
}

export function checkRecords(path: string, onDamage: (what: string) => void): RecordCheck {
  const child = fork(fileURLToPath(new URL("./record-check-child.js", import.meta.url)), [path], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    execArgv: [],
  });
  const stop = () => {
    // Its end is waited for.
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
  // What is left of the check keeps nobody from ending.
  child.unref();
  child.channel?.unref();
  return { stop, ended };
}
