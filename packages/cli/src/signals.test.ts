import assert from "node:assert/strict";
import { after, test } from "node:test";
import { exitCodeOf, hearSignals } from "./signals.js";

// Signals alone do not keep a process running.
const running = setInterval(() => {}, 1_000);
after(() => clearInterval(running));

test("a signal that comes a moment later counts; none within that time does not", async () => {
  const signals = hearSignals();
  assert.equal(await signals.hasCome(), false);
  const hasCome = signals.hasCome();
  process.kill(process.pid, "SIGTERM");
  assert.equal(await hasCome, true);
  assert.equal(await signals.first, "SIGTERM");
  process.kill(process.pid, "SIGTERM");
  assert.equal(await signals.second, "SIGTERM");
});

test("two SIGINTs at once count as one", async () => {
  const signals = hearSignals();
  process.kill(process.pid, "SIGINT");
  await signals.first;
  process.kill(process.pid, "SIGINT");
  // Signals are read in order, so by the time of this one the other was heard.
  process.kill(process.pid, "SIGTERM");
  assert.equal(await signals.second, "SIGTERM");
});

test("a command that a signal ended has the exit code that shells give it", () => {
  assert.deepEqual([exitCodeOf("SIGINT"), exitCodeOf("SIGTERM")], [130, 143]);
});
