import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ConfigFault } from "./config/config-fault.js";
import { type ConfigSources, loadConfig } from "./config.js";

const postgresUrl =
  "postgres://USER@HOST:PORT/DATABASE; several servers as HOST:PORT,HOST:PORT; the password in PGPASSWORD or ~/.pgpass";

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "yard-config-"));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function load(text: string, flags: Omit<ConfigSources, "folder"> = {}) {
  return loadConfig({ folder: folderWith({ "yardmaster.yaml": text }), ...flags });
}

function mistakes(act: () => unknown): readonly string[] {
  try {
    act();
  } catch (fault) {
    assert.ok(fault instanceof ConfigFault, String(fault));
    return fault.mistakes;
  }
  return assert.fail("was accepted");
}

test("without a file everything has its default", () => {
  assert.deepEqual(loadConfig({ folder: folderWith({}) }), {
    data: "./yard-data",
    engine: "embedded",
    durability: "fsync",
    reserveBytes: 67_108_864,
    limits: { payloadBytes: 268435456, unfinishedBytes: 268435456, dependedOn: 100000 },
    doors: {
      http: { listen: { host: "127.0.0.1", port: 7420 }, hosts: [] },
      pingpong: {
        clients: { host: "127.0.0.1", port: 5562 },
        workers: { host: "127.0.0.1", port: 5563 },
        workerExpireSeconds: 3,
        form: "document",
        queue: "pingpong",
      },
      pulse: { dir: "/run/controller", numbering: "auto", queue: "pulse" },
      udp: {
        client_address: { host: "127.0.0.1", port: 5555 },
        timeout_task_placement: 60,
        timeout_task_execution: 3600,
        activity_poll_sec: 10,
        inactivity_timeout: 60,
        sends: 4,
        resendSeconds: 0.05,
        queue: "udp",
      },
      monique: {
        in: { host: "127.0.0.1", port: 9000 },
        out: { host: "127.0.0.1", port: 9001 },
        techIn: { host: "127.0.0.1", port: 9024 },
        techOut: { host: "127.0.0.1", port: 9025 },
        form: "d3",
        allowMessages: [],
        specs: {},
        controllers: {},
        prefetch: 1,
      },
      scaler: {
        listen: { host: "127.0.0.1", port: 8516 },
        workerTimeoutSeconds: 60,
        clientTimeoutSeconds: 600,
        perWorkerQueueSize: 1000,
        protected: true,
        objectBytes: 1_073_741_824,
        largestObjectBytes: 536_870_912,
        queue: "scaler",
      },
    },
    queues: {},
    schedules: {},
    retention: { bytes: 1073741824, ageSeconds: 604800, count: 100000 },
    keyTtlSeconds: 86400,
    replyTtlSeconds: 3600,
    drainSeconds: 10,
    graceSeconds: 10,
    traces: false,
  });
});

test("an empty file is no mistake, and a JSON file is read as well", () => {
  assert.equal(load("").drainSeconds, 10);
  assert.equal(load("# nothing yet\n").drainSeconds, 10);
  const folder = folderWith({ "yardmaster.json": '{\n\t"drainSeconds": 3\n}\n' });
  assert.equal(loadConfig({ folder }).drainSeconds, 3);
});

test("flags win over the file, and --config names another one", () => {
  const folder = folderWith({
    "yardmaster.yaml": "data: ./a\n",
    "other.yaml": "data: ./b\ndurability: fsync\n",
  });
  assert.equal(loadConfig({ folder }).data, "./a");
  assert.equal(loadConfig({ folder, file: join(folder, "other.yaml"), engine: "memory" }).data, "./b");
  assert.equal(loadConfig({ folder, data: "./c" }).data, "./c");
});

test("a queue's settings are kept as written", () => {
  const { queues } = load("queues:\n  render: { attemptTimeoutSeconds: 600, attempts: 3, maxWaiting: 10 }\n");
  assert.deepEqual(queues, { render: { attemptTimeoutSeconds: 600, attempts: 3, maxWaiting: 10 } });
});

test("any door may be closed, built or not", () => {
  const names = ["http", "pingpong", "pulse", "udp", "monique", "scaler"];
  const { doors } = load(`doors:\n${names.map((name) => `  ${name}: false\n`).join("")}`);
  assert.deepEqual(
    Object.values(doors),
    names.map(() => false),
  );
});

test("listen takes names, addresses of both families, and port 0", () => {
  const listen = (text: string) => {
    const { http } = load(`doors: { http: { listen: "${text}", token: sixteen-or-more-1 } }`).doors;
    return http === false ? undefined : http.listen;
  };
  assert.deepEqual(listen("localhost:0"), { host: "localhost", port: 0 });
  assert.deepEqual(listen("[::1]:7420"), { host: "::1", port: 7420 });
  assert.deepEqual(listen("0.0.0.0:80"), { host: "0.0.0.0", port: 80 });
  assert.deepEqual(listen("yard.example.org:65535"), { host: "yard.example.org", port: 65535 });
});

const listenExpected = 'expected host:port or [v6]:port, such as "127.0.0.1:7420"';
const secondsExpected = "expected a number of seconds above 0 and at most 315360000";
const tokenExpected =
  "expected 16 to 1024 printable characters without spaces; openssl rand -hex 16 prints such a token";

const refused: [what: string, text: string, expected: string[]][] = [
  [
    "a misspelt key",
    "data: x\ndrainSecond: 3\n",
    ["2: drainSecond: unknown key; did you mean drainSeconds?"],
  ],
  [
    "a key like no other",
    "limits:\n  colour: red\n",
    ["2: limits.colour: unknown key; known here: payloadBytes, unfinishedBytes, memoryBytes, dependedOn"],
  ],
  [
    "the config file of udp's own dispatcher",
    '{\n "client_address": { "host": "0.0.0.0", "port": 5555 },\n "timeout_task_placement": 60\n}\n',
    [
      "2: client_address: unknown key here; it belongs under doors.udp",
      "3: timeout_task_placement: unknown key here; it belongs under doors.udp",
    ],
  ],
  [
    "a key of several doors",
    "queue: x\n",
    ["1: queue: unknown key here; it belongs under doors.pingpong, doors.pulse, doors.udp or doors.scaler"],
  ],
  ["a misspelt door", "doors:\n  htp: false\n", ["2: doors.htp: unknown key; did you mean http?"]],
  [
    "a misspelt key of a queue",
    "queues:\n  render:\n    attempt: 3\n",
    ["3: queues.render.attempt: unknown key; did you mean attempts?"],
  ],
  [
    "a number for an address",
    "doors:\n  http:\n    listen: 7420\n",
    [`3: doors.http.listen: found 7420, ${listenExpected}`],
  ],
  [
    "a port out of range",
    'doors: { http: { listen: "127.0.0.1:65536" } }\n',
    [`1: doors.http.listen: found "127.0.0.1:65536", ${listenExpected}`],
  ],
  [
    "an address that is none",
    'doors: { http: { listen: "127.0.0.256:1" } }\n',
    [`1: doors.http.listen: found "127.0.0.256:1", ${listenExpected}`],
  ],
  ["a negative duration", "\n\ndrainSeconds: -1\n", [`3: drainSeconds: found -1, ${secondsExpected}`]],
  ["text for a duration", "drainSeconds: 10s\n", [`1: drainSeconds: found "10s", ${secondsExpected}`]],
  [
    "a broken number",
    "limits: { payloadBytes: 1.5 }\n",
    ["1: limits.payloadBytes: found 1.5, expected a whole number from 1 to 2147483647"],
  ],
  [
    "a word that is no choice",
    "durability: disk\n",
    ['1: durability: found "disk", expected one of fsync, memory, replicated'],
  ],
  ["a list for a mapping", "queues: [a, b]\n", ["1: queues: found a list, expected a mapping of names"]],
  ["text for a mapping", "doors: all\n", ['1: doors: found "all", expected a mapping of settings']],
  [
    "true for a door",
    "doors:\n  http: true\n",
    ["2: doors.http: found true, expected a mapping of settings"],
  ],
  [
    "nothing for a door",
    "doors:\n  http:\n",
    ["2: doors.http: found nothing, expected a mapping of settings"],
  ],
  ["a file that is a list", "- a\n", ["1: found a list, expected a mapping of settings"]],
  [
    "a name that a mapping cannot have",
    "doors:\n  monique:\n    specs:\n      __proto__: { title: a, description: b }\n",
    ['4: doors.monique.specs.__proto__: found "__proto__", expected another name: this one cannot be used'],
  ],
  [
    "an odd queue name",
    "queues:\n  a b: {}\n",
    [
      '2: queues.a b: found "a b", expected a queue\'s name: 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit',
    ],
  ],
  [
    "schedules that cannot be meant",
    'schedules:\n  a b: { queue: q, every: 5m }\n  c: { queue: q, cron: "0 0 30 2 *" }\n  d: { queue: q, every: 5m, timezone: UTC }\n',
    [
      '2: schedules.a b: found "a b", expected a schedule\'s name: 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit',
      '3: schedules.c.cron: found "0 0 30 2 *", expected a cron expression that fires at some time',
      '4: schedules.d.timezone: found "UTC", expected no timezone without cron',
    ],
  ],
  [
    "a backoff that begins above its maximum",
    "queues:\n  mail: { backoff: { firstSeconds: 120 } }\n",
    ["2: queues.mail.backoff.firstSeconds: found 120, expected at most maxSeconds, which is 60"],
  ],
  [
    "an odd host",
    "doors:\n  http:\n    hosts:\n      - ok.example\n      - a/b\n",
    ['5: doors.http.hosts.1: found "a/b", expected a host name or an IP address'],
  ],
  [
    "a token that shows itself nowhere",
    "doors: { http: { token: 12345 } }\n",
    [`1: doors.http.token: found a number, ${tokenExpected}`],
  ],
  [
    "a token that is quickly guessed, on loopback, too",
    'doors:\n  http:\n    listen: "127.0.0.1:0"\n    token: fifteen-letters\n',
    [`4: doors.http.token: found a string of 15 characters, ${tokenExpected}`],
  ],
  [
    "a door beyond loopback without a token",
    'doors:\n  http:\n    listen: "0.0.0.0:7420"\n',
    [
      [
        "3: doors.http.listen: 0.0.0.0:7420 is beyond loopback, where every program could submit and take tasks. Add one of these lines to doors.http:",
        "access: { principals: … }   # at the top of the file; yardmaster token new NAME prints its lines",
        'peers: ["10.0.0.0/8"]   # only these addresses and networks',
        "insecure: true   # everyone who can reach it",
      ].join("\n    "),
    ],
  ],
  [
    "a certificate that is not there",
    "doors:\n  http:\n    tls: { cert: /no/cert.pem, key: /no/key.pem }\n",
    ["3: doors.http.tls: cert: the file /no/cert.pem cannot be read (ENOENT)"],
  ],
  [
    "a secret in clear",
    "access:\n  principals:\n    ci: { tokens: [geheim-geheim-geheim] }\n",
    [
      "3: access.principals.ci.tokens.0: found a string of 20 characters, expected {file: PATH}, {env: NAME} or {sha256: 64 hex digits}; the secret itself does not belong in the file",
    ],
  ],
  [
    "a word that a door does not know",
    "doors:\n  pulse: { numbering: both }\n",
    ['2: doors.pulse.numbering: found "both", expected one of auto, document, main'],
  ],
  [
    "fsync from an engine without a disk",
    "engine: memory\ndurability: fsync\n",
    ['2: durability: found "fsync", expected memory: the memory engine writes nothing to disk'],
  ],
  [
    "Postgres without an address",
    "data: x\nengine: postgres\n",
    [`2: engine: postgres needs postgres.url: ${postgresUrl}`],
  ],
  [
    "a wrong address of Postgres, without showing it",
    "engine: postgres\npostgres: { url: 'mysql://me:secret@db/yard' }\n",
    [`2: postgres.url: found a string of 25 characters, expected ${postgresUrl}`],
  ],
  [
    "settings of Postgres for another engine",
    "data: x\npostgres: { url: 'postgres://db/yard' }\n",
    ["2: postgres: these settings need engine: postgres, and the engine is embedded"],
  ],
  [
    "a cluster without Postgres",
    "cluster: { node: n1 }\n",
    ["1: cluster: these settings need engine: postgres, and the engine is embedded"],
  ],
  [
    "a silence that one late beat would exceed",
    "engine: postgres\npostgres: { url: 'postgres://db/yard' }\ncluster: { node: n1, silenceMs: 300 }\n",
    ["3: cluster.silenceMs: found 300, expected at least 400, 4 times cluster.beatMs"],
  ],
  [
    "an address that is not a URL",
    "engine: postgres\npostgres: { url: 'postgres://db/yard' }\ncluster: { node: n1, advertise: n1:7420 }\n",
    ['3: cluster.advertise: found "n1:7420", expected http://HOST:PORT or https://HOST:PORT'],
  ],
  [
    "a schema's name that would need quotes",
    "engine: postgres\npostgres:\n  url: postgres://db/yard\n  schema: My-Yard\n",
    [
      '4: postgres.schema: found "My-Yard", expected a schema\'s name: a lower-case letter, then at most 40 letters, digits and underscores',
    ],
  ],
  [
    "less durability than Postgres is asked for",
    "engine: postgres\ndurability: fsync\npostgres: { url: 'postgres://db/yard' }\n",
    ['2: durability: found "fsync", expected replicated, because postgres.requireSync is true'],
  ],
  [
    "replication from an engine on one machine",
    "durability: replicated\n",
    ['1: durability: found "replicated", expected another word: the embedded engine does not replicate'],
  ],
  [
    "several at once, in the order of the file",
    "drainSeconds: no\nengin: memory\ndata: 7\n",
    [
      `1: drainSeconds: found "no", ${secondsExpected}`,
      "2: engin: unknown key; did you mean engine?",
      "3: data: found 7, expected a folder",
    ],
  ],
];

for (const [what, text, expected] of refused) {
  test(`refuses ${what}`, () => {
    assert.deepEqual(
      mistakes(() => load(text)),
      expected.map((line) => `yardmaster.yaml:${line}`),
    );
  });
}

test("a file that is not YAML is told with its line", () => {
  const [line, ...rest] = mistakes(() => load("data: x\nlimits: { payloadBytes: 1\n"));
  assert.match(line ?? "", /^yardmaster\.yaml:[23]: not valid YAML: /);
  assert.deepEqual(rest, []);
  assert.match(mistakes(() => load("data: a\ndata: b\n"))[0] ?? "", /^yardmaster\.yaml:2: not valid YAML: /);
});

test("a named file has to be there, and to be a file", () => {
  const folder = folderWith({});
  mkdirSync(join(folder, "d"));
  assert.deepEqual(
    mistakes(() => loadConfig({ folder, file: "no.yaml" })),
    ["no.yaml: there is no such file"],
  );
  assert.deepEqual(
    mistakes(() => loadConfig({ folder, file: "d" })),
    ["d: is a folder, expected a file"],
  );
});

test("--engine is checked like the file's", () => {
  assert.deepEqual(
    mistakes(() => load("", { engine: "mysql" })),
    ['--engine: found "mysql", expected one of memory, embedded, postgres'],
  );
});

test("the Postgres engine has its own settings, and a flag may choose another", () => {
  const text = "engine: postgres\npostgres: { url: 'postgres://one,two/yard' }\n";
  const { engine, durability, postgres } = load(text);
  const defaults = { schema: "yardmaster", commitSeconds: 1, requireSync: true };
  assert.deepEqual(
    { engine, durability, postgres },
    {
      engine: "postgres",
      durability: "replicated",
      postgres: { url: "postgres://one,two/yard", ...defaults },
    },
  );
  assert.equal(load(text.replace(" }", ", requireSync: false }")).durability, "fsync");
  assert.equal(load(text, { engine: "memory" }).durability, "memory");
});
