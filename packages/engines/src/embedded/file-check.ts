// Looks at a file that was not closed in order before anybody relies on it. LMDB follows what stands in its pages, and a
// bad one can take the process down: so this is done in a child, first every page of every tree, then, while the engine
// works already, the CRC of every record.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { StoreFault } from "./store-faults.js";

export type CheckReport =
  /** Every tree could be walked. */
  | { readonly type: "walked" }
  | { readonly type: "damaged"; readonly what: string }
  /** Every record was looked at. */
  | { readonly type: "done"; readonly records: number };

/** A walk that goes round in circles is ended: real ones take seconds a gigabyte. */
const walkMsMax = 300_000;

export interface FileCheck {
  /** Ends what is left of it. */
  stop(): void;
  /** When all records were looked at, or it was ended. */
  readonly ended: Promise<void>;
}

/** Resolves when the trees were walked; throws StoreFault `damaged` if they cannot be. */
export async function checkFile(path: string, onDamage: (what: string) => void): Promise<FileCheck> {
  const child = fork(fileURLToPath(new URL("./check-child.js", import.meta.url)), [path], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    execArgv: [],
  });
  const stop = () => {
    // Its end is waited for.
    child.ref();
    child.kill("SIGKILL");
  };
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const timer = setTimeout(stop, walkMsMax);
  await new Promise<void>((resolve, reject) => {
    const fail = (why: string) => {
      const advice = "start with --repair to set the file aside and keep what can be read";
      reject(new StoreFault("damaged", `The file ${path} cannot be walked: ${why} (${advice})`));
    };
    let isWalked = false;
    child.on("message", (report: CheckReport) => {
      if (report.type === "walked") isWalked = true;
      if (report.type === "walked") resolve();
      else if (report.type === "damaged" && isWalked) onDamage(report.what);
      else if (report.type === "damaged") fail(report.what);
    });
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code, signal) => {
      if (isWalked && code !== 0 && signal !== "SIGKILL")
        onDamage(`${path}: reading it ended with ${signal ?? code}`);
      fail(`the process that tried ended with ${signal ?? `code ${code}`}`);
    });
  }).finally(() => clearTimeout(timer));
  // What is left of the check keeps nobody from ending.
  child.unref();
  child.channel?.unref();
  return { stop, ended };
}
