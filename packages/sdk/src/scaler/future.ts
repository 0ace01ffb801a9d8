// What a client holds of a task until it is over: a promise that can be cancelled.

import { scaler } from "@yardmaster/dialects";

/** Codes are those of `scaler.ScalerFailure`, and `bad_result`, `too_large` and `closed`. */
export class ScalerError extends Error {
  readonly code: scaler.ScalerFailure | "bad_result" | "too_large" | "closed";
  /** The error object's bytes, where the worker left one. */
  readonly object: Buffer | undefined;

  constructor(code: ScalerError["code"], message: string, object?: Buffer) {
    super(message);
    this.code = code;
    this.object = object;
  }
}

const words: Readonly<Record<scaler.ScalerFailure, string>> = {
  failed: "The task failed.",
  cancelled: "The task was cancelled.",
  not_found: "The scheduler does not know the task.",
  worker_died: "The task was lost with its workers too often.",
  no_worker: "The scheduler has no room for the task.",
  result_missing: "The task is done, but the scheduler no longer has its result.",
};

/** Longer is no message for people. */
const textBytesMax = 64 * 1024;

export function failureOf(reason: scaler.ScalerFailure, object: Buffer | undefined): ScalerError {
  const text = object === undefined ? undefined : textOf(object);
  return new ScalerError(reason, text ?? words[reason], object);
}

/** An exception as scaler's peers write it, or plain text. Any other pickle stays what it is: bytes. */
function textOf(object: Buffer): string | undefined {
  const exception = scaler.exceptionText(object);
  if (exception !== undefined) return exception;
  if (object.length === 0 || object.length > textBytesMax) return undefined;
  const text = object.toString();
  return /[^\P{C}\r\n\t]|\ufffd/u.test(text) ? undefined : text;
}

export class ScalerFuture<Value> implements PromiseLike<Value> {
  /** The task's id, in hex. */
  readonly task: string;
  readonly #cancel: () => void;
  readonly #promise: Promise<Value>;
  #isDone = false;

  /** @internal Made by the client. */
  constructor(
    task: Buffer,
    cancel: () => void,
    start: (resolve: (value: Value) => void, reject: (error: ScalerError) => void) => void,
  ) {
    this.task = task.toString("hex");
    this.#cancel = cancel;
    this.#promise = new Promise<Value>(start).finally(() => {
      this.#isDone = true;
    });
    // One that nobody awaits is no fault of the program.
    this.#promise.catch(() => {});
  }

  /** The task is over, whatever came of it. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Rejects with a `ScalerError`. */
  result(): Promise<Value> {
    return this.#promise;
  }

  /** Asks for it; the future rejects with `cancelled` when the scheduler says so. A graph is cancelled as a whole. */
  cancel(): void {
    this.#cancel();
  }

  // biome-ignore lint/suspicious/noThenProperty: a future is awaited like a promise.
  then<Then = Value, Catch = never>(
    onDone?: ((value: Value) => Then | PromiseLike<Then>) | null,
    onFailed?: ((error: unknown) => Catch | PromiseLike<Catch>) | null,
  ): Promise<Then | Catch> {
    return this.#promise.then(onDone, onFailed);
  }
}
