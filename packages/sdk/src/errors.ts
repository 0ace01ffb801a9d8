// What goes wrong for people who use the SDK: one class with a stable code, and a few of its kinds that carry more.

/** `code` is for programs, `message` for people. The dispatcher's own codes are passed on as they are. */
export class YardError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** `unsupported`: the dialect of the URL has no way to do it. */
export class UnsupportedError extends YardError {
  readonly dialect: string;
  readonly operation: string;

  constructor(dialect: string, operation: string, advice = "use the http door for it") {
    super("unsupported", `${dialect} cannot ${operation}; ${advice}`);
    this.dialect = dialect;
    this.operation = operation;
  }
}

/** `bad_url`, `bad_argument`: what was given cannot be meant. */
export class ArgumentError extends YardError {}

/** `unreachable`: nobody answers at the address. Whether what was asked was done is not known. */
export class UnreachableError extends YardError {
  constructor(where: string, cause: unknown) {
    super("unreachable", `${where} cannot be reached: ${wordsOf(cause)}`, { cause });
  }
}

/** The dispatcher refused, with the code of its problem document and the status it came with. */
export class RefusedError extends YardError {
  readonly status: number;

  constructor(status: number, code: string, message: string) {
    super(code, message);
    this.status = status;
  }
}

export type EndState = "done" | "failed" | "cancelled" | "expired";

/** A task ended without a result; `code` is that of the task's error, or its state. */
export class TaskEndedError extends YardError {
  readonly task: string;
  readonly state: EndState;

  constructor(
    task: string,
    state: EndState,
    error?: { readonly code: string; readonly message: string } | null,
  ) {
    super(error?.code ?? state, `task ${task} ${endWords[state]}${error ? `: ${error.message}` : ""}`);
    this.task = task;
    this.state = state;
  }
}

const endWords: Readonly<Record<EndState, string>> = {
  done: "is done",
  failed: "failed",
  cancelled: "was cancelled",
  expired: "expired before a worker took it",
};

export type InterruptCode = "cancelled" | "lost" | "stopping" | "time_limit";

/** Why the signal of a handler fired. */
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

/** Connection errors of Node often have no message but a code, or hide several in one. */
export function wordsOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors.length > 0) return wordsOf(cause.errors[0]);
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : systemWords.get(code);
  return known ?? (cause.message || code || cause.name);
}

const systemWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ECONNREFUSED: "nobody listens there (is the dispatcher running?)",
    ECONNRESET: "the connection was closed",
    ENOTFOUND: "there is no host of that name",
    EAI_AGAIN: "the name of the host could not be looked up",
    ETIMEDOUT: "no answer in time",
    EHOSTUNREACH: "there is no way to that host",
    ENETUNREACH: "there is no way to that network",
  }),
);
