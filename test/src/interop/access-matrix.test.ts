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

def connected(context, order, kind, address, identity=None):
    socket = context.socket(kind)
    shown = order["credentials"]
    if "user" in shown:
        socket.plain_username, socket.plain_password = shown["user"].encode(), shown["password"].encode()
    if "serverKey" in shown:
        socket.curve_serverkey = shown["serverKey"].encode()
        socket.curve_publickey, socket.curve_secretkey = shown["publicKey"].encode(), shown["secretKey"].encode()
    if identity:
        socket.setsockopt(zmq.IDENTITY, identity)
    socket.connect("tcp://" + address)
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

def monique_submit(context, order, to):
    socket = connected(context, order, zmq.PUSH, to["in"])
    id = (uuid.uuid4().hex + uuid.uuid4().hex)[:40]
    content = {"id": id, "pid": "", "creator": "py", "created_at": int(time.time() * 1000), "expires_at": 0,
               "spec": "mq", "encoding": "JSON", "type": "config", "data": b"1"}
    socket.send_multipart([("config:mq:%s::py" % id).encode(), msgpack.packb(content, use_bin_type=True)])
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
};

const curve = (pair: typeof ann) => ({ serverKey: server.publicKey, ...pair });

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
          scaler: { security, queue: queues.scaler },
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

  const order = async (door: DoorName, action: string, credentials: object, reads = false) => {
    const addresses = yard.doors[door];
    python.write(`${JSON.stringify({ door, action, credentials, addresses, reads })}\n`);
    while ((await python.line()) !== "done");
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

  test("a refusal is said in the words of the dialect", patience, async () => {
    await order("pingpong", "submit", peers.cid.shows, true);
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
