// Clients of an http server on plain kept-alive sockets with one open request each: cheap enough
// that the server is measured.

import { connect } from "node:net";
import { tokenOf } from "./bench-token.js";
import { readArgs } from "./child.js";
import { countEnded } from "./measured-load.js";

interface Args {
  readonly address: string;
  readonly connections: number;
  /** Tasks per request: 1, or a batch. */
  readonly tasks: number;
  readonly hasAccess?: boolean;
}

const { address, connections, tasks, hasAccess = false } = readArgs<Args>();
const credential = hasAccess ? `Authorization: Bearer ${tokenOf(42)}\r\n` : "";
const [host = "", port = ""] = address.split(":");
const request = tasks === 1 ? single() : batch();
let done = 0;

function single(): Buffer {
  const body = "a job of a few dozen bytes, as real ones are";
  return Buffer.from(
    `POST /v1/queues/bench/tasks HTTP/1.1\r\nHost: ${address}\r\n${credential}Content-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

function batch(): Buffer {
  const body = `${JSON.stringify({ payload: "a job of a few dozen bytes, as real ones are" })}\n`.repeat(
    tasks,
  );
  return Buffer.from(
    `POST /v1/queues/bench/tasks:batch HTTP/1.1\r\nHost: ${address}\r\n${credential}Content-Type: application/x-ndjson\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

function open(): void {
  const socket = connect(Number(port), host, () => socket.write(request));
  socket.setNoDelay(true);
  let headBytes = Buffer.alloc(0);
  /** Bytes left of the current answer, once its head has arrived. */
  let left = 0;
  socket.on("data", (chunk) => {
    let bytes = chunk;
    while (bytes.length > 0) {
      if (left === 0) {
        headBytes = headBytes.length === 0 ? bytes : Buffer.concat([headBytes, bytes]);
        const end = headBytes.indexOf("\r\n\r\n");
        if (end < 0) return;
        const head = headBytes.toString("latin1", 0, end);
        if (!/^HTTP\/1\.1 20[01]/.test(head)) throw new Error(head);
        left = Number(/content-length: (\d+)/i.exec(head)?.[1]);
        bytes = headBytes.subarray(end + 4);
        headBytes = Buffer.alloc(0);
      }
      const part = Math.min(left, bytes.length);
      left -= part;
      bytes = bytes.subarray(part);
      if (left > 0) return;
      done += tasks;
      socket.write(request);
    }
  });
}

countEnded(
  () => done,
  () => {
    for (let index = 0; index < connections; index++) open();
  },
);
