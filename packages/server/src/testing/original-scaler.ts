// For tests: a worker and a client that behave like those of scaler 1.7.14, including the messages
// that they do not repeat and the ways in which they hang. They outlive their connections, like the
// owner of a DEALER socket, which does not notice a reconnect.

import { scaler } from "@yardmaster/dialects";
import { until } from "./memory-runtime.js";
import type { ScalerPeer, ScalerYard } from "./scaler-yard.js";

const nothing = Buffer.alloc(0);

/** Keeps messages without a connection for the next one. */
abstract class Original {
  readonly identity: string;
  #peer: ScalerPeer | undefined;
  #unsent: Buffer[][] = [];

  constructor(identity: string) {
    this.identity = identity;
  }

  async connect(yard: ScalerYard): Promise<this> {
    const peer = await yard.peer(this.identity);
    peer.takes = (frames) => {
      this.receive(frames);
      return true;
    };
    for (const frames of peer.heard.splice(0)) this.receive(frames);
    this.#peer = peer;
    for (const frames of this.#unsent.splice(0)) peer.say(...frames);
    return this;
  }

  /** The connection closes. Later messages are kept. */
  async cut(): Promise<void> {
    const peer = this.#peer;
    this.#peer = undefined;
    if (peer === undefined) return;
    peer.takes = () => true;
    await peer.close();
  }

  /** Drops kept messages of this type. */
  protected lose(type: string): void {
    this.#unsent = this.#unsent.filter((frames) => String(frames[0]) !== type);
  }

  protected say(frames: Buffer[]): void {
    if (this.#peer === undefined) this.#unsent.push(frames);
    else this.#peer.say(...frames);
  }

  protected abstract receive(frames: Buffer[]): void;
}

export class OriginalWorker extends Original {
  readonly queue: scaler.TaskMessage[] = [];
  running: scaler.TaskMessage | undefined;
  /**
   * True if the running task has its objects. Until then its processor waits for one answer, and
   * requests it only once.
   */
  isFetched = false;
  /**
   * It received a task that was already in its queue: its loop has ended, and it sends nothing any
   * more.
   */
  hasHung = false;
  /** While true, answers about objects are lost. */
  losesObjects = false;
  readonly ran: string[] = [];
  #awaitsEcho = false;
  #results = 0;

  /** Sends a heartbeat, unless the last one was not echoed. */
  beat(): void {
    if (this.hasHung || this.#awaitsEcho) return;
    this.#awaitsEcho = true;
    const processor = { pid: 1, isInitialized: true, isSuspended: false, cpu: 0, rssBytes: 0n };
    const processors = [{ ...processor, hasTask: this.running !== undefined }];
    this.#say({
      ...{ type: "heartbeat", wire: "r", agentCpu: 0, agentRssBytes: 0n, freeRssBytes: 0n },
      ...{
        queuedTasks: this.queue.length,
        latencyUs: 0,
        hasTaskLock: this.running !== undefined,
        processors,
      },
    });
  }

  /** A heartbeat that was lost with its connection. */
  loseHeartbeat(): void {
    this.lose("HB");
    this.#awaitsEcho = true;
  }

  get ids(): string[] {
    const running = this.running === undefined ? [] : [this.running];
    return [...running, ...this.queue].map(({ task }) => String(task));
  }

  /** Finishes the running task once its objects are there, and begins the next. */
  async finish(): Promise<string> {
    await until(() => (this.running !== undefined && this.isFetched) || undefined);
    const { task, source } = this.running as scaler.TaskMessage;
    this.ran.push(String(task));
    this.#results += 1;
    const id = Buffer.from(`${this.identity}-${this.#results}`);
    const objects = { ids: [id], names: [Buffer.from("<res 1>")], hasSplitCounts: false };
    this.#say({ type: "object-create", source, ...objects, bytes: [Buffer.from(`result of ${task}`)] });
    this.#answer(task, "S", [id]);
    this.#next();
    return String(task);
  }

  protected receive(frames: Buffer[]): void {
    if (this.hasHung) return;
    const reading = scaler.readAtWorker(frames, "r");
    if (!reading.ok) throw new Error(`the worker was sent what it cannot read: ${reading.fault}`);
    const { message } = reading;
    if (message.type === "heartbeat-echo") this.#awaitsEcho = false;
    else if (message.type === "task") this.#given(message);
    else if (message.type === "task-cancel") this.#cancel(message);
    else if (message.type === "object-answer" && !this.losesObjects)
      this.isFetched = this.running !== undefined;
  }

  #given(message: scaler.TaskMessage): void {
    if (this.queue.some(({ task }) => task.equals(message.task))) {
      this.hasHung = true;
      return;
    }
    this.queue.push(message);
    if (this.running === undefined) this.#next();
  }

  #next(): void {
    this.running = this.queue.shift();
    this.isFetched = false;
    if (this.running !== undefined) this.#say({ type: "object-request", ids: [this.running.function] });
  }

  #cancel({ task, flags }: scaler.TaskCancel): void {
    const at = this.queue.findIndex((queued) => queued.task.equals(task));
    if (at >= 0) {
      this.queue.splice(at, 1);
      this.#answer(task, "C");
    } else if (flags?.force !== true) return;
    else if (this.running?.task.equals(task) === true) {
      this.#answer(task, "C");
      this.#next();
    } else this.#answer(task, "N");
  }

  #answer(task: Buffer, status: scaler.TaskStatus, results: Buffer[] = []): void {
    this.#say({ type: "task-result", task, status, metadata: nothing, results });
  }

  #say(message: scaler.WorkerMessage): void {
    this.say(scaler.writeFromWorker(message, "r"));
  }
}

export class OriginalClient extends Original {
  /** Tasks without an outcome. Other outcomes are ignored. */
  readonly open = new Set<string>();
  readonly results = new Map<string, string>();
  /** The kind of message that is lost at the moment. */
  loses: "nothing" | "outcomes" | "objects" = "nothing";
  readonly #wanted = new Map<string, string>();
  #awaitsEcho = false;

  beat(): void {
    if (this.#awaitsEcho) return;
    this.#awaitsEcho = true;
    this.#say({ type: "client-heartbeat", cpu: 0, rssBytes: 0n, latencyUs: 0 });
  }

  get awaitsEcho(): boolean {
    return this.#awaitsEcho;
  }

  submit(id: string): void {
    const source = Buffer.from(this.identity);
    this.open.add(id);
    this.#say({
      ...{ type: "object-create", source, ids: [Buffer.from("f")], names: [Buffer.from("f")] },
      ...{ bytes: [Buffer.from("function")], hasSplitCounts: false },
    });
    this.#say({
      ...{ type: "task", task: Buffer.from(id), source, metadata: nothing, function: Buffer.from("f") },
      arguments: [],
    });
  }

  cancel(id: string): void {
    this.#say({
      type: "task-cancel",
      task: Buffer.from(id),
      flags: { force: false, retrieveTaskObject: false },
    });
  }

  /** Resolves with the results of all these tasks. */
  async gets(...ids: string[]): Promise<string[]> {
    await until(() => ids.every((id) => this.results.has(id)) || undefined);
    return ids.map((id) => this.results.get(id) as string);
  }

  protected receive(frames: Buffer[]): void {
    const reading = scaler.readAtClient(frames);
    if (!reading.ok) throw new Error(`the client was sent what it cannot read: ${reading.fault}`);
    const { message } = reading;
    if (message.type === "client-heartbeat-echo") this.#awaitsEcho = false;
    else if (message.type === "task-result" && this.loses !== "outcomes") this.#told(message);
    else if (message.type === "object-answer" && this.loses !== "objects") this.#fetched(message);
  }

  #told({ task, results: [result] }: scaler.TaskResult): void {
    if (!this.open.delete(String(task)) || result === undefined) return;
    this.#wanted.set(String(result), String(task));
    this.#say({ type: "object-request", ids: [Buffer.from(result)] });
  }

  #fetched({ ids, bytes }: scaler.ObjectAnswer): void {
    bytes.forEach((content, index) => {
      const task = this.#wanted.get(String(ids[index]));
      if (task !== undefined) this.results.set(task, String(content));
    });
  }

  #say(message: scaler.ClientMessage): void {
    this.say(scaler.writeFromClient(message));
  }
}
