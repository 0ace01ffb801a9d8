// Pages that repeat facts of the code must agree with it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { defaultLimits, limitNames, reportLengthMax } from "@yardmaster/core";
import { PostgresEngine } from "@yardmaster/engines";
import { Access } from "./access/access.js";
import { configReference } from "./config/reference.js";
import { Tap } from "./door-kit/tap.js";
import { problemKinds } from "./http/problems.js";
import { type MachineFacts, Metrics } from "./metrics.js";
import { memoryRuntime } from "./testing/memory-runtime.js";

function page(name: string): string {
  return readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");
}

const machine: MachineFacts = {
  version: "1",
  engine: "embedded",
  durability: "fsync",
  memoryBytesMax: 1,
  memoryBytes: () => 1,
  disk: () => ({ usedBytes: 1, freeBytes: 1 }),
};

/** The metrics that a page of ours names, without the endings of histograms. */
function metricsIn(text: string): string[] {
  return (text.match(/\b(?:yardmaster|nodejs|process)_\w+/g) ?? []).map((name) =>
    name.replace(/_(?:bucket|sum|count)$/, ""),
  );
}

async function metricNames(): Promise<string[]> {
  return (await metricLines()).map(([, name]) => name ?? "");
}

async function metricLines(): Promise<RegExpExecArray[]> {
  const metrics = new Metrics();
  const runtime = memoryRuntime();
  metrics.watchRuntime(runtime);
  metrics.watchTap(new Tap());
  metrics.watchMachine(machine);
  metrics.watchAccess(Access.open());
  const { member } = new PostgresEngine({
    url: "postgres://none",
    cluster: { node: "n1", beatMs: 100, silenceMs: 600 },
  });
  if (member !== undefined) metrics.watchCluster(member);
  await runtime.start();
  const text = await metrics.render();
  await runtime.stop(0);
  return [...text.matchAll(/^# TYPE (\w+) (\w+)/gm)];
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

test("limits.md lists every limit that is counted, with its default", () => {
  const rows = page("limits.md").split("\n");
  const missing = limitNames.filter((name) => {
    const value: number | undefined = { ...defaultLimits, reportLength: reportLengthMax }[name as never];
    // A setting has its default in operations.md.
    const isListed = (row: string) => row.includes(`limits.${name}`) || isWithValue(row, name, value);
    return !rows.some((row) => row.startsWith("| ") && isListed(row));
  });
  assert.deepEqual(missing, []);
});

function isWithValue(row: string, name: string, value: number | undefined): boolean {
  return row.includes(`\`${name}\``) && (value === undefined || row.includes(value.toLocaleString("en-US")));
}

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

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly query: string }[] };
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}

/** Everything that the dashboard and the alert rules ask Prometheus. */
function expressions(): string[] {
  const { templating, panels } = JSON.parse(page("grafana.json")) as Dashboard;
  const rules = [...page("deploy/alerts.yaml").matchAll(/^ +expr: (.+)$/gm)].map(([, expr]) => expr ?? "");
  assert.ok(rules.length >= 8);
  return [
    ...templating.list.map(({ query }) => query),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...rules,
  ];
}

test("the dashboard and the alert rules ask for metrics that there are", async () => {
  const known = new Set(await metricNames());
  const asked = expressions().flatMap(metricsIn);
  assert.ok(asked.length > 25);
  assert.deepEqual(
    asked.filter((name) => !known.has(name)),
    [],
  );
});

test("rates are taken of counters only, and counters end in _total", async () => {
  const types = new Map((await metricLines()).map(([, name = "", type = ""]) => [name, type]));
  for (const expr of expressions()) {
    for (const [, name = ""] of expr.matchAll(/\b(?:rate|increase)\((\w+)/g)) {
      const type = types.get(name.replace(/_(?:bucket|sum|count)$/, ""));
      assert.ok(type === "counter" || type === "histogram", `${name} is a ${type}: ${expr}`);
    }
  }
  for (const [name, type] of types) {
    if (name.startsWith("yardmaster_")) assert.equal(name.endsWith("_total"), type === "counter", name);
  }
});
