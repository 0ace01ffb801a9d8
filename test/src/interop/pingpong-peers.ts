// Peers of pingpong in plain Python with pyzmq, as scripts. The worker behaves like that of the
// original program.

/**
 * Like the original program's worker: a timer thread sends a ping whenever nothing was sent or
 * received for BROKER_TIMEOUT. After N_TIMEOUTS it sends READY, even with a job in hand; from then
 * on that thread receives messages too. It ignores a job in document form, and answers in program
 * form with the name that came with the job. It keeps its socket, and ZeroMQ reconnects by itself.
 * The lock is an addition, since two threads must not use a ZeroMQ socket at once.
 *
 * Arguments: address, name, BROKER_TIMEOUT in seconds. A job is "NAME SECONDS"; its result is "NAME
 * by WORKER".
 */
export const originalWorker = `
import sys, threading, time, zmq
address, me, broker_timeout = sys.argv[1], sys.argv[2], float(sys.argv[3])
socket = zmq.Context().socket(zmq.DEALER)
socket.connect("tcp://" + address)
lock = threading.RLock()
aliveness, timer = 3, None
def reset_timer():
    global timer
    if timer: timer.cancel()
    timer = threading.Timer(broker_timeout, update_aliveness)
    timer.daemon = True
    timer.start()
def send(*frames):
    with lock:
        reset_timer()
        socket.send_multipart([b"", *frames])
def update_aliveness():
    global aliveness
    aliveness -= 1
    if aliveness > 0:
        send(b"PING")
        return
    aliveness = 3
    print("READY", flush=True)
    send(b"READY")
    loop()
def receive():
    global aliveness
    with lock:
        if not socket.poll(0): return None
        frames = socket.recv_multipart()
        reset_timer()
        aliveness = 3
        return frames
def loop():
    while True:
        frames = receive()
        if frames is None: time.sleep(0.005)
        elif len(frames) == 5:
            job, client = frames[1].decode(), frames[2]
            name, seconds = job.split()
            print("job", name, flush=True)
            time.sleep(float(seconds))
            send(b"JOB COMPLETE", client, b"", ("%s by %s" % (name, me)).encode())
send(b"READY")
loop()
`;

/**
 * Like the original program's Trader: a DEALER without correlation frames that sends and reads
 * independently. It reads one job per line and prints the answers as they arrive.
 */
export const traderClient = `
import sys, threading, zmq
socket = zmq.Context().socket(zmq.DEALER)
socket.connect("tcp://" + sys.argv[1])
def read():
    for line in sys.stdin: jobs.append(line.strip())
jobs = []
threading.Thread(target=read, daemon=True).start()
while True:
    while jobs: socket.send_multipart([b"", jobs.pop(0).encode()])
    if socket.poll(20): print(" ".join(part.decode() for part in socket.recv_multipart()[1:]), flush=True)
`;

/** A REQ: one job per line, with its frames joined by a plus sign. */
export const reqClient = `
import sys, zmq
socket = zmq.Context().socket(zmq.REQ)
socket.connect("tcp://" + sys.argv[1])
for line in sys.stdin:
    socket.send_multipart([part.encode() for part in line.rstrip("\\n").split("+")])
    print("+".join(part.decode() for part in socket.recv_multipart()))
`;
