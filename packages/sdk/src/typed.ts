// Typed payloads and results: types for a client by queue, and a queue as a value that its clients
// and its workers share. A validator may check at run time what the types say; none is bundled.

import type { YardUrls } from "./address.js";
import { type Body, bodyOf, jsonBodyOf } from "./body.js";
import type {
  Outcome,
  ResultOptions,
  SubmitItem,
  SubmitManyOptions,
  SubmitOptions,
  Submitted,
  SubmittedItem,
  YardClient,
} from "./client.js";
import { ArgumentError, YardError } from "./errors.js";
import { messageOf } from "./failure.js";
import type { RunningWorker, WorkContext, WorkHandler, WorkOptions } from "./worker.js";

/** The types of the payloads and results of one queue. */
export interface JobType {
  readonly payload: unknown;
  readonly result: unknown;
}

/**
 * Payloads and results by queue: `interface Jobs { render: { payload: Scene; result: Frame } }`.
 */
export type JobMap<Jobs> = { readonly [Queue in keyof Jobs]: JobType };

declare const resultType: unique symbol;

/** A submitted task that knows the type of its result. */
export interface TypedSubmitted<Result> extends Submitted {
  /** Exists for the compiler alone. */
  readonly [resultType]?: Result;
}

/** A result whose JSON has a type. */
export type TypedBody<Result> = Omit<Body, "json"> & {
  /** Throws a SyntaxError if it is not JSON. */
  json(): Result;
};

/** The outcome of `call`, with a typed result. */
export type TypedOutcome<Result> = Omit<Outcome, "body"> & { readonly body: TypedBody<Result> };

/** Options of a submission to one of the queues of a `TypedClient`. */
export type TypedSubmitOptions<Queue> = Omit<SubmitOptions, "queue"> & { readonly queue: Queue };

/**
 * A client whose queues have typed payloads and results. The types are checked by the compiler
 * only.
 */
export type TypedClient<Jobs extends JobMap<Jobs>> = Omit<
  YardClient,
  "submit" | "call" | "submitMany" | "result"
> & {
  submit<Queue extends keyof Jobs & string>(
    payload: Jobs[Queue]["payload"],
    options: TypedSubmitOptions<Queue>,
  ): Promise<TypedSubmitted<Jobs[Queue]["result"]>>;
  call<Queue extends keyof Jobs & string>(
    payload: Jobs[Queue]["payload"],
    options: TypedSubmitOptions<Queue> & ResultOptions,
  ): Promise<TypedOutcome<Jobs[Queue]["result"]>>;
  submitMany<Queue extends keyof Jobs & string>(
    items: TypedItems<Jobs[Queue]["payload"]>,
    options: Omit<SubmitManyOptions, "queue"> & { readonly queue: Queue },
  ): AsyncGenerator<SubmittedItem>;
  result<Result = unknown>(
    task: string | TypedSubmitted<Result>,
    options?: ResultOptions,
  ): Promise<TypedBody<Result>>;
};

/** Items of `submitMany` with a typed payload. */
export type TypedItems<Payload> =
  | Iterable<Omit<SubmitItem, "payload"> & { readonly payload: Payload }>
  | AsyncIterable<Omit<SubmitItem, "payload"> & { readonly payload: Payload }>;

/**
 * Anything that returns the value it was given, perhaps changed, or throws: a zod schema, for
 * example.
 */
export interface Validator<Value> {
  parse(value: unknown): Value;
}

/** What is known of a queue besides its name. */
export interface QueueDefinition<Payload, Result> {
  /** Checks payloads before they are submitted, and again before a handler gets them. */
  readonly payload?: Validator<Payload>;
  /** Checks results before they are sent, and again when they are read. */
  readonly result?: Validator<Result>;
  /** Defaults of each submission, such as `attempts`. */
  readonly options?: Omit<SubmitOptions, "queue" | "contentType">;
}

/** A handler of typed payloads. What it returns is sent as JSON. */
export type JobHandler<Payload, Result> = (
  payload: Payload,
  context: WorkContext,
) => Result | Promise<Result>;

/**
 * Starts a worker; `work` of this package, which is injected so that this file knows no dialect.
 */
type StartWorker = (url: YardUrls, options: WorkOptions, handler: WorkHandler) => Promise<RunningWorker>;

/** A queue with typed payloads and results, which are sent as JSON. Made by `defineQueue`. */
export class JobQueue<Payload, Result> {
  readonly name: string;
  readonly #definition: QueueDefinition<Payload, Result>;
  readonly #startWorker: StartWorker;

  constructor(name: string, definition: QueueDefinition<Payload, Result>, startWorker: StartWorker) {
    this.name = name;
    this.#definition = definition;
    this.#startWorker = startWorker;
  }

  /** Rejects with an `ArgumentError` when the validator refuses the payload. */
  async submit(
    client: Pick<YardClient, "submit">,
    payload: Payload,
    options: Omit<SubmitOptions, "queue" | "contentType"> = {},
  ): Promise<TypedSubmitted<Result>> {
    return client.submit(this.#body(payload), { ...this.#definition.options, ...options, queue: this.name });
  }

  /** Submits a task and waits for its result. */
  async call(
    client: Pick<YardClient, "call">,
    payload: Payload,
    options: Omit<SubmitOptions, "queue" | "contentType"> & ResultOptions = {},
  ): Promise<Result> {
    const submission = { ...this.#definition.options, ...options, queue: this.name };
    return this.#result((await client.call(this.#body(payload), submission)).body);
  }

  /** Waits for the result of a task that was submitted before. */
  async result(
    client: Pick<YardClient, "result">,
    task: string | TypedSubmitted<Result>,
    options?: ResultOptions,
  ): Promise<Result> {
    return this.#result(await client.result(task, options));
  }

  /** Works on the tasks of this queue. A payload that the validator refuses fails its attempt. */
  work(
    url: YardUrls,
    options: Omit<WorkOptions, "queue" | "queues">,
    handler: JobHandler<Payload, Result>,
  ): Promise<RunningWorker> {
    const { payload: validator, result } = this.#definition;
    return this.#startWorker(url, { ...options, queue: this.name }, async (body, context) => {
      const payload = checked(validator, valueIn(body, "bad_payload"), (message, cause) => {
        return new YardError("bad_payload", `the payload is not one of queue ${this.name}: ${message}`, {
          cause,
        });
      });
      const made = await handler(payload, context);
      return bodyIn(checked(result, made, (message, cause) => this.#badResult(message, cause)));
    });
  }

  #body(payload: Payload): Body {
    return bodyIn(
      checked(this.#definition.payload, payload, (message, cause) => {
        return new ArgumentError("bad_argument", `the payload is not one of queue ${this.name}: ${message}`, {
          cause,
        });
      }),
    );
  }

  #result(body: Body): Result {
    const value = valueIn(body, "bad_result");
    return checked(this.#definition.result, value, (message, cause) => this.#badResult(message, cause));
  }

  #badResult(message: string, cause: unknown): YardError {
    return new YardError("bad_result", `the result is not one of queue ${this.name}: ${message}`, { cause });
  }
}

function checked<Value>(
  validator: Validator<Value> | undefined,
  value: unknown,
  fault: (message: string, cause: unknown) => YardError,
): Value {
  if (validator === undefined) return value as Value;
  try {
    return validator.parse(value);
  } catch (cause) {
    throw fault(messageOf(cause), cause);
  }
}

/** Text is JSON too here, so that a string comes back as a string. */
function bodyIn(value: unknown): Body {
  return value === undefined ? bodyOf(undefined) : jsonBodyOf(value);
}

function valueIn(body: Body, code: "bad_payload" | "bad_result"): unknown {
  if (body.bytes.length === 0) return undefined;
  try {
    return body.json();
  } catch (cause) {
    throw code === "bad_payload"
      ? new YardError("bad_payload", "the payload is not JSON", { cause })
      : new YardError("bad_result", "the result is not JSON", { cause });
  }
}
