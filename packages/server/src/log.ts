// The log, on standard error so that standard output stays for what was asked for: lines for people at a terminal, JSON
// lines wherever they are collected.

import { isatty } from "node:tty";
import { type DestinationStream, type Logger, pino } from "pino";
import { PinoPretty } from "pino-pretty";
import { ConfigFault } from "./config/config-fault.js";

const levels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];
const standardError = 2;

/** `level` is the environment's YARD_LOG. */
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
  return PinoPretty({
    destination: standardError,
    sync: true,
    singleLine: true,
    translateTime: "SYS:HH:MM:ss",
  });
}
