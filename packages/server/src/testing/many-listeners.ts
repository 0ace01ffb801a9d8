// For tests, in a process of its own: `many-listeners.js HOST:PORT COUNT` listens to the yard's events on many
// connections, and reports when all have their snapshot, and when all have heard of a task.

import { connect } from "node:net";

const [address = "", count = "0"] = process.argv.slice(2);
const [host = "", port = ""] = address.split(":");
const wanted = Number(count);
/** Connections under way at once: more than a listening socket's backlog would wait for a retransmission. */
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
