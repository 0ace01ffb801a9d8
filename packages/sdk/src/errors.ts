// Errors of the SDK: one class with a stable code, and a few subclasses with more details.

/**
 * `code` is for programs, `message` for people. The dispatcher's own codes are passed on unchanged.
 */
export class YardError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** `unsupported`: the dialect of the URL does not support the operation. */
export class UnsupportedError extends YardError {
  readonly dialect: string;
  readonly operation: string;

  constructor(dialect: string, operation: string, advice = "use the http door for it") {
    super("unsupported", `${dialect} cannot ${operation}; ${advice}`);
    this.dialect = dialect;
    this.operation = operation;
  }
}

/** `bad_url`, `bad_argument`: an argument is invalid. */
export class ArgumentError extends YardError {}

/**
 * `unreachable`: the address does not answer. It is not known whether the request was carried out.
 */
export class UnreachableError extends YardError {
  constructor(where: string, cause: unknown) {
    super("unreachable", `${where} cannot be reached: ${wordsOf(cause)}`, { cause });
  }
}

/** The dispatcher refused the request. Has the code of its problem document and the status. */
export class RefusedError extends YardError {
  readonly status: number;

  constructor(status: number, code: string, message: string) {
    super(code, message);
    this.status = status;
  }
}

/** How a task can end. */
export type EndState = "done" | "failed" | "cancelled" | "expired";

/** A task ended without a result. `code` is that of the task's error, or its state. */
export class TaskEndedError extends YardError {
  readonly task: string;
  readonly state: EndState;
  /** What the worker said beside the message, such as a stack trace. */
  readonly detail: string | undefined;

  constructor(
    task: string,
    state: EndState,
    error?: { readonly code: string; readonly message: string; readonly detail?: string } | null,
  ) {
    super(error?.code ?? state, `task ${task} ${endWords[state]}${error ? `: ${error.message}` : ""}`);
    this.task = task;
    this.state = state;
    this.detail = error?.detail;
  }
}

const endWords: Readonly<Record<EndState, string>> = {
  done: "is done",
  failed: "failed",
  cancelled: "was cancelled",
  expired: "expired before a worker took it",
};

/** Why a handler should stop. */
export type InterruptCode = "cancelled" | "lost" | "stopping" | "time_limit";

/** The reason with which a handler's signal was aborted. */
export class InterruptedError extends YardError {
  declare readonly code: InterruptCode;

  constructor(code: InterruptCode) {
    super(code, interruptWords[code]);
  }
}

const interruptWords: Readonly<Record<InterruptCode, string>> = {
  cancelled: "the task was cancelled",
  lost: "the lease is lost: the task is another worker's now",
  stopping: "the worker is stopping, and its time to finish is over",
  time_limit: "the time limit of the attempt is over",
};

/** Node's connection errors often have a code but no message, or combine several errors. */
export function wordsOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors.length > 0) return wordsOf(cause.errors[0]);
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : systemWords.get(code);
  return known ?? (cause.message || code || cause.name);
}

const systemWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ECONNREFUSED: "nothing listens there (is the dispatcher running?)",
    ECONNRESET: "the connection was closed",
    ENOTFOUND: "there is no host of that name",
    EAI_AGAIN: "the name of the host could not be looked up",
    ETIMEDOUT: "no answer in time",
    EHOSTUNREACH: "there is no route to that host",
    ENETUNREACH: "there is no route to that network",
  }),
);
