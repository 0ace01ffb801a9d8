// Loaded into a dispatcher with `node --import`, like an OpenTelemetry SDK: prints each span as a
// line on standard error.

import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, type ReadableSpan, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

const exporter = {
  export(spans: readonly ReadableSpan[], done: (result: { code: number }) => void): void {
    for (const span of spans) {
      const { traceId } = span.spanContext();
      const shown = { name: span.name, traceId, queue: span.attributes["yardmaster.queue"] };
      process.stderr.write(`span ${JSON.stringify(shown)}\n`);
    }
    done({ code: 0 });
  },
  shutdown: () => Promise.resolve(),
};

trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter as never)] }),
);
