// A simulated scaler worker of either form: it has a queue, runs one task at a time, and fetches
// objects before it works. Like the owner of a DEALER, it does not notice a reconnect. It handles
// TC like real workers. One that behaves like the original repeats nothing: it requests objects
// once, sends no heartbeat until its last one was echoed, and hangs for good when it receives a
// task that is in its queue.

import { scaler } from "@yardmaster/dialects";
import type { Plug } from "./plug.js";
import type { ScalerChecker } from "./scaler-checker.js";
import { beatMs } from "./scaler-client.js";
import { isLarge, largeBytes } from "./scaler-sizes.js";
import { StreamPeer } from "./stream-peer.js";

export interface ScalerWorkerPlan {
  readonly name: string;
  readonly wire: scaler.ScalerWire;
  readonly workMsMax: number;
  readonly failShare: number;
  /** Only with form r. */
  readonly isOriginal?: boolean;
}

interface Running {
  readonly task: scaler.TaskMessage;
  isFetched: boolean;
}

export class ScalerWorker extends StreamPeer<ScalerChecker, ScalerWorkerPlan> {
  #plug: Plug | undefined;
  #unsent: Buffer[][] = [];
  #queue: scaler.TaskMessage[] = [];
  #running: Running | undefined;
  #last = 0;
  #hasHung = false;
  #awaitsEcho = false;

  constructor(...given: ConstructorParameters<typeof StreamPeer<ScalerChecker, ScalerWorkerPlan>>) {
    super(...given);
    this.start();
  }

  protected begin(): void {
    this.#unsent = [];
    this.#queue = [];
    this.#running = undefined;
    this.#hasHung = false;
    this.#awaitsEcho = false;
    this.#plug = this.connect({
      ...{ endpoint: "workers", socketType: "DEALER", identity: this.plan.name },
      came: () => this.#came(),
      receive: (_line, frames) => this.#receive(frames),
    });
    this.#beat();
  }

  /** Answers a task that it does not hold. */
  forge(task: string): void {
    if (this.process.isDead) return;
    this.checker.forged(this.plan.name, task);
    const results = [Buffer.from("forged")];
    const metadata = Buffer.alloc(0);
    const forged = { type: "task-result", task: Buffer.from(task), status: "S", metadata, results } as const;
    this.#plug?.send(scaler.writeFromWorker(forged, this.plan.wire));
  }

  get knownTasks(): string[] {
    return [...this.#queue, ...(this.#running ? [this.#running.task] : [])].map(({ task }) => String(task));
  }

  #beat(): void {
    const { process } = this;
    this.world.plan(process, beatMs, () => {
      this.#sendHeartbeat();
      if (process === this.process) this.#beat();
    });
  }

  #came(): void {
    const unsent = this.#unsent.splice(0);
    const isUnaware = unsent.length > 0 && this.random.chance(0.5);
    if (!isUnaware) this.#sendHeartbeat();
    for (const frames of unsent) this.#send(frames);
    if (isUnaware) this.#sendHeartbeat();
    if (this.#running?.isFetched === false && this.plan.isOriginal !== true)
      this.#request(this.#running.task);
  }

  /** The original keeps an unsent heartbeat for later, and sends no other until the echo. */
  #sendHeartbeat(): void {
    if (this.#hasHung || (this.plan.isOriginal === true && this.#awaitsEcho)) return;
    this.#awaitsEcho = true;
    if (this.plan.isOriginal === true) this.#send(this.#heartbeat());
    else this.#plug?.send(this.#heartbeat());
  }

  #heartbeat(): Buffer[] {
    const { wire } = this.plan;
    const processor = { pid: 1, isInitialized: true, isSuspended: false, cpu: 0, rssBytes: 0n };
    const processors = [{ ...processor, hasTask: this.#running !== undefined }];
    return scaler.writeFromWorker(
      {
        ...{ type: "heartbeat", wire, agentCpu: 0, agentRssBytes: 0n, freeRssBytes: 0n },
        ...{ queuedTasks: this.#queue.length, latencyUs: 0, hasTaskLock: false, processors },
      },
      wire,
    );
  }

  #send(frames: Buffer[]): void {
    if (this.#plug?.send(frames) !== true) this.#unsent.push(frames);
  }

  #say(message: scaler.WorkerMessage): void {
    this.#send(scaler.writeFromWorker(message, this.plan.wire));
  }

  #receive(frames: Buffer[]): void {
    const reading = scaler.readAtWorker(frames, this.plan.wire);
    if (!reading.ok) throw new Error(`${this.plan.name} was sent what it cannot read: ${reading.fault}`);
    const { message } = reading;
    if (this.#hasHung) return;
    switch (message.type) {
      case "heartbeat-echo":
        this.#awaitsEcho = false;
        return;
      case "task":
        this.checker.given(this.plan.name, String(message.task));
        if (this.plan.isOriginal === true && this.#queue.some(({ task }) => task.equals(message.task))) {
          this.#hasHung = true;
          this.checker.repeatedTask(this.plan.name, String(message.task));
          return;
        }
        this.#queue.push(message);
        this.#beginNext();
        return;
      case "task-cancel":
        return this.#cancel(message);
      case "object-answer":
        return this.#fetched(message);
      case "balance-request":
        return this.#giveBack(message.count);
      default:
    }
  }

  #beginNext(): void {
    if (this.#running !== undefined) return;
    const task = this.#queue.shift();
    if (task === undefined) return;
    this.#running = { task, isFetched: false };
    this.#request(task);
  }

  #request(task: scaler.TaskMessage): void {
    const frames = scaler.writeFromWorker({ type: "object-request", ids: idsOf(task) }, this.plan.wire);
    if (this.plan.isOriginal === true) this.#send(frames);
    else this.#plug?.send(frames);
  }

  #fetched({ ids, bytes }: scaler.ObjectAnswer): void {
    const running = this.#running;
    const wanted = running && idsOf(running.task);
    if (running === undefined || running.isFetched || wanted?.map(String).join() !== ids.map(String).join())
      return;
    running.isFetched = true;
    const { task } = running.task;
    if (bytes.length < ids.length) {
      this.checker.missing(this.plan.name, String(task));
      this.#end(running, "F", "something is missing");
      return;
    }
    const value = `${task}(${bytes
      .slice(1)
      .map((each) => String(each).trimEnd())
      .join(",")})`;
    this.world.plan(this.process, this.random.between(1, this.plan.workMsMax), () => {
      if (this.#running !== running) return;
      if (this.random.chance(this.plan.failShare)) this.#end(running, "F", "it did not work out");
      else this.#end(running, "S", value);
    });
  }

  #end({ task }: Running, status: "S" | "F", value: string): void {
    this.#running = undefined;
    this.#last += 1;
    const id = Buffer.from(`${this.plan.name}:${this.world.time.toFixed(3)}:${this.#last}`);
    this.#say({
      ...{ type: "object-create", source: task.source, ids: [id], names: [Buffer.from("<res>")] },
      ...{
        bytes: [Buffer.from(isLarge(task.task) ? value.padEnd(largeBytes) : value)],
        hasSplitCounts: false,
      },
    });
    this.#answer(task.task, status, [id]);
    this.#beginNext();
  }

  #answer(task: Buffer, status: scaler.TaskStatus, results: Buffer[]): void {
    this.#say({ type: "task-result", task, status, metadata: Buffer.alloc(0), results });
  }

  #cancel({ task, flags }: scaler.TaskCancel): void {
    const isForced = flags === undefined || flags.force;
    const at = this.#queue.findIndex((queued) => queued.task.equals(task));
    if (at >= 0) {
      this.#queue.splice(at, 1);
      this.#answer(task, "C", []);
    } else if (this.#running?.task.task.equals(task)) {
      if (!isForced) return;
      this.#running = undefined;
      this.#answer(task, "C", []);
      this.#beginNext();
    } else if (isForced) this.#answer(task, this.plan.wire === "r" ? "N" : "C", []);
  }

  #giveBack(count: number): void {
    const given = this.#queue.splice(Math.max(0, this.#queue.length - count));
    this.#say({ type: "balance-response", tasks: given.map(({ task }) => task) });
  }
}

function idsOf(task: scaler.TaskMessage): Buffer[] {
  return [task.function, ...task.arguments.map(({ id }) => id)];
}
