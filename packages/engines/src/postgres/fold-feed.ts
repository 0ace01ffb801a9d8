// Decides when the log is folded, and knows how far it was. A `Folder` does the work, in a thread
// of its own or in this one.

import { Worker } from "node:worker_threads";
import { Fifo } from "@yardmaster/core";
import type { Batch } from "../durable/batches.js";
import { Deposed, Folder, type FolderOptions, groupBytesMax } from "./folder.js";
import { pack } from "./packed-batches.js";
import type { Platform } from "./session.js";

/** Batches gather for this time, so that most tasks are written once, when they have ended. */
const gatherMs = 100;
const retryMs = 500;
/** Maximum size of batches that are not folded yet, because memory holds them until then. */
const unfoldedBytesMax = 64 * 2 ** 20;

interface FoldWork {
  /**
   * Folds until the tables have this batch. Returns the last one that they have. `batches`: those
   * up to it that were not folded before.
   */
  fold(through: number, batches: readonly Batch[]): Promise<number>;
  close(): Promise<void>;
}

export interface FoldFeedOptions {
  readonly folder: FolderOptions;
  /** In this thread, and without waiting for more: for tests. */
  readonly isLocal: boolean;
  readonly platform: Platform;
  readonly onFolded: (position: number) => void;
  readonly onTrouble: (message: string) => void;
}

export class FoldFeed {
  readonly #options: FoldFeedOptions;
  /** Made for the first batch. */
  #work: FoldWork | undefined;
  readonly #unfolded = new Fifo<Batch>();
  #bytes = 0;
  #wanted: number;
  #folded: number;
  #isRunning = false;
  #isOver = false;
  #stopTimer: (() => void) | undefined;
  #waiting: (() => void)[] = [];
  /** Why the last fold failed in a way that another try does not mend. */
  #fault: Error | undefined;

  constructor(options: FoldFeedOptions, folded: number) {
    this.#options = options;
    this.#wanted = folded;
    this.#folded = folded;
  }

  /** True while no more batches should be committed. */
  get isBehind(): boolean {
    return this.#bytes > unfoldedBytesMax;
  }

  add(batch: Batch): void {
    this.#wanted = batch.number;
    this.#bytes += batch.end - batch.start;
    this.#unfolded.push(batch);
    this.#startIn(this.#options.isLocal ? 0 : gatherMs);
  }

  /**
   * Resolves when everything so far is folded, or when another owner does it. Rejects if it cannot
   * be folded.
   */
  async flush(): Promise<void> {
    while (this.#folded < this.#wanted && !this.#isOver) {
      if (this.#fault !== undefined) throw this.#fault;
      const turn = new Promise<void>((resolve) => this.#waiting.push(resolve));
      void this.#run();
      await turn;
    }
  }

  /**
   * The tables go only up to this batch, because a new primary does not have the last folds: no
   * fold waits for the standby. It has the batches, so they are folded again.
   */
  async refold(position: number): Promise<void> {
    this.#folded = Math.min(this.#folded, position);
    await this.flush();
  }

  async close(): Promise<void> {
    this.#end();
    await this.#work?.close();
  }

  #startIn(ms: number): void {
    if (this.#isOver) return;
    this.#stopTimer ??= this.#options.platform.clock.setIdleTimer(ms, () => {
      this.#stopTimer = undefined;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#isRunning || this.#isOver || this.#folded >= this.#wanted) return;
    this.#isRunning = true;
    const { isLocal, folder, platform } = this.#options;
    this.#work ??= isLocal ? localWork(folder, platform) : threadWork(folder);
    try {
      const batches = this.#nextGroup();
      const through = batches.at(-1)?.number ?? this.#wanted;
      this.#note(await this.#work.fold(through, batches));
      if (this.#folded < this.#wanted) this.#startIn(this.#bytes > groupBytesMax ? 0 : gatherMs);
    } catch (error) {
      this.#failed(error as Error);
    }
    this.#isRunning = false;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  #nextGroup(): readonly Batch[] {
    const batches: Batch[] = [];
    let bytes = 0;
    for (const batch of this.#unfolded) {
      bytes += batch.end - batch.start;
      if (bytes > groupBytesMax && batches.length > 0) break;
      batches.push(batch);
    }
    return batches;
  }

  #failed(error: Error): void {
    if (error.name === "Deposed") this.#end();
    if (this.#isOver) return;
    if (error.name !== "Unavailable") this.#fault = error;
    this.#options.onTrouble(error.message);
    this.#startIn(retryMs);
  }

  #note(position: number): void {
    this.#fault = undefined;
    this.#folded = position;
    for (let first = this.#unfolded.first(); first && first.number <= position; ) {
      this.#bytes -= first.end - first.start;
      this.#unfolded.shift();
      first = this.#unfolded.first();
    }
    this.#options.onFolded(position);
  }

  #end(): void {
    this.#isOver = true;
    this.#stopTimer?.();
    for (const resume of this.#waiting.splice(0)) resume();
  }
}

function localWork(options: FolderOptions, platform: Platform): FoldWork {
  const folder = new Folder(options, platform);
  return {
    fold: async (through, batches) => (await folder.fold(through, batches)).position,
    close: () => folder.close(),
  };
}

function threadWork(options: FolderOptions): FoldWork {
  const worker = new Worker(new URL("./fold-thread.js", import.meta.url), { workerData: options });
  worker.unref();
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  let isClosing = false;
  return {
    fold: (through, batches) =>
      new Promise((resolve, reject) => {
        const failed = (error: Error) => finish(() => reject(error));
        const exited = () => finish(() => reject(new Deposed("the thread has ended")));
        const answered = (answer: { position: number; name?: string; message: string }) =>
          finish(() => {
            const { position, name, message } = answer;
            if (name === undefined) resolve(position);
            else reject(Object.assign(new Error(message), { name }));
          });
        const finish = (end: () => void) => {
          worker.off("message", answered).off("error", failed).off("exit", exited);
          // The process must not end while `close` waits for the thread.
          if (!isClosing) worker.unref();
          end();
        };
        worker.on("message", answered).on("error", failed).on("exit", exited);
        worker.ref();
        const packed = pack(batches);
        worker.postMessage({ through, packed }, [packed.bytes]);
      }),
    close: async () => {
      isClosing = true;
      worker.ref();
      worker.postMessage("close");
      await ended;
    },
  };
}
