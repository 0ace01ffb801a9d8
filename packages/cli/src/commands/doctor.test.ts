import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer as createWebServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { after, describe, test } from "node:test";
import { closedDoors } from "@yardmaster/server";
import { CommandYard } from "../testing/commands.js";

const yards: CommandYard[] = [];
after(() => {
  for (const yard of yards) yard.close();
});

function newYard(): CommandYard {
  const yard = new CommandYard();
  yards.push(yard);
  return yard;
}

const free = "127.0.0.1:0";
const nobody = "http://127.0.0.1:1";

/** The findings of a check, by its name. */
async function findings(yard: CommandYard, ...args: string[]) {
  const { code, stdout } = await yard.run(["doctor", "--json", ...args]);
  const all = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { check: string; status: string; says: string; advice?: string });
  return { code, of: (check: string) => all.filter((finding) => finding.check === check) };
}

describe("yardmaster doctor", { timeout: 600_000, concurrency: 2 }, () => {
  test("finds nothing wrong where nothing is", async () => {
    const yard = newYard();
    yard.file(
      "yardmaster.json",
      JSON.stringify({ doors: { ...closedDoors, http: { listen: "127.0.0.1:0" } } }),
    );
    const { code, of } = await findings(yard, "--url", nobody);
    assert.equal(code, 0);
    for (const check of [
      "yardmaster",
      "node",
      "configuration",
      "folder",
      "open files",
      "udp buffers",
      "clock",
      "dispatcher",
      "door http",
    ]) {
      assert.equal(of(check).length, 1, check);
      assert.notEqual(of(check)[0]?.status, "wrong", check);
    }
    const { stdout } = await yard.run(["doctor", "--url", nobody]);
    assert.match(stdout, /^ok {5}yardmaster {5}\d/);
  });

  test("a port that another program has is wrong, tcp and udp, and what to do is said", async () => {
    const yard = newYard();
    const tcp = createServer().listen(0, "127.0.0.1");
    const udp = createSocket("udp4").bind(0, "127.0.0.1");
    await Promise.all([once(tcp, "listening"), once(udp, "listening")]);
    const port = (tcp.address() as AddressInfo).port;
    yard.file(
      "yardmaster.json",
      JSON.stringify({
        doors: {
          ...closedDoors,
          http: { listen: `127.0.0.1:${port}` },
          udp: { client_address: { port: udp.address().port } },
          monique: { in: free, out: free, techIn: free, techOut: free, controllers: { clock: port } },
        },
      }),
    );
    const { code, of } = await findings(yard, "--url", nobody);
    tcp.close();
    udp.close();
    assert.equal(code, 1);
    assert.equal(of("door http")[0]?.says, `listen: 127.0.0.1:${port}: another program listens there`);
    assert.match(of("door http")[0]?.advice ?? "", /choose another port: doors\.http\.listen\.$/);
    assert.equal(of("door udp")[0]?.status, "wrong");
    assert.deepEqual(
      of("door monique").map(({ status, says }) => `${status} ${says.split(":")[0]}`),
      ["good in", "good out", "good techIn", "good techOut", "wrong controllers.clock"],
    );
  });

  test("a running dispatcher has its own ports", async () => {
    const yard = await newYard().serve({ pingpong: { clients: "127.0.0.1:0", workers: "127.0.0.1:0" } });
    const { clients, workers } = yard.doors.pingpong ?? {};
    yard.file(
      "yardmaster.json",
      JSON.stringify({
        doors: { ...closedDoors, http: { listen: yard.doors.http?.listen }, pingpong: { clients, workers } },
      }),
    );
    const { code, of } = await findings(yard);
    assert.equal(code, 0);
    assert.match(of("dispatcher")[0]?.says ?? "", /is ready$/);
    assert.deepEqual(of("version"), []);
    assert.equal(of("door pingpong")[0]?.says, `clients: the running dispatcher has ${clients}`);
  });

  test("a configuration with a mistake, and a data folder that is a file", async () => {
    const yard = newYard();
    const config = yard.file("bad.yaml", "doors:\n  htp: {}\n");
    const bad = await findings(yard, "--url", nobody, "--config", config);
    assert.equal(bad.code, 1);
    assert.match(
      bad.of("configuration")[0]?.says ?? "",
      /bad\.yaml:2: doors\.htp: unknown key; did you mean http\?/,
    );
    const file = yard.file("plain", "");
    const folder = await findings(yard, "--url", nobody, "--data", file);
    assert.equal(folder.code, 1);
    assert.match(folder.of("folder")[0]?.says ?? "", /plain is not a folder$/);
  });

  test("something else at the dispatcher's port, and a clock that is off", async () => {
    const yard = newYard();
    const other = createWebServer((_request, response) => {
      response.setHeader("Date", new Date(Date.now() - 60_000).toUTCString());
      response.end("hello");
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { code, of } = await findings(yard, "--url", url);
    assert.equal(code, 1);
    assert.match(of("dispatcher")[0]?.says ?? "", /answered with something that is not JSON/);
    other.removeAllListeners("request");
    other.on("request", (_request, response) => {
      response.setHeader("Date", new Date(Date.now() - 60_000).toUTCString());
      response.end("{}");
    });
    const late = await findings(yard, "--url", url);
    other.close();
    other.closeAllConnections();
    assert.match(late.of("clock")[0]?.says ?? "", /the dispatcher's clock is \d+ s off ours/);
  });

  test("a URL of another dialect is a mistake", async () => {
    const { code, stderr } = await newYard().run(["doctor", "--url", "udp://127.0.0.1:5555"]);
    assert.equal(code, 2);
    assert.match(stderr, /--url: found udp:.*, expected a URL such as http:/);
  });
});
