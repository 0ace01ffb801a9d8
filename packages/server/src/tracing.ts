// OpenTelemetry traces: for each task a span for its submission, one for each time it waits, and
// one for each attempt. They are made from committed changes, so they cover every door, and the
// core knows nothing of them. This file is loaded only when traces are configured.

import type { IncomingHttpHeaders } from "node:http";
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { AttemptNumber, Change, TaskHead, TaskId, TaskProgress } from "@yardmaster/core";
import type { TraceCarrier } from "./http/context.js";

/** Maximum number of tasks with open spans. Beyond it the oldest are no longer followed. */
const tasksMax = 100_000;
/** [W3C Trace Context] version, trace, parent and flags. */
const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

interface Traced {
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The context of the submission span, which is the parent of the task's other spans. */
  readonly context: Context;
  wait: Span | undefined;
  attempt: { readonly number: AttemptNumber; readonly span: Span } | undefined;
}

export class Tracing implements TraceCarrier {
  readonly #tracer: Tracer;
  readonly #wall: () => number;
  readonly #tasks = new Map<TaskId, Traced>();

  constructor(tracer: Tracer, wall: () => number) {
    this.#tracer = tracer;
    this.#wall = wall;
  }

  /** Receives committed changes. */
  readonly follow = (changes: readonly Change[]): void => {
    for (const change of changes) {
      if (change.kind === "head") this.#accepted(change.head);
      else if (change.kind === "progress") this.#moved(change.progress);
    }
  };

  envelopeOf({ traceparent }: IncomingHttpHeaders): Uint8Array | undefined {
    if (typeof traceparent !== "string" || !traceparentPattern.test(traceparent)) return undefined;
    return Buffer.from(traceparent, "latin1");
  }

  traceparentOf(task: TaskId, attempt: AttemptNumber): string | undefined {
    const held = this.#tasks.get(task)?.attempt;
    if (held === undefined || held.number !== attempt) return undefined;
    const { traceId, spanId, traceFlags } = held.span.spanContext();
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  }

  #accepted({ id, queue, door, submittedAt, envelope, payload }: TaskHead): void {
    const attributes = { "yardmaster.task": id, "yardmaster.queue": queue, "yardmaster.door": door };
    const parent = (door === "http" ? contextOf(envelope) : undefined) ?? ROOT_CONTEXT;
    const submit = this.#tracer.startSpan(
      "submit",
      {
        kind: SpanKind.PRODUCER,
        startTime: submittedAt,
        attributes: { ...attributes, "yardmaster.payload_bytes": payload.size },
      },
      parent,
    );
    submit.end(this.#wall());
    const context = trace.setSpan(parent, submit);
    this.#forgetOldest();
    this.#tasks.set(id, {
      attributes,
      context,
      wait: this.#tracer.startSpan("wait", { startTime: submittedAt, attributes }, context),
      attempt: undefined,
    });
  }

  #moved(progress: TaskProgress): void {
    const traced = this.#tasks.get(progress.id);
    if (traced === undefined) return;
    const { state, attempt, startedAt, finishedAt } = progress;
    if (attempt !== undefined && attempt !== traced.attempt?.number) {
      this.#endAttempt(traced, "lost", this.#wall());
      endSpan(traced.wait, startedAt ?? this.#wall());
      traced.wait = undefined;
      traced.attempt = { number: attempt, span: this.#attemptSpan(traced, progress) };
    }
    if (state === "running") return;
    const at = finishedAt ?? this.#wall();
    this.#endAttempt(traced, state === "waiting" ? "lost" : state, at);
    if (state === "waiting") {
      const { attributes, context } = traced;
      traced.wait ??= this.#tracer.startSpan("wait", { startTime: at, attributes }, context);
      return;
    }
    endSpan(traced.wait, at);
    this.#tasks.delete(progress.id);
  }

  #attemptSpan({ attributes, context }: Traced, { attempt, worker, startedAt }: TaskProgress): Span {
    return this.#tracer.startSpan(
      "attempt",
      {
        kind: SpanKind.CONSUMER,
        startTime: startedAt ?? this.#wall(),
        attributes: {
          ...attributes,
          "yardmaster.attempt": attempt ?? 0,
          "yardmaster.worker": worker ?? "",
        },
      },
      context,
    );
  }

  /** The end of an attempt is recorded once. An ended span is kept for its attempt number. */
  #endAttempt({ attempt }: Traced, how: string, at: number): void {
    if (attempt === undefined || !attempt.span.isRecording()) return;
    attempt.span.setAttribute("yardmaster.outcome", how);
    if (how !== "done") attempt.span.setStatus({ code: SpanStatusCode.ERROR, message: how });
    attempt.span.end(at);
  }

  #forgetOldest(): void {
    if (this.#tasks.size < tasksMax) return;
    const [oldest] = this.#tasks;
    if (oldest === undefined) return;
    const [id, traced] = oldest;
    endSpan(traced.wait, this.#wall());
    this.#endAttempt(traced, "unknown", this.#wall());
    this.#tasks.delete(id);
  }
}

/** Uses the SDK that the process was started with, if there is one. */
export function startTracing(version: string): Tracing {
  return new Tracing(trace.getTracer("yardmaster", version), Date.now);
}

function endSpan(span: Span | undefined, at: number): void {
  span?.end(at);
}

function contextOf(envelope: Uint8Array | undefined): Context | undefined {
  if (envelope === undefined) return undefined;
  const [firstLine = ""] = Buffer.from(envelope).toString("latin1").split("\n", 1);
  const [, traceId, spanId, flags] = traceparentPattern.exec(firstLine) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  });
}
