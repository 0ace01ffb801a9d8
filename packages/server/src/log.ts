// The log, on standard error so that standard output only has the command's own output: text lines
// on a terminal, JSON lines otherwise.

import { isatty } from "node:tty";
import { type DestinationStream, type Logger, pino } from "pino";
import { ConfigFault } from "./config/config-fault.js";
import { lineForPeople } from "./log-line.js";

const levels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];
const standardError = 2;

/** `level` is the value of YARD_LOG. */
export function createLog(level = "info"): Logger {
  if (!levels.includes(level)) {
    throw new ConfigFault([`YARD_LOG: found ${JSON.stringify(level)}, expected one of ${levels.join(", ")}`]);
  }
  return pino(
    { level, base: null },
    isatty(standardError) ? linesForPeople() : pino.destination(standardError),
  );
}

function linesForPeople(): DestinationStream {
  const out = pino.destination({ dest: standardError, sync: true });
  const hasColors = process.stderr.hasColors?.() ?? false;
  return { write: (json) => out.write(lineForPeople(json, hasColors)) };
}
