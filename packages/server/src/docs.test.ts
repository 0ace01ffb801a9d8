// The pages that say what the code says: they must say the same.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { configReference } from "./config/reference.js";
import { Tap } from "./door-kit/tap.js";
import { problemKinds } from "./http/problems.js";
import { Metrics } from "./metrics.js";
import { memoryRuntime } from "./testing/memory-runtime.js";

function page(name: string): string {
  return readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");
}

async function metricNames(): Promise<string[]> {
  const metrics = new Metrics();
  const runtime = memoryRuntime();
  metrics.watchRuntime(runtime);
  metrics.watchTap(new Tap());
  await runtime.start();
  const text = await metrics.render();
  await runtime.stop(0);
  return [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name ?? "");
}

test("errors.md lists every problem, with its status and its title", () => {
  const rows = [...page("errors.md").matchAll(/^\| `(\w+)` \| (\d+) \| ([^|]+) \| [^|]+ \|$/gm)];
  assert.deepEqual(
    rows.map(([, code, status, title]) => `${code} ${status} ${title}`).toSorted(),
    Object.entries(problemKinds)
      .map(([code, { status, title }]) => `${code} ${status} ${title}`)
      .toSorted(),
  );
});

test("operations.md has the configuration as the schema has it", () => {
  const [, written] =
    /<!-- settings -->\n([\s\S]*?)\n<!-- end of settings -->/.exec(page("operations.md")) ?? [];
  assert.equal(written, configReference(), "run: npm run config-reference");
});

test("operations.md explains every metric of ours, and no other", async () => {
  const rows = [...page("operations.md").matchAll(/^\| `(yardmaster_\w+)` \|/gm)].map(([, name]) => name);
  const ours = (await metricNames()).filter((name) => name.startsWith("yardmaster_"));
  assert.deepEqual(rows.toSorted(), ours.toSorted());
});

test("the Grafana dashboard asks for metrics that there are", async () => {
  const dashboard = JSON.parse(page("grafana.json")) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  };
  const known = new Set(await metricNames());
  const asked = dashboard.panels
    .flatMap(({ targets }) => targets)
    .flatMap(({ expr }) => expr.match(/\b(?:yardmaster|nodejs|process)_\w+/g) ?? []);
  assert.ok(asked.length > 15);
  for (const name of asked) assert.ok(known.has(name.replace(/_bucket$/, "")), name);
});
