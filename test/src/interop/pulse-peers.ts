// Peers of pulse in plain Python, as scripts: a worker that behaves like three versions of the
// original C++ worker.

/** Commits of the original repository. */
export type PulseWorkerVersion = "d6e222da" | "22945b81" | "7a2e2aa";

/** The dialect's messages in Python: `message(*fields)` writes one, `read(conn)` reads one. */
export const pulseWire = `def varint(n):
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
        if not chunk: raise EOFError()
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
`;

/**
 * d6e222da uses the document's numbering, works inside SET_TASK, and stays busy for good after its
 * first task. The other two use main numbering and work in a separate thread. When a task is done,
 * 22945b81 forgets its id, and 7a2e2aa names it until the next one. All announce 60 s, exit on
 * RESTART, and exit when a pulse is not answered OK.
 *
 * Arguments: the controller's folder, version. A job is "NAME SECONDS"; its result is "NAME done".
 */
export const originalPulseWorker = `
import os, random, socket, struct, sys, threading, time
dir, version = sys.argv[1], sys.argv[2]
first = 0 if version == "d6e222da" else 1
REGISTER, OK, FETCH_ME, SHUTDOWN = (0, 1, 2, 3) if first == 0 else (2, 1, 3, 4)
RESTART, FETCH, SET_TASK, GET_STATUS = range(first, first + 4)
ERR_OK, NO_FETCH, BUSY, TASK_FAILED, FAILED = range(first, first + 5)
me, task, state, solution = 0, 0, "free", b""
pulse_at = 0
${pulseWire}def pulse(type):
    global me, pulse_at
    try:
        conn = socket.socket(socket.AF_UNIX); conn.connect(dir + "/main.sock")
        conn.sendall(message((1, type), (2, me), (3, task), (4, 60)))
        answer = read(conn)
        conn.close()
    except OSError as fault:
        print("ends:", fault, flush=True); os._exit(1)
    if answer.get(1, 0) != ERR_OK:
        print("ends: answered", answer, flush=True); os._exit(1)
    if type == REGISTER: me = answer[2]
    pulse_at = time.monotonic() + random.randint(30, 45)
def process(extra):
    global state, task, solution
    name, seconds = extra.decode().split()
    print("job", name, flush=True)
    time.sleep(float(seconds))
    solution = (name + " done").encode()
    pulse(FETCH_ME)
def process_aside(extra):
    global state, task
    state = "busy"
    process(extra)
    state = "free"
    if version == "22945b81": task = 0
def control(conn):
    global state, task, solution
    asked = read(conn)
    extra = exactly(conn, asked.get(2, 0))
    type, error, fetched = asked.get(1, 0), ERR_OK, b""
    named = task
    if type == RESTART: state = "ending"
    elif type == FETCH:
        if not solution: error = NO_FETCH
        else:
            fetched = solution
            if first == 1: solution, state = b"", "free"
    elif type == SET_TASK:
        if state != "free": error = BUSY
        else:
            task = asked.get(3, 0)
            if first == 0:
                state, named = "busy", task
                process(extra)
            else: threading.Thread(target=process_aside, args=(extra,), daemon=True).start()
    elif type != GET_STATUS: error = FAILED
    conn.sendall(message((1, error), (2, named), (3, len(fetched))) + fetched)
    conn.close()
pulse(REGISTER)
path = dir + "/%d.sock" % me
if os.path.exists(path): os.unlink(path)
server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen(100)
if first == 1: pulse(OK)
while state != "ending":
    server.settimeout(max(0.01, pulse_at - time.monotonic()))
    try: conn, _ = server.accept()
    except socket.timeout:
        pulse(OK)
        continue
    conn.settimeout(None)
    try: control(conn)
    except (EOFError, OSError): pass
`;
