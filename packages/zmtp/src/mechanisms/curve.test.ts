// CURVE's handshake and traffic, command by command, as 26/CURVEZMQ describes them.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { encodeCommand } from "../commands.js";
import { readCurveKey } from "../curve-keys.js";
import { COMMAND, MORE } from "../frames.js";
import { CurveWorld, clientPair, give, repeatable, sent, serverPair } from "../test-kit/curve-pair.js";
import type { Seal } from "./mechanism.js";

let world: CurveWorld;
before(async () => {
  world = await CurveWorld.create();
});

const nonce = (name: string, rest: Buffer) => Buffer.concat([Buffer.from(name), rest]);

/** The four commands of a handshake that succeeds, and both ends. */
function shaken(from = world) {
  const [client, server] = [from.client(), from.server()];
  const hello = client.start()[0] as Buffer;
  assert.deepEqual(server.start(), []);
  const welcome = sent(give(server, hello));
  const initiate = sent(give(client, welcome));
  const done = give(server, initiate);
  const ready = sent(done);
  const last = give(client, ready);
  return { client, server, hello, welcome, initiate, ready, done, last };
}

test("a handshake has the commands, sizes and boxes of the specification", () => {
  const { hello, welcome, initiate, ready, done, last } = shaken();
  const { nacl } = world;
  const serverSecret = readCurveKey(serverPair.secretKey, "server");
  const serverPublic = readCurveKey(serverPair.publicKey, "server");
  const clientPublic = readCurveKey(clientPair.publicKey, "client");

  assert.equal(hello.length, 200);
  assert.equal(hello.toString("latin1", 0, 8), "\x05HELLO\x01\x00");
  assert.ok(hello.subarray(8, 80).every((byte) => byte === 0));
  const shortClient = hello.subarray(80, 112);
  const helloKey = nacl.sharedKey(shortClient, serverSecret) as Buffer;
  const signature = nacl.open(
    helloKey,
    nonce("CurveZMQHELLO---", hello.subarray(112, 120)),
    hello.subarray(120),
  );
  assert.deepEqual(signature, Buffer.alloc(64));

  assert.equal(welcome.length, 168);
  assert.equal(welcome.toString("latin1", 0, 8), "\x07WELCOME");
  const opened = nacl.open(
    helloKey,
    nonce("WELCOME-", welcome.subarray(8, 24)),
    welcome.subarray(24),
  ) as Buffer;
  const [shortServer, cookie] = [opened.subarray(0, 32), opened.subarray(32)];
  assert.equal(cookie.length, 96);

  assert.equal(initiate.toString("latin1", 0, 9), "\x08INITIATE");
  assert.deepEqual(initiate.subarray(9, 105), cookie);
  // Only the ends of the connection can open the rest: here with the client's short-term secret.
  const shortSecret = repeatable("client")(32);
  assert.deepEqual(nacl.publicKeyOf(shortSecret), shortClient);
  const key = nacl.sharedKey(shortServer, shortSecret) as Buffer;
  const content = nacl.open(
    key,
    nonce("CurveZMQINITIATE", initiate.subarray(105, 113)),
    initiate.subarray(113),
  ) as Buffer;
  assert.deepEqual(content.subarray(0, 32), clientPublic);
  const vouchKey = nacl.sharedKey(shortServer, readCurveKey(clientPair.secretKey, "client")) as Buffer;
  const vouch = nacl.open(vouchKey, nonce("VOUCH---", content.subarray(32, 48)), content.subarray(48, 128));
  assert.deepEqual(vouch, Buffer.concat([shortClient, serverPublic]));
  assert.equal(content.toString("latin1", 128), "\x0bSocket-Type\0\0\0\x06DEALER");

  assert.equal(ready.toString("latin1", 0, 6), "\x05READY");
  const metadata = nacl.open(
    key,
    nonce("CurveZMQREADY---", ready.subarray(6, 14)),
    ready.subarray(14),
  ) as Buffer;
  assert.equal(metadata.toString("latin1"), "\x0bSocket-Type\0\0\0\x06ROUTER");
  assert.ok(done.kind === "done" && last.kind === "done");
  assert.equal(done.principal, "CURVE");
  assert.equal(done.metadata.get("socket-type")?.toString(), "DEALER");
  assert.equal(last.metadata.get("socket-type")?.toString(), "ROUTER");
  assert.equal(last.principal, undefined);
});

test("the server is asked about the client's long-term key and its address", async () => {
  const asked: unknown[] = [];
  const strict = await CurveWorld.create((credentials, address) => {
    asked.push({ ...credentials }, address);
    return undefined;
  });
  const { client, server } = { client: strict.client(), server: strict.server() };
  const initiate = sent(give(client, sent(give(server, client.start()[0] as Buffer))));
  assert.deepEqual(give(server, initiate), { kind: "fault", fault: "denied", send: [] });
  assert.deepEqual(asked, [{ mechanism: "CURVE", publicKey: clientPair.publicKey }, "tcp://10.0.0.1:1"]);
});

function sealed(seal: Seal, flags: number, text: string): Buffer {
  const body = Buffer.from(text);
  const bytes = Buffer.alloc(seal.overheadBytes + body.length);
  seal.close(seal.take(), flags, body, bytes, 0);
  return bytes;
}

test("traffic goes both ways, with flags; numbers go on from the handshake", () => {
  const { client, server } = shaken();
  const [ours, theirs] = [client.seal as Seal, server.seal as Seal];
  const first = sealed(ours, MORE, "part");
  assert.equal(first.length, 33 + 4);
  assert.equal(first.toString("latin1", 0, 8), "\x07MESSAGE");
  assert.equal(first.readBigUInt64BE(8), 3n);
  assert.equal(theirs.open(first), undefined);
  assert.deepEqual([theirs.isMore, theirs.isCommand, theirs.body.toString()], [true, false, "part"]);
  assert.equal(theirs.open(sealed(ours, COMMAND, "")), undefined);
  assert.deepEqual([theirs.isMore, theirs.isCommand, theirs.body.length], [false, true, 0]);
  const back = sealed(theirs, 0, "back");
  assert.equal(back.readBigUInt64BE(8), 2n);
  assert.equal(ours.open(back), undefined);
  assert.equal(ours.body.toString(), "back");
});

test("a frame that is repeated, late or reflected is refused", () => {
  const { client, server } = shaken();
  const [ours, theirs] = [client.seal as Seal, server.seal as Seal];
  const [one, two] = [sealed(ours, 0, "one"), sealed(ours, 0, "two")];
  const copies = [Buffer.from(one), Buffer.from(two)] as const;
  assert.equal(ours.open(Buffer.from(two)), "bad_seal");
  assert.equal(theirs.open(two), undefined);
  assert.equal(theirs.open(copies[1]), "bad_nonce");
  assert.equal(theirs.open(copies[0]), "bad_nonce");
  const renumbered = Buffer.from(one);
  renumbered.writeBigUInt64BE(99n, 8);
  assert.equal(theirs.open(renumbered), "bad_seal");
  const three = sealed(ours, 0, "three");
  assert.equal(theirs.open(three), undefined);
});

test("numbers use all 64 bits, and the number of INITIATE is not used again", () => {
  const { client, server } = shaken();
  const [ours, theirs] = [client.seal as Seal, server.seal as Seal];
  const bytes = (number: number) => {
    const frame = Buffer.alloc(ours.overheadBytes);
    ours.close(number, 0, Buffer.alloc(0), frame, 0);
    return frame;
  };
  assert.equal(theirs.open(bytes(2)), "bad_nonce");
  assert.equal(theirs.open(bytes(2 ** 32 + 5)), undefined);
  assert.equal(theirs.open(bytes(7)), "bad_nonce");
  assert.equal(theirs.open(bytes(2 ** 32 + 6)), undefined);
});

test("frames that are not sealed are refused", () => {
  const { server } = shaken();
  const seal = server.seal as Seal;
  for (const body of ["", "job", "\x04PING\0\0", "\x07MESSAGE", `\x07MESSAGE${"\0".repeat(40)}`]) {
    assert.match(seal.open(Buffer.from(body, "latin1")) as string, /bad_seal|bad_nonce/);
  }
});

test("commands out of turn, repeated or of another role end the handshake", () => {
  const recorded = shaken();
  const orders: [string, Buffer[], string][] = [
    ["READY before INITIATE", [recorded.hello, recorded.ready], "unexpected_command"],
    ["INITIATE without HELLO", [recorded.initiate], "unexpected_command"],
    ["HELLO twice", [recorded.hello, recorded.hello], "unexpected_command"],
    ["WELCOME to a server", [recorded.welcome], "unexpected_command"],
    ["MESSAGE too early", [encodeCommand("MESSAGE", Buffer.alloc(40))], "unexpected_command"],
    ["NULL's READY", [encodeCommand("READY", Buffer.alloc(0))], "unexpected_command"],
    ["ERROR", [encodeCommand("ERROR", Buffer.from("\x03400"))], "refused"],
    ["PLAIN's HELLO", [encodeCommand("HELLO", Buffer.from("\x05alice\x04pass"))], "bad_handshake"],
    ["a cookie of another connection", [recorded.hello, recorded.initiate], "bad_handshake"],
  ];
  for (const [name, commands, fault] of orders) {
    const server = world.server();
    const steps = commands.map((body) => give(server, body));
    assert.equal(steps.at(-1)?.kind, "fault", name);
    assert.deepEqual(steps.at(-1), { kind: "fault", fault, send: [] }, name);
    server.wipe();
  }
  for (const body of [recorded.ready, recorded.initiate, recorded.hello]) {
    const client = world.client();
    client.start();
    assert.deepEqual(give(client, body), { kind: "fault", fault: "unexpected_command", send: [] });
  }
  const refused = world.client();
  refused.start();
  assert.equal(give(refused, encodeCommand("ERROR", Buffer.from("\x03400"))).kind, "fault");
});

test("a cookie that is alive on another connection is refused, whole or in parts", () => {
  const [clientA, serverA, clientB, serverB] = [
    world.client(),
    world.server(),
    world.client(),
    world.server(),
  ];
  const initiateA = sent(give(clientA, sent(give(serverA, clientA.start()[0] as Buffer))));
  const initiateB = sent(give(clientB, sent(give(serverB, clientB.start()[0] as Buffer))));
  assert.deepEqual(give(serverB, initiateA), { kind: "fault", fault: "bad_handshake", send: [] });
  const number = Buffer.from(initiateA);
  initiateB.copy(number, 9, 9, 9 + 4);
  assert.equal(give(serverA, number).kind, "fault");
});

test("wrong keys: each end notices", () => {
  const stranger = readCurveKey("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", "stranger");
  const misled = world.client({ serverKey: stranger });
  assert.deepEqual(give(world.server(), misled.start()[0] as Buffer), {
    kind: "fault",
    fault: "bad_handshake",
    send: [],
  });
  // A client that claims the public key of another cannot vouch for it.
  const impostor = world.client({ secretKey: readCurveKey(serverPair.secretKey, "other") });
  const server = world.server();
  const claim = sent(give(impostor, sent(give(server, impostor.start()[0] as Buffer))));
  assert.deepEqual(give(server, claim), { kind: "fault", fault: "bad_handshake", send: [] });
});

test("every bit of the handshake counts, but for HELLO's padding", () => {
  const lengths = { hello: 200, welcome: 168, initiate: shaken().initiate.length };
  const flip = (body: Buffer, at: number) => {
    const changed = Buffer.from(body);
    changed[at] = (changed[at] as number) ^ (1 << (at % 8));
    return changed;
  };
  for (let at = 1; at < Math.max(...Object.values(lengths)); at += 3) {
    const [client, server] = [world.client(), world.server()];
    const hello = client.start()[0] as Buffer;
    if (at < 200 && (at < 8 || at >= 80)) {
      const step = give(world.server(), flip(hello, at));
      // X25519 ignores one bit of a public key; the vouch does not.
      if (at !== 111) assert.equal(step.kind, "fault", `HELLO ${at}`);
    }
    const welcome = sent(give(server, hello));
    if (at < 168) {
      const other = world.client();
      other.start();
      assert.equal(give(other, flip(welcome, at)).kind, "fault", `WELCOME ${at}`);
    }
    const initiate = sent(give(client, welcome));
    if (at < initiate.length) assert.equal(give(server, flip(initiate, at)).kind, "fault", `INITIATE ${at}`);
    server.wipe();
  }
});

test("a server keeps no keys between HELLO and INITIATE, and erases a cookie key that is not needed", async () => {
  const fresh = await CurveWorld.create();
  const [client, server] = [fresh.client(), fresh.server()];
  const jar = fresh.serverKeys.cookies as unknown as { current?: { bytes: Buffer; open: number } };
  const initiate = sent(give(client, sent(give(server, client.start()[0] as Buffer))));
  const held = Object.entries(server).filter(([name, value]) => value !== undefined && name !== "keys");
  assert.deepEqual(
    held.map(([name]) => name),
    ["context", "ticket"],
  );
  const cookieKey = jar.current as { bytes: Buffer; open: number };
  assert.ok(cookieKey.bytes.some((byte) => byte !== 0));
  const waiting = fresh.server();
  give(waiting, fresh.client().start()[0] as Buffer);
  assert.equal(cookieKey.open, 2);
  assert.equal(give(server, initiate).kind, "done");
  assert.equal(cookieKey.open, 1);
  waiting.wipe();
  waiting.wipe();
  assert.equal(cookieKey.open, 0);
  assert.ok(cookieKey.bytes.every((byte) => byte === 0));
  assert.equal(jar.current, undefined);
});

test("a cookie key is used for a limited number of cookies", async () => {
  const { cookies } = (await CurveWorld.create()).serverKeys;
  const baked = Array.from({ length: 300 }, () =>
    cookies.bake({ clientKey: Buffer.alloc(32), secretKey: Buffer.alloc(32) }),
  );
  const keys = new Set(baked.map(({ ticket }) => ticket.key));
  assert.equal(keys.size, 2);
  for (const { ticket, cookie } of baked) assert.ok(cookies.open(ticket, cookie) !== undefined);
  for (const { ticket } of baked) cookies.discard(ticket);
  for (const key of keys) assert.ok(key.bytes.every((byte) => byte === 0));
});
