// The connection to the store's thread: requests out, answers in, matched by number.

import { Worker } from "node:worker_threads";
import { holdExit, makeExitFlags } from "./exit-guard.js";
import type { Answer, Answered, Asked, Failure, Request } from "./store-messages.js";
import { StoreService } from "./store-service.js";

/** A failure in the store. `code` is LMDB's or the system's. */
export class StoreFailure extends Error {
  override readonly name: string;
  readonly code: number | string | undefined;

  constructor({ name, message, code }: Failure) {
    super(message);
    this.name = name;
    this.code = code;
  }
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
  readonly onPart: ((answer: Answer) => void) | undefined;
}

/** Carries the messages: a thread, or direct calls in tests. */
interface Carrier {
  post(asked: Asked, transferred: ArrayBuffer[]): void;
  end(): Promise<void>;
  abandon(): void;
}

export interface StoreLinkOptions {
  /** For tests: the store runs in the caller's thread. */
  readonly isLocal?: boolean;
  readonly onDamage?: (what: string) => void;
}

export class StoreLink {
  readonly #carrier: Carrier;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onDamage: ((what: string) => void) | undefined;
  isAbandoned = false;
  #lastId = 0;
  /** Why the thread ended; undefined while it runs. */
  #end: Error | undefined;

  constructor({ isLocal = false, onDamage }: StoreLinkOptions) {
    this.#onDamage = onDamage;
    this.#carrier = isLocal ? this.#localCarrier() : this.#threadCarrier();
  }

  ask(request: Request, transferred: ArrayBuffer[] = [], onPart?: (answer: Answer) => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) return reject(this.#end);
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject, onPart });
      this.#carrier.post({ id, request }, transferred);
    });
  }

  /** Sends a request that has no answer. */
  say(request: Request): void {
    if (this.#end === undefined) this.#carrier.post({ id: 0, request }, []);
  }

  async close(): Promise<void> {
    if (this.#end !== undefined) return;
    try {
      await this.ask({ op: "close" });
    } finally {
      this.#stop(new Error("the engine is closed"));
      await this.#carrier.end();
    }
  }

  /** Stops waiting for the thread, which may be stuck for good. */
  abandon(): void {
    this.isAbandoned = true;
    this.#stop(new Error("the engine is closed"));
    this.#carrier.abandon();
  }

  #take({ id, answer, more = false, damaged = [] }: Answered): void {
    for (const what of damaged) this.#onDamage?.(what);
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    if (more) return waiting.onPart?.(answer);
    this.#waiting.delete(id);
    if (answer.type === "failed") waiting.reject(new StoreFailure(answer.failure));
    else waiting.resolve(answer);
  }

  #stop(why: Error): void {
    this.#end ??= why;
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
  }

  #threadCarrier(): Carrier {
    const flags = makeExitFlags();
    const releaseExit = holdExit(flags);
    const worker = new Worker(new URL("./store-thread.js", import.meta.url), {
      workerData: flags,
    });
    worker.on("message", (answered: Answered) => this.#take(answered));
    worker.on("error", (error) => this.#stop(error));
    worker.on("exit", (code) => this.#stop(new Error(`the engine's thread ended with code ${code}`)));
    return {
      post: (asked, transferred) => worker.postMessage(asked, transferred),
      end: async () => {
        await worker.terminate();
        releaseExit();
      },
      abandon: () => {
        worker.unref();
        releaseExit();
      },
    };
  }

  #localCarrier(): Carrier {
    const service = new StoreService((answered) => setImmediate(() => this.#take(answered)));
    return { post: (asked) => service.handle(asked), end: async () => {}, abandon: () => {} };
  }
}
