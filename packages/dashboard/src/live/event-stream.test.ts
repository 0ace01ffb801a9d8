import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { EventStream } from "./event-stream.js";

const page = Object.assign(new EventTarget(), { hidden: false, baseURI: "http://yard.test/" });
const asked: { headers: Headers; signal: AbortSignal }[] = [];
let send: (text: string) => void = () => undefined;

/** Lets promises settle. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

function hide(isHidden: boolean): void {
  page.hidden = isHidden;
  page.dispatchEvent(new Event("visibilitychange"));
}

/** The browser's locks, which all its pages share. */
const locked = new Set<string>();
const locks = {
  async request(name: string, _options: unknown, work: (lock: object | null) => Promise<void> | undefined) {
    if (locked.has(name)) return await work(null);
    locked.add(name);
    await work({});
    locked.delete(name);
  },
};
Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });

Object.assign(globalThis, {
  document: page,
  fetch: async (_url: string, { headers, signal }: { headers: Headers; signal: AbortSignal }) => {
    asked.push({ headers, signal });
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        send = (text) => controller.enqueue(new TextEncoder().encode(text));
        signal.addEventListener("abort", () => controller.error(signal.reason));
      },
    });
    return new Response(body);
  },
});

function openStream(): EventStream {
  const handlers = { onOpen() {}, onEvents() {}, onLost() {}, onRefused() {} };
  const stream = new EventStream("v1/events", handlers);
  stream.open();
  return stream;
}

beforeEach(() => {
  asked.length = 0;
  page.hidden = false;
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
});

test("a page that is hidden for half a minute has no stream, and then goes on where it was", async () => {
  const stream = openStream();
  await settle();
  send("id: a-7\nevent: figures\ndata: {}\n\n");
  await settle();
  hide(true);
  mock.timers.tick(29_000);
  assert.equal(asked[0]?.signal.aborted, false);
  mock.timers.tick(1_000);
  assert.equal(asked[0]?.signal.aborted, true);
  await settle();
  mock.timers.tick(60_000);
  assert.equal(asked.length, 1);
  hide(false);
  await settle();
  assert.equal(asked.length, 2);
  assert.equal(asked[1]?.headers.get("Last-Event-ID"), "a-7");
  stream.close();
});

test("a page that is opened behind another one has no stream after half a minute either", async () => {
  page.hidden = true;
  const stream = openStream();
  await settle();
  mock.timers.tick(30_000);
  assert.equal(asked[0]?.signal.aborted, true);
  stream.close();
});

test("a closed stream stays closed when the page is seen again; a restarted one begins anew", async () => {
  const stream = openStream();
  await settle();
  send("id: a-7\nevent: figures\ndata: {}\n\n");
  await settle();
  stream.close();
  hide(true);
  hide(false);
  await settle();
  assert.equal(asked.length, 1);
  stream.restart();
  await settle();
  assert.equal(asked[1]?.headers.get("Last-Event-ID"), null);
  stream.close();
});

test("four streams stay open; a fifth looks in every three seconds, until one of them is closed", async () => {
  const others = Array.from({ length: 4 }, openStream);
  await settle();
  const fifth = openStream();
  await settle();
  assert.equal(asked.length, 5);
  send("id: a-7\nevent: figures\ndata: {}\n\n");
  await settle();
  mock.timers.tick(200);
  await settle();
  mock.timers.tick(2_999);
  await settle();
  assert.equal(asked.length, 5);
  others[0]?.close();
  await settle();
  mock.timers.tick(1);
  await settle();
  assert.equal(asked.length, 6);
  assert.equal(asked[5]?.headers.get("Last-Event-ID"), "a-7");
  // It has a slot now, and is silent for as long as a stream may be.
  mock.timers.tick(39_000);
  await settle();
  assert.equal(asked.length, 6);
  for (const each of [...others, fifth]) each.close();
  await settle();
  assert.equal(locked.size, 0);
});
