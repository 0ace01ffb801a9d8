// Runtime, core, memory engine and pulse door as a broker under test. The dialect has no clients,
// so a door of the benchmark keeps a fixed number of tasks in flight.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultCoreOptions, type Effect } from "@yardmaster/core";
import { MemoryEngine } from "@yardmaster/engines";
import { type Door, type Port, PulseDoor, Runtime, realClock, Tap } from "@yardmaster/server";
import { reportCpu } from "./broker-report.js";
import { readArgs, report } from "./child.js";

const { tasksUnderWay } = readArgs<{ tasksUnderWay: number }>();
const dir = mkdtempSync(join(tmpdir(), "yard-bench-"));
const bytes = Buffer.from("a task of a few dozen bytes, as real ones are");
const payload = { mediaType: "application/octet-stream", size: bytes.length, bytes };

class Feeder implements Door {
  readonly name = "feeder";
  readonly #port: Port;
  #lastRequest = 0;

  constructor(port: Port) {
    this.#port = port;
  }

  async open() {
    for (let count = 0; count < tasksUnderWay; count += 1) this.#submit();
    return {};
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type !== "tell") continue;
      this.#port.post({ type: "outcomes-told", tasks: [effect.task.id] });
      this.#submit();
    }
  }

  #submit(): void {
    this.#lastRequest += 1;
    const submission = { queue: "pulse", payload, replyTo: { address: "feeder", diesWithConnection: false } };
    this.#port.post({ type: "task-submitted", request: this.#lastRequest, submission });
  }

  handleTimeout(): void {}
  nextDeadline(): undefined {}
  stopAccepting(): void {}
  async close() {}
}

const runtime = new Runtime({
  engine: new MemoryEngine(),
  clock: realClock,
  core: { ...defaultCoreOptions, random: Math.random },
  onFatal: (fault) => {
    throw fault;
  },
});
runtime.attach(
  new PulseDoor({
    port: runtime.port("pulse"),
    config: { dir, numbering: "document", queue: "pulse" },
    data: dir,
    payloadBytesMax: 1_000_000,
    peersMax: 100_000,
    log: (kind, peer) => console.error(kind, peer),
    tap: new Tap(),
  }),
);
runtime.attach(new Feeder(runtime.port("feeder")));
await runtime.start();
await runtime.openDoors();
reportCpu();
report({ dir });
