// The monique door with components in plain Python with pyzmq and msgpack, like those of the
// dialect's users, in the document's form and in the form of every published library.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import * as zmq from "zeromq";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { type PythonPeer, startPython, withoutModule, withoutPyzmq } from "./foreign.js";

const withoutMsgpack = withoutPyzmq || withoutModule("msgpack");

/**
 * A component with all channels. It follows commands in lines of JSON and prints what it receives.
 * It answers questions in capitals, "fail" with an error, and "hold" not at all.
 */
const component = `
import base64, hashlib, json, os, random, string, sys, time
import msgpack, zmq

form, creator, addresses = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
context = zmq.Context()
last = 0

def connected(kind, name):
    socket = context.socket(kind)
    socket.connect("tcp://" + addresses[name])
    return socket

def make(kind, spec, data, pid="", expires=0):
    global last
    last = created = max(last + 1, int(time.time() * 1000))
    if form == "d1":
        text = "%s:%d:%s" % (creator, created, spec)
        id = base64.b64encode(hashlib.sha1(text.encode()).digest()).decode()
    else:
        id = "".join(random.choice(string.ascii_letters + string.digits) for _ in range(40))
    tag = ":".join([kind, spec, id, pid, creator])
    content = {"id": id, "pid": pid, "creator": creator, "created_at": created, "expires_at": expires,
               "spec": spec, "encoding": "JSON", "type": kind, "data": data.encode()}
    if form == "d1":
        content["id"], content["pid"] = id.encode(), pid.encode()
        content = {key.encode(): value for key, value in content.items()}
        return id, [msgpack.packb(tag.encode(), use_bin_type=True), msgpack.packb(content, use_bin_type=True)]
    return id, [tag.encode(), msgpack.packb(content, use_bin_type=True)]

def read(frames):
    tag, content = frames
    if form == "d1":
        if tag[0] != 0xc4:
            return None
        tag = msgpack.unpackb(tag, raw=False)
    kind, spec, id, pid, sender = tag.decode().split(":")
    content = msgpack.unpackb(content, raw=False, strict_map_key=False)
    fields = {key.decode() if isinstance(key, bytes) else key: value for key, value in content.items()}
    for name, expected in (("type", kind), ("spec", spec), ("id", id), ("pid", pid), ("creator", sender)):
        value = fields[name]
        assert (value.decode() if isinstance(value, bytes) else value) == expected, (name, value, expected)
    assert isinstance(fields["data"], bytes)
    return kind, spec, id, pid, sender, fields["data"].decode()

push, tech = connected(zmq.PUSH, "in"), connected(zmq.PUSH, "techIn")
sub, techsub = connected(zmq.SUB, "out"), connected(zmq.SUB, "techOut")
sub.setsockopt(zmq.SUBSCRIBE, b"")
techsub.setsockopt(zmq.SUBSCRIBE, b"")
poller = zmq.Poller()
poller.register(sub, zmq.POLLIN)
poller.register(techsub, zmq.POLLIN)
poller.register(sys.stdin.fileno(), zmq.POLLIN)
pull = None
answers = set()

def until_heard(socket, out, spec):
    while True:
        out.send_multipart(make("data", spec, "probe")[1])
        while socket.poll(20):
            heard = read(socket.recv_multipart())
            if heard and heard[4] == creator and heard[5] == "probe":
                return

until_heard(sub, push, "example_probe")
until_heard(techsub, tech, "example_probe")
print("ready")

def work(kind, spec, id, pid, sender, data):
    print("question", id, data)
    if data == "fail":
        push.send_multipart(make("error", "error", '{"code":502,"message":"cannot"}', id)[1])
    elif data != "hold":
        push.send_multipart(make("result", spec, data.upper(), id)[1])

def obey(order):
    global pull
    do = order["do"]
    if do == "ask":
        id, frames = make("config", order["spec"], order["data"], "", order.get("expires", 0))
        print("asked", id)
        push.send_multipart(frames)
    elif do == "pull":
        pull = connected(zmq.PULL, order["from"])
        poller.register(pull, zmq.POLLIN)
    elif do == "answer":
        answers.add(order["spec"])
    elif do == "publish":
        push.send_multipart(make("data", order["spec"], order["data"])[1])
    elif do == "kill":
        tech.send_multipart(make("config", "kill", json.dumps({"task_id": order["id"]}))[1])
    elif do == "monitor":
        report = {"sync_time": int(time.time() * 1000), "name": creator, "is_alive": True, "message": "well"}
        tech.send_multipart(make("data", "monitoring", json.dumps(report))[1])
    print("done", do)

unread = b""
while True:
    for socket, _ in poller.poll():
        if socket == sys.stdin.fileno():
            unread += os.read(socket, 65536)
            *lines, unread = unread.split(b"\\n")
            for line in lines:
                obey(json.loads(line))
            continue
        heard = read(socket.recv_multipart())
        if heard is None or heard[5] == "probe":
            continue
        kind, spec, id, pid, sender, data = heard
        if socket is pull:
            work(*heard)
        elif socket is techsub:
            print("tech", kind, spec, data)
        elif kind == "config":
            if spec in answers:
                work(*heard)
        elif kind == "data":
            print("data", spec, data)
        else:
            print(kind, spec, pid, data)
`;

/** A component, and its printed lines that were not read yet. */
class Component {
  readonly #peer: PythonPeer;
  readonly #lines: string[] = [];

  constructor(peer: PythonPeer) {
    this.#peer = peer;
  }

  async heard(pattern: RegExp): Promise<string> {
    for (;;) {
      const at = this.#lines.findIndex((line) => pattern.test(line));
      if (at >= 0) return this.#lines.splice(at, 1)[0] as string;
      this.#lines.push(await this.#peer.line());
    }
  }

  async tell(order: { readonly do: string; readonly [key: string]: unknown }): Promise<void> {
    this.#peer.write(`${JSON.stringify(order)}\n`);
    await this.heard(new RegExp(`^done ${order.do}$`));
  }

  /** Returns the id of the question. */
  async ask(spec: string, data: string, expires = 0): Promise<string> {
    await this.tell({ do: "ask", spec, data, expires });
    return (await this.heard(/^asked /)).slice("asked ".length);
  }

  kill(): void {
    this.#peer.signal("SIGKILL");
  }

  stop(): Promise<void> {
    return this.#peer.stop();
  }
}

const escaped = (id: string) => id.replace(/[+/=]/g, "\\$&");

for (const form of ["d1", "d3"] as const) {
  describe(`pyzmq and msgpack through the monique door, ${form}`, {
    skip: withoutMsgpack,
    ...patience,
  }, () => {
    let yard: ServedYard;
    let asker: Component;
    let worker: Component;
    const components: Component[] = [];

    async function start(creator: string): Promise<Component> {
      const started = new Component(
        startPython(component, form, creator, JSON.stringify(yard.doors.monique)),
      );
      components.push(started);
      await started.heard(/^ready$/);
      return started;
    }

    before(async () => {
      yard = await serveYard({ doors: { monique: { form, controllers: { example_calculator: 0 } } } });
      [asker, worker] = await Promise.all([start("asker"), start("worker")]);
      await worker.tell({ do: "pull", from: "controllers.example_calculator" });
    });
    after(async () => {
      await Promise.all(components.map((each) => each.stop()));
      assert.equal(await yard.stop(), 0);
    });

    test("ask, and answer through a controller", async () => {
      for (const data of ["one", "zwei", "три"]) {
        const id = await asker.ask("example_calculator", data);
        await worker.heard(new RegExp(`^question ${escaped(id)} ${data}$`));
        await asker.heard(new RegExp(`^result example_calculator ${escaped(id)} ${data.toUpperCase()}$`));
      }
      const failed = await asker.ask("example_calculator", "fail");
      await asker.heard(new RegExp(`^error error ${escaped(failed)} .*"code":502`));
    });

    test("ask, and answer by subscription", async () => {
      await worker.tell({ do: "answer", spec: "example_echo" });
      const id = await asker.ask("example_echo", "heard");
      await asker.heard(new RegExp(`^result example_echo ${escaped(id)} HEARD$`));
    });

    test("publish and subscribe", async () => {
      await worker.tell({ do: "publish", spec: "example_radio", data: "a song" });
      await asker.heard(/^data example_radio a song$/);
      await worker.heard(/^data example_radio a song$/);
    });

    test("what nobody answers in time", async () => {
      const id = await asker.ask("example_calculator", "late", 1);
      await asker.heard(new RegExp(`^error example_calculator ${escaped(id)} .*"code":500`));
    });

    test("kill, which everybody hears", async () => {
      const id = await asker.ask("example_calculator", "hold");
      await worker.heard(new RegExp(`^question ${escaped(id)} hold$`));
      await asker.tell({ do: "kill", id });
      await worker.heard(/^tech config kill /);
      await asker.heard(new RegExp(`^error error ${escaped(id)} .*"code":301,"message":"task killed"`));
    });

    test("monitoring, which is shown", async () => {
      await worker.tell({ do: "monitor" });
      await asker.heard(/^tech data monitoring .*"worker"/);
      for (;;) {
        const response = await fetch(`${yard.url}/v1/workers`);
        const { items } = (await response.json()) as {
          items: { info?: { name?: string; alive?: boolean } }[];
        };
        if (items.some(({ info }) => info?.name === "worker" && info.alive)) return;
      }
    });

    test("a worker that is killed under a task: the next one does it; http asks, too", async () => {
      // That one received a kill and did not answer, so it counts as busy; this one is idle.
      const doomed = await start("doomed");
      await doomed.tell({ do: "pull", from: "controllers.example_calculator" });
      const id = await asker.ask("example_calculator", "hold");
      await doomed.heard(new RegExp(`^question ${escaped(id)} hold$`));
      const heir = await start("heir");
      doomed.kill();
      await heir.tell({ do: "pull", from: "controllers.example_calculator" });
      await heir.heard(new RegExp(`^question ${escaped(id)} hold$`));
      const able = await start("able");
      await able.tell({ do: "pull", from: "controllers.example_calculator" });
      const path = `${yard.url}/v1/queues/example_calculator/tasks?wait=120s`;
      const headers = { "Content-Type": "application/json" };
      const answer = await fetch(path, { method: "POST", headers, body: "by http" });
      const task = (await answer.json()) as { id: string; state: string };
      assert.equal(task.state, "done");
      await able.heard(/^question \S+ by http$/);
      assert.equal(await (await fetch(`${yard.url}/v1/tasks/${task.id}/result`)).text(), "BY HTTP");
    });
  });
}

/** A SUB with ZMTP 3.0, like libzmq before 4.3: it subscribes with a message that begins with 1. */
const oldSubscriber = `
import socket, struct, sys
host, port = sys.argv[1].split(":")
stream = socket.create_connection((host, int(port)))
stream.sendall(b"\\xff" + bytes(8) + b"\\x7f\\x03\\x00" + b"NULL".ljust(20, b"\\0") + bytes(32))
file = stream.makefile("rb")
assert len(file.read(64)) == 64

def read():
    flags, size = file.read(2)
    if flags & 2:
        size = struct.unpack(">Q", bytes([size]) + file.read(7))[0]
    return flags, file.read(size)

ready = b"\\x05READY\\x0bSocket-Type" + struct.pack(">I", 3) + b"SUB"
stream.sendall(bytes([4, len(ready)]) + ready)
assert read()[0] == 4
stream.sendall(bytes([0, 1 + len(sys.argv[2])]) + b"\\x01" + sys.argv[2].encode())
while True:
    flags, tag = read()
    if not flags & 4:
        print(tag.decode())
        read()
`;

describe("subscribers of both versions", patience, () => {
  let yard: ServedYard;
  before(async () => {
    yard = await serveYard({ doors: { monique: {} } });
  });
  after(async () => assert.equal(await yard.stop(), 0));

  const endpoint = (name: string) => `tcp://${yard.doors.monique?.[name]}`;

  /** Publishes a tag until a subscriber has received it. */
  async function publishUntil(push: zmq.Push, tag: string, heard: Promise<string>): Promise<void> {
    let isHeard = false;
    void heard.then(() => {
      isHeard = true;
    });
    while (!isHeard) {
      await push.send(["data:example_other:1::me", "x"]);
      await push.send([tag, "x"]);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.equal(await heard, tag);
  }

  test("libzmq 4.3, which speaks 3.1", async () => {
    const [push, sub] = [new zmq.Push(), new zmq.Subscriber()];
    push.connect(endpoint("in"));
    sub.connect(endpoint("out"));
    sub.subscribe("data:example_radio:");
    await publishUntil(
      push,
      "data:example_radio:1::me",
      sub.receive().then(([tag]) => String(tag)),
    );
    push.close();
    sub.close();
  });

  test("one that speaks 3.0", { skip: withoutPyzmq }, async () => {
    const push = new zmq.Push();
    push.connect(endpoint("in"));
    const old = startPython(oldSubscriber, String(yard.doors.monique?.out), "data:example_radio:");
    await publishUntil(push, "data:example_radio:2::me", old.line());
    push.close();
    await old.stop();
  });
});
