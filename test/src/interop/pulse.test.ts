// The pulse door with workers in plain Python that use only sockets and struct, in both numberings.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { skipReason } from "./foreign.js";
import { pulseWire } from "./pulse-peers.js";

/** Works inside SET_TASK and sends FETCH_ME before it answers, like the document's own workers. */
const worker = `
import os, socket, struct, sys
dir, first = sys.argv[1], int(sys.argv[2])
${pulseWire}def pulse(type, id, task):
    conn = socket.socket(socket.AF_UNIX); conn.connect(dir + "/main.sock")
    conn.sendall(message((1, type), (2, id), (3, task), (4, 60)))
    answer = read(conn)
    assert answer.get(1, 0) == first and conn.recv(1) == b"", answer
    return answer.get(2, 0)
REGISTER, OK, FETCH_ME = (0, 1, 2) if first == 0 else (2, 1, 3)
FETCH, SET_TASK = first + 1, first + 2
me = pulse(REGISTER, 0, 0)
server = socket.socket(socket.AF_UNIX); server.bind(dir + "/%d.sock" % me); server.listen()
pulse(OK, me, 0)
task, solution = 0, None
while True:
    conn, _ = server.accept()
    asked = read(conn)
    extra = exactly(conn, asked.get(2, 0))
    if asked.get(1, 0) == SET_TASK:
        task, solution = asked[3], extra.upper()
        pulse(FETCH_ME, me, task)
        conn.sendall(message((1, first), (2, task)))
    elif asked.get(1, 0) == FETCH:
        conn.sendall(message((1, first), (2, task), (3, len(solution))) + solution)
        task = 0
    else:
        raise SystemExit("asked %r" % asked)
    conn.close()
`;

const skip = skipReason("python3", ["-c", "import socket, struct"]);

for (const [numbering, first] of [
  ["document", 0],
  ["main", 1],
] as const) {
  test(`a plain Python worker, in ${numbering} numbering`, { skip, ...patience }, async () => {
    const yard = await serveYard({ doors: { pulse: {} } });
    const python = spawn("python3", ["-u", "-c", worker, String(yard.doors.pulse?.dir), String(first)], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    for (const text of ["one", "two", "x".repeat(1_000_000)]) {
      const url = `${yard.url}/v1/queues/pulse/tasks?wait=120s`;
      const task = (await (await fetch(url, { method: "POST", body: text })).json()) as Record<
        string,
        string
      >;
      assert.deepEqual([task.state, task.worker], ["done", "pulse/1"]);
      assert.equal(await (await fetch(`${yard.url}/v1/tasks/${task.id}/result`)).text(), text.toUpperCase());
    }
    python.kill("SIGKILL");
    assert.equal(await yard.stop(), 0);
  });
}
