// For tests, run as its own process: `many-listeners.js HOST:PORT COUNT` opens many connections to
// the yard's events. It reports when all have their snapshot, and when all have received a task's
// event.

import { connect } from "node:net";

const [address = "", count = "0"] = process.argv.slice(2);
const [host = "", port = ""] = address.split(":");
const wanted = Number(count);
/**
 * Simultaneous connection attempts. With more, some would exceed the listening socket's backlog and
 * wait for a retransmission.
 */
const atOnceMax = 200;
let opened = 0;
let underWay = 0;
const heard = { snapshot: 0, task: 0 };

function openMore(): void {
  while (opened < wanted && underWay < atOnceMax) open();
}

function open(): void {
  opened += 1;
  underWay += 1;
  let text = "";
  let waitsFor: keyof typeof heard = "snapshot";
  const socket = connect(Number(port), host, () => {
    socket.write("GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  });
  socket.on("error", (error) => {
    throw error;
  });
  socket.on("data", (chunk) => {
    text += chunk;
    if (!text.includes(`event: ${waitsFor}`)) return;
    text = "";
    heard[waitsFor] += 1;
    if (heard[waitsFor] === wanted) process.send?.({ heard: wanted });
    if (waitsFor === "task") return;
    waitsFor = "task";
    underWay -= 1;
    openMore();
  });
}

process.on("disconnect", () => process.exit());
openMore();
