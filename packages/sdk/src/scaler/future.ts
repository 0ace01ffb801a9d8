// A client's handle on a task: a promise that can be cancelled.

import { scaler } from "@yardmaster/dialects";

/** Codes are those of `scaler.ScalerFailure`, and `bad_result`, `too_large` and `closed`. */
export class ScalerError extends Error {
  readonly code: scaler.ScalerFailure | "bad_result" | "too_large" | "closed";
  /** The bytes of the error object, if the worker left one. */
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

/** A longer text is not a readable message. */
const textBytesMax = 64 * 1024;

export function failureOf(reason: scaler.ScalerFailure, object: Buffer | undefined): ScalerError {
  const text = object === undefined ? undefined : textOf(object);
  return new ScalerError(reason, text ?? words[reason], object);
}

/**
 * The text of an exception as scaler's peers write it, or of plain text. Any other pickle is not
 * decoded.
 */
function textOf(object: Buffer): string | undefined {
  const exception = scaler.exceptionText(object);
  if (exception !== undefined) return exception;
  if (object.length === 0 || object.length > textBytesMax) return undefined;
  const text = object.toString();
  return /[^\P{C}\r\n\t]|\ufffd/u.test(text) ? undefined : text;
}

/** The result of a scaler task that is under way. */
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
    // A future that is never awaited must not count as an unhandled rejection.
    this.#promise.catch(() => {});
  }

  /** True once the task has ended in any way. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Rejects with a `ScalerError`. */
  result(): Promise<Value> {
    return this.#promise;
  }

  /**
   * Requests cancellation. The future rejects with `cancelled` when the scheduler confirms. A graph
   * is cancelled as a whole.
   */
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
