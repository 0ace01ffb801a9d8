// The log: JSON lines on standard error, so that standard output stays for what was asked for.

import { type Logger, pino } from "pino";
import { ConfigFault } from "./config/config-fault.js";

const levels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];

/** `level` is the environment's YARD_LOG. */
export function createLog(level = "info"): Logger {
  if (!levels.includes(level)) {
    throw new ConfigFault([`YARD_LOG: found ${JSON.stringify(level)}, expected one of ${levels.join(", ")}`]);
  }
  return pino({ level, base: null }, pino.destination(2));
}
