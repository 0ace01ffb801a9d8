// Plain Python calculators that behave like the original program: a status every 30 s, one task at
// a time on its own thread, and an answer that is sent at most four times. Jobs of 0.1, 5 and 20 s,
// and a dispatcher that ends in the middle.

import assert from "node:assert/strict";
import { test } from "node:test";
import { UdpClient } from "@yardmaster/sdk";
import { startPython, withoutModule } from "../interop/foreign.js";
import { after, LastingYard, portOf } from "./peers/lasting-yard.js";

const calculator = `
import json, socket, sys, threading, time
host, port = sys.argv[1].rsplit(":", 1)
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
status, task, unacknowledged = 0, None, set()
def send(packet):
    peer.sendto(json.dumps(packet).encode(), (host, int(port)))
def beat():
    while True:
        send({"method": "heartbeat", "params": {"status": status}, "packet_type": 0})
        time.sleep(30)
def work(params):
    global status, task
    time.sleep(params.get("seconds", 0))
    status, task = 0, None
    transmission = int(time.time() * 1000)
    unacknowledged.add(transmission)
    for _ in range(4):
        if transmission in unacknowledged:
            send({"method": "completed_task", "params": params, "packet_type": 1, "transmission_id": transmission})
            time.sleep(0.05)
threading.Thread(target=beat, daemon=True).start()
while True:
    packet = json.loads(peer.recvfrom(1024)[0].decode())
    if packet["packet_type"] == 2:
        unacknowledged.discard(packet["transmission_id"])
    elif packet["method"] == "status":
        send(dict(packet, packet_type=2, result={"status": status}))
    elif packet["method"] == "perform_task":
        if status == 0:
            status, task = 1, packet["params"]
            threading.Thread(target=work, args=(task,), daemon=True).start()
        elif packet["params"]["task_uuid"] != (task or {}).get("task_uuid"):
            continue
        send(dict(packet, packet_type=2))
`;

/** Far less than the 30 s until the next heartbeat, and generous for a busy machine. */
const takenUpMsMax = 15_000;

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  test(`udp: ${signal} in the middle of jobs of 0.1, 5 and 20 s`, {
    skip: withoutModule("json, socket"),
    timeout: 180_000,
  }, async () => {
    const yard = new LastingYard();
    const { udp } = await yard.start({ udp: { client_address: { port: 0 } } });
    const address = String(udp?.client_address);
    const peers = Array.from({ length: 3 }, () => startPython(calculator, address));
    const client = await UdpClient.open({ dispatcher: `udp://${address}`, askMsMax: 60_000 });
    await client.submit({ seconds: 0 });
    const jobs = [0.1, 5, 20].map((seconds) => client.submit({ seconds }));
    await after(1_000);
    await yard.end(signal);
    await after(500);
    await yard.start({ udp: { client_address: { port: portOf(address) } } });
    const startedAt = performance.now();
    // It goes to the idle calculator without waiting for its next heartbeat.
    await client.submit({ seconds: 0 });
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < takenUpMsMax, `taken up after ${tookMs} ms`);
    for (const { status } of await Promise.all(jobs)) assert.equal(status, "success");
    await Promise.all([client.close(), ...peers.map((peer) => peer.stop())]);
    await yard.close();
  });
}
