// Raw workers and one raw client of the scaler dialect, the same for every scheduler under test: no-op tasks, with or
// without an object for each result.

import { Dealer } from "@yardmaster/zmtp";
import { onOrder, readArgs, report } from "./child.js";

const { address, workerCount, underWay, objects, hasResults } = readArgs<{
  address: string;
  workerCount: number;
  /** Tasks that are out at any time. */
  underWay: number;
  /** Objects that only lie there. */
  objects: number;
  hasResults: boolean;
}>();

const source = Buffer.from("1|Client|00112233445566778899aabbccddeeff");
const none = Buffer.alloc(0);
const [success, create, remove] = ["S", "C", "D"].map((letter) => Buffer.from(letter)) as [
  Buffer,
  Buffer,
  Buffer,
];
const one = Buffer.from(Uint32Array.of(1, 1, 1).buffer);
const functionId = Buffer.alloc(24, "function");
const argumentId = Buffer.alloc(24, "argument");
const type = (letters: string) => Buffer.from(letters);
const [TK, TR, OI] = [type("TK"), type("TR"), type("OI")];

function resultIdOf(task: Buffer): Buffer {
  const id = Buffer.alloc(24, "result");
  task.copy(id, 8);
  return id;
}

function work(worker: Dealer, [, task]: readonly Buffer[]): void {
  const id = resultIdOf(task as Buffer);
  if (hasResults) worker.send([OI, create, source, one, id, type("<res>"), Buffer.from("a result")]);
  worker.send([TR, task as Buffer, success, none, id]);
}

let known = 0;
for (let index = 0; index < workerCount; index++) {
  const worker: Dealer = new Dealer({
    identity: `2|w${index}|00112233445566778899aabbccddeeff`,
    onPeer: () => worker.send([type("HB"), Buffer.alloc(33)]),
    onMessage: (_peer, frames) => {
      const first = frames[0]?.[0];
      if (first === 0x54) work(worker, frames);
      else if (first === 0x48 && ++known === workerCount) startClient();
    },
  });
  worker.connect(address);
}

let done = 0;
let sent = 0;
/** Results whose objects are to be let go, a message for a hundred. */
let fetched: Buffer[] = [];
const finished: number[] = [];
let startedAt = 0;
let isAlone = false;

const client: Dealer = new Dealer({
  identity: source,
  onPeer: () => client.send([type("CB"), Buffer.alloc(20)]),
  limits: { sendMessagesMax: 10_000_000, sendBytesMax: 1 << 30 },
  onMessage: (_peer, frames) => {
    if (frames[0]?.[0] !== 0x54) return ready();
    done += 1;
    if (hasResults) letGo(frames[4] as Buffer);
    if (isAlone) {
      finished.push(performance.now() - startedAt);
      setImmediate(alone);
    } else submit();
  },
});

function letGo(id: Buffer): void {
  fetched.push(Buffer.from(id));
  if (fetched.length < 100) return;
  client.send([OI, remove, source, Buffer.from(Uint32Array.of(fetched.length, 0, 0).buffer), ...fetched]);
  fetched = [];
}

function submit(): void {
  const task = Buffer.alloc(16);
  task.writeUInt32BE(++sent, 12);
  client.send([TK, task, source, Buffer.alloc(5), functionId, type("R"), argumentId]);
}

function alone(): void {
  startedAt = performance.now();
  submit();
}

function startClient(): void {
  client.connect(address);
}

function ready(): void {
  client.send([OI, create, source, one, functionId, type("f"), type("function")]);
  client.send([OI, create, source, one, argumentId, type("a"), type("argument")]);
  for (let index = 0; index < objects; index += 200) {
    const ids = Array.from({ length: 200 }, (_, each) => {
      const id = Buffer.alloc(24, "lies");
      id.writeUInt32BE(index + each, 20);
      return id;
    });
    const names = ids.map(() => type("n"));
    client.send([
      OI,
      create,
      source,
      Buffer.from(Uint32Array.of(200, 200, 200).buffer),
      ...ids,
      ...names,
      ...names,
    ]);
  }
  report({ ready: true });
}

onOrder(({ measureMs, warmUpMs, isAlone: wanted }) => {
  isAlone = wanted === true;
  if (isAlone) alone();
  else for (let index = 0; index < underWay; index++) submit();
  setTimeout(() => {
    report({ started: true });
    finished.length = 0;
    const from = { at: performance.now(), done };
    setTimeout(() => {
      const tasks = done - from.done;
      const sorted = finished.sort((a, b) => a - b);
      const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? 0;
      report({
        tasks,
        perSecond: tasks / ((performance.now() - from.at) / 1000),
        p50: at(0.5),
        p99: at(0.99),
      });
    }, measureMs as number);
  }, warmUpMs as number);
});
