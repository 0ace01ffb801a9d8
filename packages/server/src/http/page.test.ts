// The page's own script, run against a real door with as much of a browser as it uses.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { patience } from "../testing/patience.js";
import { YardUnderTest } from "./yard-under-test.js";

class FakeElement {
  textContent: unknown = "";
  className = "";
  value = "";
  rows: FakeElement[] = [];
  readonly classList = {
    toggle: (_name: string, isOn: boolean) => {
      this.asks = isOn;
    },
  };
  asks = false;
  #onSubmit: (event: object) => void = () => {};

  replaceChildren(...rows: FakeElement[]): void {
    this.rows = rows;
  }

  insertCell(): FakeElement {
    const cell = new FakeElement();
    this.rows.push(cell);
    return cell;
  }

  addEventListener(_event: string, listener: (event: object) => void): void {
    this.#onSubmit = listener;
  }

  submit(): void {
    this.#onSubmit({ preventDefault() {} });
  }

  get text(): unknown[] {
    return this.rows.map((row) => (row.rows.length > 0 ? row.rows.map((cell) => cell.textContent) : []));
  }
}

function openPage(script: string, base: string) {
  const elements = new Map<string, FakeElement>();
  const named = (name: string) => {
    const element = elements.get(name) ?? new FakeElement();
    elements.set(name, element);
    return element;
  };
  const stop = new AbortController();
  const page = {
    document: {
      body: named("body"),
      getElementById: named,
      querySelector: named,
      createElement: () => new FakeElement(),
    },
    fetch: (path: string, options: RequestInit) =>
      fetch(`http://${base}${path}`, { ...options, signal: stop.signal }),
    requestAnimationFrame: (draw: () => void) => setImmediate(draw),
    setTimeout: (work: () => void) => stop.signal.aborted || setImmediate(work),
    TextDecoderStream,
    Promise,
  };
  runInContext(script, createContext(page));
  return { named, close: () => stop.abort() };
}

test("the page shows queues, workers and tasks, and asks for a token where one is set", {
  ...patience,
}, async () => {
  const yard = await new YardUnderTest({ config: { token: "t0ken" } }).open();
  const headers = { Authorization: "Bearer t0ken" };
  const { text, headers: answered } = await yard.ask("GET", "/");
  assert.match(answered.get("content-security-policy") ?? "", /script-src 'sha256-[\w+/=]+'; /);
  const script = /<script>([\s\S]*?)<\/script>/.exec(text)?.[1] ?? "";
  const { named, close } = openPage(script, yard.base);
  try {
    await yard.eventually(async () => named("body").asks || undefined);
    assert.deepEqual(named("queues").text, []);
    named("input").value = "t0ken";
    named("form").submit();
    await yard.eventually(async () => named("state").textContent === "live" || undefined);
    assert.equal(named("body").asks, false);
    await yard.ask("POST", "/v1/queues/<b>/tasks", { headers });
    await yard.ask("POST", "/v1/queues/render/tasks", { body: "x", headers });
    await yard.ask("POST", "/v1/queues/render:claim?worker=ann", { headers });
    await yard.ask("POST", "/v1/queues/render:pause", { headers });
    await yard.eventually(async () => (String(named("queues").text).includes("paused") ? true : undefined));
    await yard.eventually(async () => (String(named("tasks").text).includes("running") ? true : undefined));
    assert.deepEqual(named("queues").text, [["render", 0, 1, "paused"]]);
    assert.deepEqual(named("workers").text, [["http/ann", "http", "127.0.0.1", "render", 1, "busy"]]);
    assert.deepEqual(named("tasks").text, [["1", "render", "running", "http/ann", ""]]);
  } finally {
    close();
    await yard.close();
  }
});
