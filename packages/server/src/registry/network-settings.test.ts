// A door beyond loopback: the settings with which it may start, and the message without them.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ConfigFault } from "../config/config-fault.js";
import { loadConfig, openedByReload } from "../config.js";

const folder = mkdtempSync(join(tmpdir(), "yard-exposed-"));
after(() => rmSync(folder, { recursive: true }));

/** The mistakes in a configuration with these settings of one door, with or without principals. */
function mistakes(door: string, settings: object, hasAccess = false): readonly string[] {
  const access = { principals: { ann: { curveKeys: ["rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"] } } };
  const config = { doors: { [door]: settings }, ...(hasAccess && { access }) };
  writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
  try {
    loadConfig({ folder });
    return [];
  } catch (fault) {
    assert.ok(fault instanceof ConfigFault);
    return fault.mistakes;
  }
}

const exposed = {
  http: { listen: "0.0.0.0:7420" },
  pingpong: { workers: "[::]:5563" },
  monique: { techOut: "192.0.2.1:9025" },
  scaler: { listen: "yard.example:8516" },
  udp: { client_address: { host: "0.0.0.0" } },
};

for (const [door, settings] of Object.entries(exposed)) {
  test(`${door} beyond loopback needs credentials, peers or insecure`, () => {
    const [mistake = "", ...others] = mistakes(door, settings);
    assert.deepEqual(others, []);
    const [what, ...lines] = mistake.split("\n    ");
    assert.match(what ?? "", /is beyond loopback/);
    assert.equal(lines.length, 3, mistake);
    assert.deepEqual(mistakes(door, { ...settings, peers: ["10.0.0.0/8"] }), []);
    assert.deepEqual(mistakes(door, { ...settings, insecure: true }), []);
    assert.equal(mistakes(door, { ...settings, insecure: false }).length, 1);
    assert.equal(mistakes(door, settings, true).length, door === "udp" ? 1 : 0, "with access:");
  });
}

test("an anonymous principal is no credential, unless NULL is not spoken", () => {
  const settings = { ...exposed.scaler, anonymous: "ann" };
  assert.equal(mistakes("scaler", settings, true).length, 1);
  const security = { mechanisms: ["CURVE"], serverKeyFile: "x" };
  assert.deepEqual(mistakes("scaler", { ...settings, security }, true), []);
  const withNull = { ...security, mechanisms: ["CURVE", "NULL"] };
  assert.equal(mistakes("scaler", { ...settings, security: withNull }, true).length, 1);
});

test("an anonymous principal of the http door is no credential either", () => {
  const settings = { ...exposed.http, anonymous: "ann" };
  assert.equal(mistakes("http", settings, true).length, 1);
  assert.deepEqual(mistakes("http", { ...settings, insecure: true }, true), []);
  assert.deepEqual(mistakes("http", { listen: "127.0.0.1:7420", anonymous: "ann" }, true), []);
});

test("a reload does not open a door beyond loopback to everyone", () => {
  const ann = { curveKeys: ["rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"] };
  const read = (config: object) => {
    writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
    return loadConfig({ folder });
  };
  const access = { principals: { ann } };
  const running = read({ access, doors: { http: exposed.http, scaler: exposed.scaler } });
  const reloaded = (config: object) =>
    openedByReload(running, read(config)).map((text) => text.split(":")[0]);
  assert.deepEqual(reloaded({ access, doors: {} }), []);
  // These addresses are taken at the next start only.
  assert.deepEqual(reloaded({}), ["doors.http", "doors.scaler"]);
  assert.deepEqual(reloaded({ doors: { http: false, scaler: { peers: ["10.0.0.0/8"] } } }).length, 2);
  assert.deepEqual(reloaded({ access, doors: { scaler: { anonymous: "ann" } } }), ["doors.scaler"]);
  assert.deepEqual(reloaded({ doors: { http: { token: "0123456789abcdef" } } }), ["doors.scaler"]);
});

test("security that could not work is refused", () => {
  const trial = (security: object, hasAccess = true) => mistakes("pingpong", { security }, hasAccess).join();
  assert.match(trial({ mechanisms: ["CURVE"] }), /needs serverKeyFile/);
  assert.match(trial({ mechanisms: [] }), /at least one/);
  assert.match(trial({ mechanisms: ["PLAIN", "PLAIN"] }), /each once/);
  assert.match(trial({ mechanisms: ["PLAIN"] }, false), /no peer could come in/);
  assert.match(trial({ mechanisms: ["GSSAPI"] }), /CURVE, PLAIN, NULL/);
  assert.equal(trial({ mechanisms: ["PLAIN", "NULL"] }), "");
});

test("text that is not a network is refused", () => {
  for (const peers of ["10.0.0.0/8", ["10.0.0.0/33"], ["host"], [""]]) {
    assert.equal(mistakes("http", { peers }).length, 1, JSON.stringify(peers));
  }
});

test("the example of security.md is a configuration", () => {
  const page = readFileSync(new URL("../../../../docs/security.md", import.meta.url), "utf8");
  const [, example = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const file = join(folder, "example.yaml");
  // Reading the configuration reads the certificate, which does not exist here.
  const loadable = example.replace('"…"', `"${"0".repeat(64)}"`).replace(/, tls: \{.*?\}/, "");
  writeFileSync(file, loadable);
  const { doors, access } = loadConfig({ folder, file });
  assert.ok(doors.pingpong !== false);
  assert.deepEqual(doors.pingpong.peers, ["10.0.0.0/8"]);
  assert.ok(access?.principals.pump !== undefined);
});
