// One component with many open questions, and N workers of a controller with one question each. All
// ids have the same length, so that questions and answers differ only in their ids.

import { monique } from "@yardmaster/dialects";
import { readArgs, report } from "./child.js";
import { countEnded } from "./measured-load.js";
import { onWire, openRawPeer, type RawPeer } from "./raw-peer.js";

const { front, back, controller, workerCount } = readArgs<{
  front: string;
  back: string;
  controller: string;
  workerCount: number;
}>();
// Twice the number of workers, so that each finds a question when it becomes idle.
const underWay = workerCount * 2;
const idLength = 40;
const marker = "Q".repeat(idLength);

function template(type: "config" | "result", id: string, pid: string): Buffer {
  return onWire(
    monique.writeMessage(
      {
        ...{
          type,
          spec: "bench_echo",
          id,
          pid,
          creator: "bench",
          createdAt: 1_700_000_000_000,
          expiresAt: 0,
        },
        ...{ encoding: "JSON", data: Buffer.from('"a job of a few dozen bytes, as real ones are"') },
      },
      "d3",
    ),
  );
}

const question = template("config", marker, "");
const answer = template("result", "a".repeat(idLength), marker);
const idAt = question.indexOf(marker);
/** Offsets at which the id is written: in the tag, and in the content. */
const places = (message: Buffer) => [message.indexOf(marker), message.lastIndexOf(marker)] as const;
const questionPlaces = places(question);
const answerPlaces = places(answer);

let last = 0;
let ready = 0;
const onReady = () => {
  ready += 1;
  if (ready === workerCount * 2 + 2) setTimeout(() => report({ ready: true }), 200);
};

const push = openRawPeer({ endpoint: front, socketType: "PUSH", onReady });
function ask(count: number): void {
  const bytes = Buffer.alloc(question.length * count);
  for (let index = 0; index < count; index += 1) {
    last += 1;
    const at = index * question.length;
    question.copy(bytes, at);
    const id = String(last).padStart(idLength, "0");
    for (const place of questionPlaces) bytes.write(id, at + place, "latin1");
  }
  push.write(bytes);
}

/** Passes on whole messages of one length, however they are split on arrival. */
function inWholes(length: number, take: (bytes: Buffer, count: number) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (bytes) => {
    const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    const count = Math.floor(all.length / length);
    rest = Buffer.from(all.subarray(count * length));
    if (count > 0) take(all, count);
  };
}

function startWorker(): void {
  const out: RawPeer = openRawPeer({ endpoint: front, socketType: "PUSH", onReady });
  openRawPeer({
    ...{ endpoint: controller, socketType: "PULL", onReady },
    onBytes: inWholes(question.length, (bytes, count) => {
      for (let index = 0; index < count; index += 1) {
        const made = Buffer.from(answer);
        const from = index * question.length + idAt;
        for (const place of answerPlaces) bytes.copy(made, place, from, from + idLength);
        out.write(made);
      }
    }),
  });
}
for (let index = 0; index < workerCount; index += 1) startWorker();

let done = 0;
openRawPeer({
  ...{ endpoint: back, socketType: "SUB", prefix: "result:bench_echo:", onReady },
  onBytes: inWholes(answer.length, (_bytes, count) => {
    done += count;
    ask(count);
  }),
});

countEnded(
  () => done,
  () => {
    ask(underWay);
  },
);
