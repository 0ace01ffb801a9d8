// Flags over variables over the file, where each value comes from, and the file that `yardmaster
// init` writes.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { loadConfig } from "../config.js";
import { commentedConfig } from "./commented-config.js";
import { ConfigFault } from "./config-fault.js";
import { configInForce } from "./in-force.js";
import { allSettings } from "./reference.js";

const folder = mkdtempSync(join(tmpdir(), "yard-origins-"));
after(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

function mistakesOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (fault) {
    if (fault instanceof ConfigFault) return fault.mistakes;
    throw fault;
  }
  return [];
}

const token = "0123456789abcdef0123";

describe("a variable", () => {
  const file = write("two.yaml", "data: /file\nengine: memory\ndoors:\n  http: { listen: '127.0.0.1:1' }\n");

  test("takes precedence over the file, and a flag over the variable", () => {
    const variables = { YARD_DATA: "/variable", YARD_ENGINE: "embedded", YARD_HTTP_LISTEN: "127.0.0.1:2" };
    const config = loadConfig({ folder, file, variables, data: "/flag" });
    assert.equal(config.data, "/flag");
    assert.equal(config.engine, "embedded");
    assert.ok(config.doors.http);
    assert.equal(config.doors.http.listen.port, 2);
    assert.equal(loadConfig({ folder, file, variables: { YARD_DATA: "" } }).data, "/file");
  });

  test("names a file with the token, without which the door may not be exposed", () => {
    const variables = { YARD_HTTP_LISTEN: "0.0.0.0:7420" };
    assert.match(
      mistakesOf(() => loadConfig({ folder, variables }))[0] ?? "",
      /^YARD_HTTP_LISTEN: .*loopback/,
    );
    write("token", `${token}\n`);
    const config = loadConfig({
      folder,
      variables: { ...variables, YARD_HTTP_TOKEN_FILE: join(folder, "token") },
    });
    assert.ok(config.doors.http);
    assert.equal(config.doors.http.token, token);
  });

  test("opens a door that the file closes", () => {
    const closed = write("closed.yaml", "doors: { http: false }\n");
    assert.equal(loadConfig({ folder, file: closed }).doors.http, false);
    assert.ok(
      loadConfig({ folder, file: closed, variables: { YARD_HTTP_LISTEN: "127.0.0.1:0" } }).doors.http,
    );
  });

  test("with a mistake is named", () => {
    const variables = { YARD_ENGINE: "sqlite", YARD_HTTP_TOKEN_FILE: join(folder, "none") };
    assert.deepEqual(
      mistakesOf(() => loadConfig({ folder, variables: { YARD_ENGINE: "sqlite" } })),
      ['YARD_ENGINE: found "sqlite", expected one of memory, embedded, postgres'],
    );
    assert.match(
      mistakesOf(() => loadConfig({ folder, variables }))[0] ?? "",
      /^YARD_HTTP_TOKEN_FILE: .*ENOENT/,
    );
  });

  test("gives a node of a cluster its database, its name and its URL", () => {
    const shared = write("shared.yaml", "engine: postgres\ncluster: { silenceMs: 900 }\n");
    const variables = {
      YARD_POSTGRES_URL: "postgres://yard@db/yard",
      YARD_CLUSTER_NODE: "yardmaster-1",
      YARD_CLUSTER_ADVERTISE: "http://yardmaster-1.nodes:7420",
    };
    const { postgres, cluster } = loadConfig({ folder, file: shared, variables });
    assert.equal(postgres?.url, "postgres://yard@db/yard");
    assert.deepEqual(cluster, {
      node: "yardmaster-1",
      advertise: "http://yardmaster-1.nodes:7420",
      beatMs: 100,
      silenceMs: 900,
    });
    assert.deepEqual(
      mistakesOf(() =>
        loadConfig({ folder, file: shared, variables: { ...variables, YARD_CLUSTER_NODE: "-" } }),
      ),
      [
        'YARD_CLUSTER_NODE: found "-", expected a node\'s name: 1 to 63 of A-Z a-z 0-9 . _ -, the first a letter or digit',
      ],
    );
  });

  test("that does not fit the rest is named, and not a file without it", () => {
    assert.deepEqual(
      mistakesOf(() => loadConfig({ folder, variables: { YARD_CLUSTER_NODE: "n1" } })),
      ["YARD_CLUSTER_NODE: these settings need engine: postgres, and the engine is embedded"],
    );
    const inFile = write("cluster.yaml", "cluster: { node: n1 }\n");
    const variables = { YARD_CLUSTER_NODE: "n2" };
    assert.deepEqual(
      mistakesOf(() => loadConfig({ folder, file: inFile, variables })),
      ["cluster.yaml:1: cluster: these settings need engine: postgres, and the engine is embedded"],
    );
  });

  test("of another program changes nothing", () => {
    assert.deepEqual(loadConfig({ folder, variables: { YARD_TOKEN: token } }), loadConfig({ folder }));
  });
});

test("every value in force has its origin", () => {
  const file = write(
    "origins.yaml",
    `engine: memory\ndoors:\n  udp: false\n  http: { token: ${token} }\nqueues:\n  mail: { attempts: 2 }\n`,
  );
  const inForce = configInForce({ folder, file, variables: { YARD_DATA: "/variable" } });
  const origins = new Map(
    inForce.map(({ path, value, origin }) => [path, `${JSON.stringify(value)} ${origin}`]),
  );
  assert.equal(origins.get("data"), '"/variable" YARD_DATA');
  assert.equal(origins.get("engine"), '"memory" origins.yaml:1');
  assert.equal(origins.get("durability"), '"memory" default');
  assert.equal(origins.get("doors.udp"), "false origins.yaml:3");
  assert.equal(origins.get("doors.http.token"), '"(secret)" origins.yaml:4');
  assert.equal(origins.get("doors.http.listen"), '"127.0.0.1:7420" default');
  assert.equal(origins.get("queues.mail.attempts"), "2 origins.yaml:6");
  assert.equal(origins.get("doors.udp.queue"), undefined);
  assert.equal(origins.get("access.principals"), undefined);
});

describe("the commented file", () => {
  const text = commentedConfig();

  test("changes nothing, and neither does it with every comment taken off", () => {
    const asIs = write("commented.yaml", text);
    const spelledOut = write("spelled-out.yaml", text.replace(/^#/gm, ""));
    assert.deepEqual(loadConfig({ folder, file: asIs }), loadConfig({ folder }));
    assert.deepEqual(loadConfig({ folder, file: spelledOut }), loadConfig({ folder }));
  });

  test("has every setting, within 100 columns unless a value is longer", () => {
    for (const { path } of allSettings()) {
      const name = path.split(".").at(-1) ?? "";
      assert.match(text, new RegExp(`^#[ #]*${name}:`, "m"), path);
    }
    const prose = text.split("\n").filter((line) => !/: ["(\d[{tf]/.test(line));
    for (const line of prose) assert.ok(line.length <= 100, line);
  });
});
