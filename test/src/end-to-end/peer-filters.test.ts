// `peers` of every door with a port: an address that is not listed is cut off before a byte is
// exchanged, and the others are served.

import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

const [listed, other] = ["127.0.0.2", "127.0.0.3"];
const peers = [listed];

function dial(address: string, localAddress: string): Socket {
  const [host, port] = address.split(":");
  return connect({ host, port: Number(port), localAddress });
}

/** What comes over a connection first: a byte, or its end. */
async function first(socket: Socket): Promise<"bytes" | "end"> {
  return new Promise((resolve) => {
    socket.once("data", () => resolve("bytes"));
    socket.once("close", () => resolve("end"));
    socket.on("error", () => resolve("end"));
  });
}

async function metrics(url: string): Promise<string> {
  const asked = request(`${url}/metrics`, { localAddress: listed });
  asked.end();
  const [answer] = await once(asked, "response");
  let text = "";
  for await (const chunk of answer) text += chunk;
  return text;
}

test("doors answer only the addresses in peers", patience, async () => {
  const pingpong = { peers };
  const monique = { peers };
  const doors = { http: { peers }, pingpong, monique, scaler: { peers }, udp: { peers } };
  const yard = await serveYard({ doors });
  const { udp, ...tcp } = yard.doors;
  try {
    for (const [door, addresses] of Object.entries(tcp)) {
      for (const [key, address] of Object.entries(addresses)) {
        const greeting = door === "http" ? "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" : "";
        const [good, bad] = [dial(address, listed), dial(address, other)];
        for (const socket of [good, bad]) socket.write(greeting);
        assert.deepEqual(await Promise.all([good, bad].map(first)), ["bytes", "end"], `${door} ${key}`);
        good.destroy();
      }
    }
    const [host, port] = (udp?.client_address ?? "").split(":");
    const task = { method: "add_task", params: { task_id: 1 }, packet_type: 1, transmission_id: 1 };
    const sockets = [createSocket("udp4"), createSocket("udp4")] as const;
    for (const [at, socket] of sockets.entries()) {
      socket.bind(0, at === 0 ? other : listed);
      await once(socket, "listening");
    }
    const [refused, served] = sockets;
    refused.on("message", () => assert.fail("an answer to an address that is not listed"));
    const answered = once(served, "message");
    for (const socket of sockets) socket.send(JSON.stringify(task), Number(port), host);
    assert.equal(JSON.parse(String((await answered)[0])).packet_type, 2);
    for (const socket of sockets) socket.close();
    const counted = await metrics(yard.url);
    for (const door of Object.keys(doors)) {
      assert.match(counted, new RegExp(`door="${door}",kind="address_refused"\\} [1-9]`), door);
    }
  } finally {
    await yard.stop();
  }
});
