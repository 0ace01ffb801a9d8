import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { YardUnderTest } from "./http/yard-under-test.js";
import { patience } from "./testing/patience.js";
import { Tracing } from "./tracing.js";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const headers = { traceparent: `00-${traceId}-${spanId}-01` };

describe("traces", patience, () => {
  let exporter: InMemorySpanExporter;
  let yard: YardUnderTest;
  beforeEach(async () => {
    exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    const traces = new Tracing(provider.getTracer("test"), Date.now);
    yard = new YardUnderTest({ traces });
    yard.runtime.port("test").reads.follow(traces.follow);
    await yard.open();
  });
  afterEach(() => yard.close());

  const spans = () => exporter.getFinishedSpans();
  const brief = ({ name, attributes }: ReadableSpan) =>
    [name, attributes["yardmaster.outcome"]].filter((part) => part !== undefined).join(" ");

  test("follow a task from whoever handed it in to whoever works on it", async () => {
    const { status } = await yard.ask("POST", "/v1/queues/q/tasks", { body: "x", headers });
    assert.equal(status, 201);
    const raw = await yard.ask("POST", "/v1/queues/q:claim?worker=w", {
      headers: { Accept: "application/octet-stream" },
    });
    const onward = raw.headers.get("traceparent");
    const [task, attempt, token] = ["yard-task", "yard-attempt", "yard-token"].map(
      (name) => raw.headers.get(name) ?? "",
    );
    await yard.ask("POST", `/v1/tasks/${task}/attempts/${attempt}:done`, {
      headers: { "Yard-Token": token ?? "" },
    });
    assert.deepEqual(spans().map(brief), ["submit", "wait", "attempt done"]);
    const [submit, wait, attempted] = spans();
    assert.ok(submit && wait && attempted);
    for (const span of spans()) assert.equal(span.spanContext().traceId, traceId);
    assert.equal(submit.parentSpanContext?.spanId, spanId);
    assert.equal(wait.parentSpanContext?.spanId, submit.spanContext().spanId);
    assert.equal(attempted.parentSpanContext?.spanId, submit.spanContext().spanId);
    assert.equal(onward, `00-${traceId}-${attempted.spanContext().spanId}-01`);
    assert.equal(attempted.attributes["yardmaster.worker"], "http/w");
    assert.deepEqual(wait.startTime, submit.startTime);
    assert.deepEqual(wait.endTime, attempted.startTime);
  });

  test("tell of every attempt, and of what became of it", async () => {
    const lines = '{"payload":1,"failures":2}';
    await yard.ask("POST", "/v1/queues/q/tasks:batch", { body: lines, headers });
    const [first] = await yard.claim("q", "w");
    assert.ok(first);
    assert.match((first as { traceparent?: string }).traceparent ?? "", new RegExp(`^00-${traceId}-`));
    await yard.speak(first, "fail", { body: '{"message":"no"}' });
    const [second] = await yard.claim("q", "w", "&wait=20s");
    assert.ok(second);
    await yard.ask("POST", `/v1/tasks/${second.task}:cancel`);
    assert.deepEqual(spans().map(brief), ["submit", "wait", "attempt lost", "wait", "attempt cancelled"]);
  });

  test("begin here if a task came without trace context, or with one that cannot be read", async () => {
    await yard.ask("POST", "/v1/queues/q/tasks", { body: "x", headers: { traceparent: "nonsense" } });
    const { id } = await yard.submit("q", "x");
    await yard.ask("POST", `/v1/tasks/${id}:cancel`);
    assert.deepEqual(spans().map(brief), ["submit", "submit", "wait"]);
    assert.equal(spans()[0]?.parentSpanContext, undefined);
    assert.notEqual(spans()[0]?.spanContext().traceId, spans()[1]?.spanContext().traceId);
  });
});

test("without traces a task carries no trace context", patience, async () => {
  const yard = await new YardUnderTest().open();
  try {
    await yard.ask("POST", "/v1/queues/q/tasks", { body: "x", headers });
    const page = await yard.runtime.port("test").reads.find({ limit: 1 });
    assert.equal(page.items[0]?.head.envelope, undefined);
    assert.equal((await yard.ask("POST", "/v1/queues/q:claim?worker=w")).text.includes("traceparent"), false);
  } finally {
    await yard.close();
  }
});
