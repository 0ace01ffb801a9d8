// pyzmq as the PUSH or the PULL of a benchmark: this process starts Python and passes on what both
// sides say. The loop is Python's, and most of the cost is libzmq's: it sends and receives in C,
// with a thread for the network. This process is killed when it is not needed any more; Python then
// sees the end of its input, and ends too.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { onOrder, readArgs, report } from "./child.js";
import type { CurveArgs } from "./curve-args.js";

const { bytes, endpoint, curve, python } = readArgs<{
  bytes: number;
  endpoint?: string;
  curve: CurveArgs;
  python: string;
}>();

const common = `
import json, os, queue, sys, threading, time, zmq
args = json.loads(sys.argv[1])
curve, context = args["curve"], zmq.Context()
def say(**what): print(json.dumps(what), flush=True)
orders = queue.Queue()
def listen():
    for line in sys.stdin: orders.put(json.loads(line))
    os._exit(0)
threading.Thread(target=listen, daemon=True).start()
`;
const push = `${common}
socket = context.socket(zmq.PUSH)
socket.setsockopt(zmq.LINGER, 0)
socket.curve_server = True
socket.curve_secretkey, socket.curve_publickey = (curve["server"][k].encode() for k in ("secretKey", "publicKey"))
monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
socket.bind("tcp://127.0.0.1:*")
say(endpoint=socket.getsockopt(zmq.LAST_ENDPOINT).decode().strip("\\0"))
monitor.recv_multipart()
say(connected=True)
orders.get()
message = b"a" * args["bytes"]
while True:
    socket.send(message)
`;
const pull = `${common}
socket = context.socket(zmq.PULL)
socket.curve_serverkey = curve["server"]["publicKey"].encode()
socket.curve_secretkey, socket.curve_publickey = (curve["client"][k].encode() for k in ("secretKey", "publicKey"))
socket.connect(args["endpoint"])
order = orders.get()
def receive(seconds):
    count, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(50): socket.recv()
        count += 50
    return count
receive(order["warmUpMs"] / 1000)
began, cpu = time.monotonic(), time.process_time()
count = receive(order["measureMs"] / 1000)
say(perSecond=count / (time.monotonic() - began), cpuMicros=(time.process_time() - cpu) * 1e6)
`;

const script = endpoint === undefined ? push : pull;
const child = spawn(python, ["-u", "-c", script, JSON.stringify({ bytes, endpoint, curve })], {
  stdio: ["pipe", "pipe", "inherit"],
});
createInterface({ input: child.stdout }).on("line", (line) => report(JSON.parse(line)));
onOrder((order) => void child.stdin.write(`${JSON.stringify(order)}\n`));
