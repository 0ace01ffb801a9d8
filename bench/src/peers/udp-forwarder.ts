// A bare dispatcher that moves the same eight datagrams per task as the door, with the same
// contents: four come in (add_task, the ack of perform_task, completed_task, the ack of
// notify_task) and are parsed; four go out (the ack of add_task, perform_task, the ack of
// completed_task, notify_task) and are written as JSON. It gives tasks to calculators in turn and
// matches results to tasks. It checks nothing, resends nothing, and stores nothing.

import { createSocket, type RemoteInfo } from "node:dgram";
import { reportCpu } from "./broker-report.js";
import { report } from "./child.js";

interface Packet {
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly packet_type: number;
}

type Peer = Pick<RemoteInfo, "address" | "port">;

const idle: Peer[] = [];
const waiting: { readonly client: Peer; readonly params: Packet["params"] }[] = [];
const clients = new Map<unknown, Peer>();
let transmission = Date.now();

const socket = createSocket({ type: "udp4", lookup: (peer, _options, take) => take(null, peer, 4) });
socket.on("message", (bytes, peer) => {
  const packet = JSON.parse(bytes.toString()) as Packet;
  if (packet.packet_type === 2) return;
  if (packet.packet_type === 1) send(peer, { ...packet, packet_type: 2 });
  if (packet.method === "add_task") waiting.push({ client: peer, params: packet.params });
  else idle.push(peer);
  if (packet.method === "completed_task") {
    const { task_id, result } = packet.params;
    const client = clients.get(task_id);
    clients.delete(task_id);
    if (client !== undefined) ask(client, "notify_task", { status: "success", task_id, result });
  }
  dispatch();
});

function dispatch(): void {
  while (waiting.length > 0 && idle.length > 0) {
    const calculator = idle.shift() as Peer;
    const { client, params } = waiting.shift() as (typeof waiting)[number];
    clients.set(params.task_id, client);
    const task_uuid = `${client.address}:${client.port}:${params.task_id}`;
    ask(calculator, "perform_task", { ...params, task_uuid });
  }
}

function ask(to: Peer, method: string, params: object): void {
  send(to, { method, params, packet_type: 1, transmission_id: ++transmission });
}

function send(to: Peer, packet: object): void {
  socket.send(Buffer.from(JSON.stringify(packet)), to.port, to.address);
}

socket.bind(0, "127.0.0.1", () => {
  try {
    socket.setRecvBufferSize(4 * 1024 * 1024);
  } catch {
    // The system's own limit applies.
  }
  reportCpu();
  report({ port: socket.address().port });
});
