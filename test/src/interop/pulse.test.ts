// The pulse door with workers that are plain Python, sockets and struct alone, in both numberings.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { skipReason } from "./foreign.js";

/** Works inside SET_TASK and says FETCH_ME before it answers, as the document's own workers do. */
const worker = `
import os, socket, struct, sys
dir, first = sys.argv[1], int(sys.argv[2])
def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n])
def message(*fields):
    body = b"".join(bytes([number << 3]) + varint(value) for number, value in fields if value)
    return struct.pack("<Q", len(body)) + body
def exactly(conn, count):
    data = b""
    while len(data) < count:
        chunk = conn.recv(count - len(data))
        assert chunk, "closed too soon"
        data += chunk
    return data
def read(conn):
    body, fields, at = exactly(conn, struct.unpack("<Q", exactly(conn, 8))[0]), {}, 0
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = body[at]; at += 1
            value |= (byte & 127) << shift; shift += 7
            if byte < 128: return value
    while at < len(body):
        tag = number(); fields[tag >> 3] = number()
    return fields
def pulse(type, id, task):
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
