// Two dispatchers in the simulator, and what it found. More seeds: `node
// packages/engines/dist/postgres/testing/simulate.js 1 5000`.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SeededRandom } from "../embedded/testing/random.js";
import { claim, type OwnerRow, readOwner } from "./log-table.js";
import type { Connect, Link } from "./pg-link.js";
import { Session, serversIn } from "./session.js";
import { ClusterSimulation } from "./testing/cluster-simulation.js";
import { Network } from "./testing/simulated-network.js";
import { SimulatedServers, serversUrl } from "./testing/simulated-servers.js";
import { Process, World } from "./testing/simulated-world.js";

const seedsAtOnce = 20;

describe("two simulated dispatchers", () => {
  for (let first = 1; first <= 100; first += seedsAtOnce) {
    test(`lose nothing and never own the database together: seeds from ${first}`, async () => {
      for (let seed = first; seed < first + seedsAtOnce; seed++) {
        const { violation } = await new ClusterSimulation(seed).run();
        assert.equal(violation, undefined, `seed ${seed}: ${violation}`);
      }
    });
  }

  test("the same seed gives the same run", async () => {
    const traces = [0, 1].map(() => [] as string[]);
    for (const trace of traces) await new ClusterSimulation(7, (line) => trace.push(line)).run();
    assert.deepEqual(traces[0], traces[1]);
    assert.ok((traces[0] as string[]).length > 10);
  });
});

describe("the sessions of an engine", () => {
  test("look for a new primary once, and do not wait long for a server that is mute", async () => {
    const world = new World(new SeededRandom(1));
    const tried: string[] = [];
    const link: Link = {
      query: async () => ({ rows: [], rowCount: 0 }),
      end: async () => {},
      destroy: () => {},
    };
    const connect: Connect = ({ url }) => {
      tried.push(url);
      return url.includes("mute") ? new Promise(() => {}) : Promise.resolve(link);
    };
    const [mute = "", primary = ""] = serversIn("postgres://mute,primary/yard");
    const platform = { clock: world.clockOf(new Process()), connect };
    const place = { url: "", urls: [mute, primary], schema: "yard", instance: "a", settings: "", platform };
    let connections = 0;
    const useBoth = async () => {
      for (const session of [1, 2].map(() => new Session(place, 30_000))) {
        await session.query("select 1");
        connections += 1;
      }
    };
    void useBoth();
    await world.run(world.time + 6000, () => connections === 2);
    assert.equal(connections, 2);
    assert.deepEqual(tried, [mute, primary, primary]);
  });
});

describe("a claim whose answer was lost", () => {
  test("counts once the standby has it, although the row names the claimant already", async () => {
    const world = new World(new SeededRandom(1));
    const servers = new SimulatedServers(world);
    const { platform } = new Network(servers, new Process());
    const place = { url: serversUrl, schema: "yard", instance: "a", settings: "", platform };
    const session = new Session(place, 1000);
    const passing = (ms: number) => world.run(world.time + ms, () => false);

    let seen: OwnerRow | undefined;
    void readOwner(session).then((row) => {
      seen = row;
    });
    await passing(100);
    servers.stopStandby();
    const lost = assert.rejects(claim(session, seen as OwnerRow, { instance: "a" }), /terminating/);
    await passing(100);
    servers.interruptWaits("terminated");
    await passing(100);
    await lost;

    let owner: OwnerRow | undefined;
    void claim(session, seen as OwnerRow, { instance: "a" }).then((row) => {
      owner = row;
    });
    await passing(500);
    assert.equal(servers.tables.owner.get(1)?.instance, "a");
    assert.equal(owner, undefined);
    servers.startStandby();
    await passing(100);
    assert.equal((owner as OwnerRow | undefined)?.epoch, 1);
  });
});
