// Whole tasks over plain http on kept-alive connections: each submits, claims and ends tasks in
// turn, one or many per request.

import { connect } from "node:net";
import { readArgs } from "./child.js";
import { countEnded } from "./measured-load.js";

interface Args {
  readonly address: string;
  readonly connections: number;
  /** Tasks per request: 1, or a batch. */
  readonly tasks: number;
  /** Answers carry the task, and not only its id: the default of the http door. */
  readonly isWhole?: boolean;
}

interface Attempt {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
}

const { address, connections, tasks, isWhole = false } = readArgs<Args>();
const [host = "", port = ""] = address.split(":");
const payload = "a job of a few dozen bytes, as real ones are";
let done = 0;
const prefer = isWhole ? "" : "Prefer: return=minimal\r\n";

function requestText(path: string, body: string, headers = ""): string {
  return `POST ${path} HTTP/1.1\r\nHost: ${address}\r\n${prefer}${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const ndjson = "Content-Type: application/x-ndjson\r\n";
const submit =
  tasks === 1
    ? requestText("/v1/queues/bench/tasks", payload, "Content-Type: text/plain\r\n")
    : requestText("/v1/queues/bench/tasks:batch", `${JSON.stringify({ payload })}\n`.repeat(tasks), ndjson);

function endOf(attempts: readonly Attempt[]): string {
  const [only] = attempts;
  if (tasks === 1 && only !== undefined) {
    const { task, attempt, token } = only;
    const headers = `Yard-Token: ${token}\r\nContent-Type: text/plain\r\n`;
    return requestText(`/v1/tasks/${task}/attempts/${attempt}:done`, "ok", headers);
  }
  const lines = attempts.map(({ task, attempt, token }) =>
    JSON.stringify({ task, attempt, token, result: "ok" }),
  );
  return requestText("/v1/attempts:batch", lines.join("\n"), ndjson);
}

/** The next request after an answer: submit, claim until there is something, end it, repeat. */
function open(name: string): void {
  const claim = requestText(`/v1/queues/bench:claim?worker=${name}&max=${tasks}`, "");
  let stage: "submit" | "claim" | "end" = "submit";
  let ended = 0;
  const next = (body: string): string => {
    if (stage === "submit") {
      stage = "claim";
      return claim;
    }
    if (stage === "claim") {
      if (body === "") return claim;
      stage = "end";
      const { attempts } = JSON.parse(body) as { attempts: Attempt[] };
      ended = attempts.length;
      return endOf(attempts);
    }
    done += ended;
    stage = "submit";
    return submit;
  };
  const socket = connect(Number(port), host, () => socket.write(submit));
  socket.setNoDelay(true);
  let held = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const end = held.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = held.toString("latin1", 0, end);
    if (!/^HTTP\/1\.1 20[014]/.test(head)) throw new Error(held.toString());
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (held.length < end + 4 + length) return;
    const body = held.toString("utf8", end + 4, end + 4 + length);
    held = Buffer.alloc(0);
    socket.write(next(body));
  });
}

countEnded(
  () => done,
  () => {
    for (let index = 0; index < connections; index++) open(`w${index}`);
  },
);
