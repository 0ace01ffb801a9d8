// The udp door with peers in plain Python that use only socket and json, like those of the
// dialect's users, and with our own ends.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { UdpCalculator, UdpClient } from "@yardmaster/sdk";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { type PythonPeer, startPython, withoutModule } from "./foreign.js";

const start = `
import json, socket, sys
host, port = sys.argv[1].rsplit(":", 1)
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.settimeout(120)
def send(packet):
    peer.sendto(json.dumps(packet).encode(), (host, int(port)))
def receive():
    return json.loads(peer.recvfrom(1024)[0].decode())
`;

/**
 * Acknowledges and answers each task: by task_id in document form, with the content of perform_task
 * in program form.
 */
const calculator = `${start}
form = sys.argv[2]
send({"method": "heartbeat", "params": {"status": "ready" if form == "document" else 0}, "packet_type": 0})
number = 0
while True:
    packet = receive()
    if packet["packet_type"] != 1:
        continue
    send(dict(packet, packet_type=2, **({"result": {"status": 0}} if packet["method"] == "status" else {})))
    if packet["method"] != "perform_task":
        continue
    number += 1
    params = {"task_id": packet["params"]["task_id"]} if form == "document" else packet["params"]
    send({"method": "completed_task", "params": params, "packet_type": 1, "transmission_id": number})
`;

/**
 * Submits, and waits for the ack and the outcome. An outcome that is repeated because its ack was
 * late is acknowledged again.
 */
const client = `${start}
for line in sys.stdin:
    task = int(line)
    ask = {"packet_type": 1, "transmission_id": 1000 + task, "params": {"task_id": task}, "method": "add_task"}
    send(ask)
    acked = told = None
    while acked is None or told is None:
        packet = receive()
        if packet["packet_type"] == 2:
            assert packet == dict(ask, packet_type=2)
            acked = packet
            continue
        send(dict(packet, packet_type=2))
        if packet["params"]["task_id"] == task:
            told = packet
    print(told["method"], told["packet_type"], told["params"]["status"], told["params"]["task_id"])
`;

for (const form of ["document", "program"] as const) {
  describe(`plain Python through the udp door, ${form} form`, {
    skip: withoutModule("json, socket"),
    ...patience,
  }, () => {
    let yard: ServedYard;
    const peers: PythonPeer[] = [];
    before(async () => {
      yard = await serveYard({ doors: { udp: {} } });
      peers.push(startPython(calculator, String(yard.doors.udp?.client_address), form));
    });
    after(async () => {
      await Promise.all(peers.map((peer) => peer.stop()));
      assert.equal(await yard.stop(), 0);
    });

    test("a client and a calculator", async () => {
      const peer = startPython(client, String(yard.doors.udp?.client_address));
      peers.push(peer);
      for (const task of [5, 6, 7]) {
        peer.write(`${task}\n`);
        assert.equal(await peer.line(), `notify_task 1 success ${task}`);
      }
    });
  });
}

test("our own client and calculator through the udp door", patience, async () => {
  const yard = await serveYard({ doors: { udp: {} } });
  const dispatcher = `udp://${yard.doors.udp?.client_address}`;
  const work = (params: Readonly<Record<string, unknown>>) => {
    if (params.x === 3) throw new Error("not that one");
    return Number(params.x) * 2;
  };
  const worker = await UdpCalculator.open({ dispatcher, work });
  const asker = await UdpClient.open({ dispatcher });
  const answers = await Promise.all([1, 2].map((x) => asker.submit({ x })));
  assert.deepEqual(
    answers.map(({ result }) => result),
    [2, 4],
  );
  await assert.rejects(asker.submit({ x: 3 }), { code: "error" });
  await assert.rejects(asker.submit({ x: "x".repeat(2_000) }), { code: "too_large" });
  await Promise.all([worker.stop(), asker.close()]);
  assert.equal(await yard.stop(), 0);
});
