import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pino } from "pino";
import { lineForPeople } from "./log-line.js";

describe("the log at a terminal", () => {
  /** What is shown for the entry that `say` logs. */
  function shown(say: (log: pino.Logger) => void, hasColors = false): string {
    let text = "";
    const write = (line: string) => {
      text += lineForPeople(line, hasColors);
    };
    say(pino({ level: "trace", base: null }, { write }));
    return text;
  }

  test("time, level, message and fields are one line", () => {
    const line = shown((log) => log.info({ door: "udp", peers: 3 }, "the door is open"));
    assert.match(line, /^\[\d\d:\d\d:\d\d\] INFO: the door is open \{"door":"udp","peers":3\}\n$/);
  });

  test("a message alone has no fields", () => {
    assert.match(
      shown((log) => log.warn("slow")),
      /\] WARN: slow\n$/,
    );
  });

  test("an error shows its message once, and its stack below", () => {
    const fault = new Error("it broke");
    assert.match(
      shown((log) => log.error(fault)),
      /\] ERROR: it broke\n {4}Error: it broke\n {8,}at /,
    );
    assert.match(
      shown((log) => log.fatal({ err: fault }, "stopping")),
      /\] FATAL: stopping: it broke\n {4}Error/,
    );
  });

  test("colors only where they are wanted", () => {
    const say = (log: pino.Logger) => log.info("open");
    assert.ok(!shown(say).includes("\u001B"));
    assert.ok(shown(say, true).includes("\u001B[32mINFO\u001B[0m: open"));
  });

  test("the time is that of the machine's zone", () => {
    const at = new Date(2026, 0, 2, 3, 4, 5).getTime();
    assert.equal(
      lineForPeople(JSON.stringify({ level: 30, time: at, msg: "x" }), false),
      "[03:04:05] INFO: x\n",
    );
  });
});
