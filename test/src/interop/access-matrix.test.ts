// Principals, doors and actions: pyzmq peers with PLAIN, CURVE and no credentials submit and work
// at each ZeroMQ door, and the dispatcher says by http what became of it.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { curveCertificate, curveKeyPair } from "@yardmaster/zmtp";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { type PythonPeer, startPython, withoutModule, withoutPyzmq } from "./foreign.js";

const skip = withoutPyzmq || withoutModule("msgpack");

/** Reads orders as lines of JSON. Each begins with a new context, which ends the last peers. */
const script = `
import json, struct, sys, time, uuid
import msgpack, zmq
from zmq.utils.monitor import recv_monitor_message

def connect(socket, order, address):
    shown = order["credentials"]
    if "user" in shown:
        socket.plain_username, socket.plain_password = shown["user"].encode(), shown["password"].encode()
    if "serverKey" in shown:
        socket.curve_serverkey = shown["serverKey"].encode()
        socket.curve_publickey, socket.curve_secretkey = shown["publicKey"].encode(), shown["secretKey"].encode()
    socket.connect("tcp://" + address)

def connected(context, order, kind, address, identity=None):
    socket = context.socket(kind)
    if identity:
        socket.setsockopt(zmq.IDENTITY, identity)
    connect(socket, order, address)
    return socket

def pingpong_submit(context, order, to):
    socket = connected(context, order, zmq.REQ, to["clients"])
    socket.send(b"job")
    return socket

def pingpong_work(context, order, to):
    socket = connected(context, order, zmq.DEALER, to["workers"], b"worker")
    socket.send_multipart([b"", b"READY"])
    return socket

def scaler_submit(context, order, to):
    me, function = uuid.uuid4().hex.encode(), uuid.uuid4().bytes
    socket = connected(context, order, zmq.DEALER, to["listen"], me)
    socket.send_multipart([b"OI", b"C", me, struct.pack("III", 1, 1, 1), function, b"<f>", b"upper"])
    socket.send_multipart([b"TK", uuid.uuid4().bytes, me, b"", function])
    return socket

def scaler_work(context, order, to):
    socket = connected(context, order, zmq.DEALER, to["listen"], b"worker")
    socket.send_multipart([b"HB", struct.pack("HQQHI?", 10, 1 << 25, 1 << 33, 0, 300, False)])
    return socket

def scaler_operate(context, order, to):
    socket = connected(context, order, zmq.DEALER, to["listen"], uuid.uuid4().hex.encode())
    socket.send_multipart([b"CS", b"S"])
    return socket

def say(socket, spec, data):
    id = (uuid.uuid4().hex + uuid.uuid4().hex)[:40]
    content = {"id": id, "pid": "", "creator": "py", "created_at": int(time.time() * 1000), "expires_at": 0,
               "spec": spec, "encoding": "JSON", "type": "config", "data": data}
    topic = "config:%s:%s::py" % (spec, id)
    socket.send_multipart([topic.encode(), msgpack.packb(content, use_bin_type=True)])
    return id

def monique_submit(context, order, to):
    global question
    socket = connected(context, order, zmq.PUSH, to["in"])
    question = say(socket, "mq", b"1")
    return socket

def monique_operate(context, order, to):
    socket = connected(context, order, zmq.PUSH, to["techIn"])
    say(socket, "kill", json.dumps({"task_id": question}).encode())
    return socket

def listener(context, order, to):
    socket = context.socket(zmq.SUB)
    socket.subscribe(b"")
    monitor = socket.get_monitor_socket()
    connect(socket, order, to["out"])
    while recv_monitor_message(monitor)["event"] != zmq.EVENT_HANDSHAKE_SUCCEEDED:
        pass
    return socket

# Says whether it hears what the witness hears: questions, and the error that answers a killed one.
def monique_read(context, order, to):
    socket, witness = listener(context, order, to), listener(context, order["witness"], to)
    source = connected(context, order["witness"], zmq.PUSH, to["in"])
    killer = connected(context, order["killer"], zmq.PUSH, to["techIn"])
    for _ in range(5):
        asked = say(source, "mq", b"1")
        witness.recv_multipart()
    say(killer, "kill", json.dumps({"task_id": asked}).encode())
    while not witness.recv_multipart()[0].startswith(b"error:"):
        pass
    # What was sent before this one has arrived everywhere.
    say(source, "mq", b"1")
    witness.recv_multipart()
    print("heard" if socket.poll(60000 if order["isAllowed"] else 0) else "silent")
    return socket

def monique_work(context, order, to):
    return connected(context, order, zmq.PULL, to["controllers.mq"])

context = None
for line in sys.stdin:
    order = json.loads(line)
    if context:
        context.destroy(linger=0)
    context = zmq.Context()
    socket = globals()[order["door"] + "_" + order["action"]](context, order, order["addresses"])
    print("done")
    if order.get("reads"):
        print(json.dumps([frame.decode("latin1") for frame in socket.recv_multipart()]))
`;

const server = curveKeyPair();
const [ann, cid, stranger] = [curveKeyPair(), curveKeyPair(), curveKeyPair()];
const digest = (secret: string) => createHash("sha256").update(secret).digest("hex");
const token = "the-token-of-the-observer";
const queues = { pingpong: "pp", scaler: "sc", monique: "mq" } as const;
type DoorName = keyof typeof queues;
const all = Object.values(queues);

const principals = {
  boss: {
    tokens: [{ sha256: digest(token) }],
    rights: { read: ["*"], operate: ["*"], submit: ["*"], work: ["*"], watch: ["*"] },
  },
  ann: { curveKeys: [ann.publicKey], rights: { submit: all } },
  bob: { passwords: [{ sha256: digest("hunter2") }], rights: { work: all } },
  cid: { curveKeys: [cid.publicKey], rights: { submit: ["other"], work: ["other"] } },
  olga: { passwords: [{ sha256: digest("operator") }], rights: { operate: ["*"] } },
  rita: { passwords: [{ sha256: digest("reader!!") }], rights: { read: ["mq"] } },
};

const curve = (pair: typeof ann) => ({ serverKey: server.publicKey, ...pair });

const olga = { user: "olga", password: "operator" };
const rita = { user: "rita", password: "reader!!" };

/** What each peer shows, and what it may do. Those that get in come first. */
const peers = {
  ann: { shows: curve(ann), may: ["submit"] },
  bob: { shows: { user: "bob", password: "hunter2" }, may: ["work"] },
  cid: { shows: curve(cid), may: [] },
  "bob with a wrong password": { shows: { user: "bob", password: "hunter3" }, may: [] },
  "a stranger's key": { shows: curve(stranger), may: [] },
  "no credentials": { shows: {}, may: [] },
} as const;

describe("principal × ZeroMQ door × action", { skip, ...patience }, () => {
  let yard: ServedYard;
  let python: PythonPeer;

  before(async () => {
    const security = { mechanisms: ["CURVE", "PLAIN"], serverKeyFile: "server.key_secret" };
    yard = await serveYard(
      {
        access: { principals },
        doors: {
          pingpong: { security, queue: queues.pingpong },
          scaler: { security, queue: queues.scaler, protected: false },
          monique: { security, controllers: { mq: 0 } },
        },
      },
      {},
      { "server.key_secret": curveCertificate(server) },
    );
    python = startPython(script);
  });
  after(async () => {
    await python.stop();
    await yard.stop();
  });

  const get = async (path: string) => {
    const answer = await fetch(`${yard.url}${path}`, { headers: { Authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 200, path);
    return answer;
  };

  /** Peers that were turned down, in the handshake or later. */
  const denials = async (door: DoorName) => {
    const text = await (await get("/metrics")).text();
    const lines = text.matchAll(
      new RegExp(`door="${door}",kind="(?:denied|unknown_mechanism)"\\} (\\d+)`, "g"),
    );
    return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
  };

  const tasks = async (queue: string) => {
    const { items } = (await (await get(`/v1/tasks?queue=${queue}`)).json()) as { items: { id: string }[] };
    return items;
  };

  const workers = async (door: DoorName) => {
    const { items } = (await (await get("/v1/workers")).json()) as {
      items: { door: string; state: string }[];
    };
    return items.filter((worker) => worker.door === door && worker.state !== "lost");
  };

  /** Resolves with what was printed before the peer was done. */
  const order = async (door: DoorName, action: string, credentials: object, more: object = {}) => {
    const addresses = yard.doors[door];
    python.write(`${JSON.stringify({ door, action, credentials, addresses, ...more })}\n`);
    for (let said = ""; ; ) {
      const line = await python.line();
      if (line === "done") return said;
      said = line;
    }
  };

  async function until<Found>(look: () => Promise<Found | undefined>): Promise<Found> {
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  for (const door of Object.keys(queues) as DoorName[]) {
    for (const [name, { shows, may }] of Object.entries(peers)) {
      for (const action of ["submit", "work"] as const) {
        const isAllowed = (may as readonly string[]).includes(action);
        test(`${door}: ${name} ${isAllowed ? "may" : "may not"} ${action}`, patience, async () => {
          const count = async () =>
            action === "submit" ? (await tasks(queues[door])).length : (await workers(door)).length;
          const [counted, denied] = [await count(), await denials(door)];
          await order(door, action, shows);
          const outcome = await until(async () => {
            if ((await count()) > counted) return "accepted";
            return (await denials(door)) > denied ? "refused" : undefined;
          });
          assert.equal(outcome, isAllowed ? "accepted" : "refused");
          if (!isAllowed) assert.equal(await count(), counted);
        });
      }
    }
  }

  for (const [name, shows] of Object.entries({ olga, ann: peers.ann.shows, bob: peers.bob.shows })) {
    const isAllowed = name === "olga";
    test(`monique: ${name} ${isAllowed ? "may" : "may not"} kill a task`, patience, async () => {
      const cancelled = async () => (await tasks("mq&state=cancelled")).length;
      const submitted = (await tasks("mq")).length;
      await order("monique", "submit", peers.ann.shows);
      await until(async () => ((await tasks("mq")).length > submitted ? true : undefined));
      const [counted, denied] = [await cancelled(), await denials("monique")];
      await order("monique", "operate", shows);
      const outcome = await until(async () => {
        if ((await cancelled()) > counted) return "killed";
        return (await denials("monique")) > denied ? "refused" : undefined;
      });
      assert.equal(outcome, isAllowed ? "killed" : "refused");
    });

    test(`scaler: ${name} ${isAllowed ? "may" : "may not"} shut workers down`, patience, async () => {
      const denied = await denials("scaler");
      await order("scaler", "operate", shows, { reads: true });
      assert.deepEqual(JSON.parse(await python.line()), ["CR", isAllowed ? "\u0001" : "\u0000"]);
      assert.equal((await denials("scaler")) - denied, isAllowed ? 0 : 1);
    });
  }

  const listeners = { rita, ann: peers.ann.shows, bob: peers.bob.shows, cid: peers.cid.shows, olga };
  for (const [name, shows] of Object.entries(listeners)) {
    // [monique 4.13]
    const isAllowed = name !== "cid" && name !== "olga";
    test(
      `monique: ${name} ${isAllowed ? "hears" : "does not hear"} questions of mq and their errors`,
      patience,
      async () => {
        const witness = { credentials: peers.ann.shows };
        const killer = { credentials: olga };
        const said = await order("monique", "read", shows, { witness, killer, isAllowed });
        assert.equal(said, isAllowed ? "heard" : "silent");
      },
    );
  }

  test("a refusal is said in the words of the dialect", patience, async () => {
    await order("pingpong", "submit", peers.cid.shows, { reads: true });
    const frames = JSON.parse(await python.line()) as string[];
    assert.ok(frames.includes("forbidden"), String(frames));
  });

  test("a task's story names the principal that submitted it", patience, async () => {
    for (const queue of all) {
      const [{ id } = { id: "" }] = await tasks(queue);
      assert.match(await (await get(`/v1/tasks/${id}`)).text(), /submitted by ann/, queue);
    }
  });

  test("SIGHUP: a revoked principal is disconnected, and cannot come back", patience, async () => {
    for (const door of Object.keys(queues) as DoorName[]) {
      await order(door, "work", peers.bob.shows);
      await until(async () => ((await workers(door)).length > 0 ? true : undefined));
    }
    // The last of them is still connected.
    const file = join(yard.folder, "yardmaster.json");
    const config = JSON.parse(readFileSync(file, "utf8"));
    delete config.access.principals.bob;
    writeFileSync(file, JSON.stringify(config));
    const denied = await denials("monique");
    yard.process.kill("SIGHUP");
    await until(async () => ((await workers("monique")).length === 0 ? true : undefined));
    await until(async () => ((await denials("monique")) > denied ? true : undefined));
  });
});
