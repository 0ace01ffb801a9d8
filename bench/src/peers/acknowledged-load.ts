// Requests acknowledgements at a steady rate over http and udp, and reports how long they took.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { onOrder, readArgs, report } from "./child.js";

const { http, udp, perSecond } = readArgs<{ http: string; udp: string; perSecond: number }>();
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const times = { http: [] as number[], udp: [] as number[] };

function submitByHttp(): void {
  const startedAt = performance.now();
  const asking = request(`${http}/v1/queues/pingpong/tasks`, { method: "POST", agent }, (response) => {
    if (response.statusCode === 201) times.http.push(performance.now() - startedAt);
    response.resume();
  });
  asking.on("error", () => {});
  asking.end("a job of a few dozen bytes, as real ones are");
}

const socket = createSocket("udp4").bind(0, "127.0.0.1");
await once(socket, "listening");
const [host, port] = udp.split(":");
const asked = new Map<number, number>();
let lastId = Date.now();
socket.on("message", (bytes, from) => {
  const packet = JSON.parse(bytes.toString()) as Record<string, unknown>;
  const startedAt = asked.get(packet.transmission_id as number);
  if (packet.packet_type === 2 && startedAt !== undefined) {
    asked.delete(packet.transmission_id as number);
    times.udp.push(performance.now() - startedAt);
  }
  // The dispatcher repeats an outcome until it is acknowledged.
  if (packet.packet_type === 1)
    socket.send(JSON.stringify({ ...packet, packet_type: 2 }), from.port, from.address);
});

function submitByUdp(): void {
  lastId += 1;
  asked.set(lastId, performance.now());
  const packet = { method: "add_task", packet_type: 1, transmission_id: lastId, params: { task_id: lastId } };
  socket.send(JSON.stringify(packet), Number(port), host);
}

report({ ready: true });
onOrder(({ warmUpMs, measureMs }) => {
  const startedAt = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1000) * perSecond;
    for (; sent < due; sent++) {
      submitByHttp();
      submitByUdp();
    }
  }, 2);
  // The first requests meet code that is not compiled and connections that are not open yet.
  setTimeout(() => {
    times.http = [];
    times.udp = [];
  }, warmUpMs as number);
  setTimeout(
    () => {
      clearInterval(timer);
      setTimeout(
        () => report({ http: sorted(times.http), udp: sorted(times.udp), unacknowledged: asked.size }),
        500,
      );
    },
    (warmUpMs as number) + (measureMs as number),
  );
});

function sorted(values: number[]): number[] {
  return values.sort((one, other) => one - other);
}
