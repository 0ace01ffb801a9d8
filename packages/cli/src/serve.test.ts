import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../bin/yardmaster.js", import.meta.url));
const root = fileURLToPath(new URL("../../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "yard-cli-"));
const children: ChildProcess[] = [];

after(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

interface Run {
  readonly child: ChildProcess;
  /** The next line of standard output. */
  line(): Promise<string>;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = folder): Run {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    line: async () => String((await lines.next()).value),
    ended: once(child, "close").then(([code]) => ({ code, stdout, stderr })),
  };
}

const yardmaster = (...args: string[]) => start(process.execPath, [bin, ...args]);

function configFile(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

let yards = 0;

const moniqueAnywhere = {
  in: "127.0.0.1:0",
  out: "127.0.0.1:0",
  techIn: "127.0.0.1:0",
  techOut: "127.0.0.1:0",
  controllers: { example_clock: 0 },
};

/** Free ports, and a separate folder for sockets. */
function freeConfig(pulseDir?: string): string {
  yards += 1;
  const doors = {
    http: { listen: "127.0.0.1:0" },
    pingpong: { clients: "127.0.0.1:0", workers: "127.0.0.1:0" },
    udp: { client_address: { port: 0 } },
    monique: moniqueAnywhere,
    scaler: { listen: "127.0.0.1:0" },
    pulse: { dir: pulseDir ?? join(folder, `pulse-${yards}`) },
  };
  return configFile(`free-${yards}.yaml`, JSON.stringify({ data: join(folder, `data-${yards}`), doors }));
}

const closedDoors = "pingpong: false, pulse: false, udp: false, monique: false, scaler: false";

describe("yardmaster", { timeout: 600_000, concurrency: 2 }, () => {
  test("serve --json prints one line when all doors are open, and nothing else", async () => {
    const run = yardmaster("serve", "--json", "--config", freeConfig());
    const line = await run.line();
    const ready = JSON.parse(line);
    const { listen } = ready.doors.http;
    const { clients, workers } = ready.doors.pingpong;
    const { dir } = ready.doors.pulse;
    assert.match(dir, /\/pulse-\d+$/);
    const { client_address } = ready.doors.udp;
    const monique = ready.doors.monique as Record<string, string>;
    const scaler = ready.doors.scaler.listen;
    assert.deepEqual(ready, {
      ready: true,
      pid: run.child.pid,
      engine: "embedded",
      durability: "fsync",
      doors: {
        http: { listen },
        pingpong: { clients, workers },
        pulse: { dir },
        udp: { client_address },
        monique,
        scaler: { listen: scaler },
      },
    });
    assert.deepEqual(Object.keys(monique), ["in", "out", "techIn", "techOut", "controllers.example_clock"]);
    for (const address of [listen, clients, workers, client_address, scaler, ...Object.values(monique)])
      assert.match(address, /^127\.0\.0\.1:[1-9]\d*$/);
    assert.deepEqual(await (await fetch(`http://${listen}/v1/doors`)).json(), ready.doors);
    await fetch(`http://${listen}/v1/queues/q/tasks`, { method: "POST", body: "x" });
    await fetch(`http://${listen}/v1/tasks?nonsense`);
    const metrics = await (await fetch(`http://${listen}/metrics`)).text();
    assert.match(metrics, /^yardmaster_waiting\{queue="q",reason="no_worker"\} 1$/m);
    assert.match(metrics, /^yardmaster_faults_total\{door="http",kind="bad_request"\} 1$/m);
    run.child.kill("SIGTERM");
    const { code, stdout } = await run.ended;
    assert.equal(code, 0);
    assert.equal(stdout, `${line}\n`);
  });

  test("serve tells people where it is, within 80 columns", async () => {
    const run = yardmaster("serve", "--config", freeConfig());
    assert.match(await run.line(), /^yardmaster \d+\.\d+\.\d+$/);
    assert.equal(await run.line(), "");
    assert.equal(await run.line(), "  engine      embedded: accepted tasks are on disk");
    assert.match(await run.line(), /^ {2}data {8}\/.*\/data-\d+$/);
    const page = /^ {2}page {8}http:\/\/(127\.0\.0\.1:\d+)\/$/.exec(await run.line());
    assert.equal(await run.line(), `  http        ${page?.[1]}`);
    assert.match(await run.line(), /^ {2}pingpong {4}clients 127\.0\.0\.1:\d+$/);
    assert.match(await run.line(), /^ {14}workers 127\.0\.0\.1:\d+$/);
    assert.match(await run.line(), /^ {2}pulse {7}\/.*\/pulse-\d+$/);
    assert.match(await run.line(), /^ {2}udp {9}127\.0\.0\.1:\d+$/);
    assert.match(await run.line(), /^ {2}monique {5}in 127\.0\.0\.1:\d+$/);
    for (const name of ["out", "techIn", "techOut", "controllers\\.example_clock"])
      assert.match(await run.line(), new RegExp(`^ {14}${name} 127\\.0\\.0\\.1:\\d+$`));
    assert.match(await run.line(), /^ {2}scaler {6}127\.0\.0\.1:\d+$/);
    assert.equal(await run.line(), "");
    run.child.kill("SIGINT");
    const { code, stdout } = await run.ended;
    assert.equal(code, 0);
    for (const line of stdout.split("\n")) assert.ok(line.length <= 80, line);
  });

  test("where the sockets' folder cannot be written they are in the data folder, and the banner says so", async () => {
    const run = yardmaster("serve", "--config", freeConfig("/dev/null/controller"));
    let line = await run.line();
    while (!line.startsWith("  pulse ")) line = await run.line();
    assert.match(line, /^ {2}pulse {7}\/.*\/data-\d+\/controller$/);
    assert.equal(
      await run.line(),
      `${" ".repeat(14)}instead of /dev/null/controller, which cannot be written`,
    );
    run.child.kill("SIGTERM");
    assert.equal((await run.ended).code, 0);
  });

  test("a controller that is alive is not pushed aside", async () => {
    const dir = join(folder, "shared");
    const first = yardmaster("serve", "--json", "--config", freeConfig(dir));
    await first.line();
    const { code, stdout, stderr } = await yardmaster("serve", "--json", "--config", freeConfig(dir)).ended;
    assert.deepEqual([code, stdout], [1, ""]);
    assert.equal(stderr, `yardmaster: door pulse: another controller listens on ${dir}/main.sock\n`);
    first.child.kill("SIGKILL");
    await first.ended;
    const heir = yardmaster("serve", "--json", "--config", freeConfig(dir));
    assert.equal(JSON.parse(await heir.line()).doors.pulse.dir, dir);
    heir.child.kill("SIGTERM");
    assert.equal((await heir.ended).code, 0);
  });

  /** A yard with one attempt out, asked to stop. */
  async function stopWhileRunning(signals: readonly NodeJS.Signals[]) {
    const run = yardmaster("serve", "--json", "--config", freeConfig());
    const base = `http://${JSON.parse(await run.line()).doors.http.listen}`;
    const post = (path: string, options: RequestInit = {}) =>
      fetch(base + path, { method: "POST", ...options });
    await post("/v1/queues/q/tasks", { body: "x" });
    const claim = await (await post("/v1/queues/q:claim?worker=w&lease=1h")).json();
    const { attempts } = claim as { attempts: [{ task: string; attempt: number; token: string }] };
    const [{ task, attempt, token }] = attempts;
    for (const signal of signals) run.child.kill(signal);
    while ((await fetch(`${base}/readyz`)).status !== 503);
    const finish = () =>
      post(`/v1/tasks/${task}/attempts/${attempt}:done`, { headers: { "Yard-Token": token } });
    return { run, finish };
  }

  test("SIGTERM lets a running attempt finish", async () => {
    const { run, finish } = await stopWhileRunning(["SIGTERM"]);
    assert.equal((await finish()).status, 200);
    assert.equal((await run.ended).code, 0);
  });

  test("a second SIGTERM ends it at once", async () => {
    const { run } = await stopWhileRunning(["SIGTERM"]);
    run.child.kill("SIGTERM");
    assert.equal((await run.ended).code, 1);
  });

  test("a Ctrl-C that npm passes on a second time counts once", async () => {
    const { run, finish } = await stopWhileRunning(["SIGINT", "SIGINT"]);
    assert.equal((await finish()).status, 200);
    assert.equal((await run.ended).code, 0);
  });

  test("npm start passes arguments, signals and the exit code on", async () => {
    const config = join(folder, freeConfig());
    const run = start("npm", ["start", "--silent", "--", "--json", "--config", config], {}, root);
    const { pid } = JSON.parse(await run.line());
    assert.notEqual(pid, run.child.pid);
    run.child.kill("SIGTERM");
    assert.equal((await run.ended).code, 0);
    assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  });

  test("a port in use ends it with 1, naming door and port", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const config = configFile(
      "taken.yaml",
      `doors: { http: { listen: "127.0.0.1:${port}" }, ${closedDoors} }\n`,
    );
    const { code, stdout, stderr } = await yardmaster("serve", "--json", "--config", config).ended;
    other.close();
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.equal(stderr, `yardmaster: door http: another program listens on 127.0.0.1:${port}\n`);
  });

  test("a data folder that is none ends it with 1, in one line", async () => {
    const config = configFile("own.yaml", `doors: { http: { listen: "127.0.0.1:0" }, ${closedDoors} }\n`);
    for (const data of [config, join(config, "below"), "/dev/null/below"]) {
      const { code, stderr } = await yardmaster("serve", "--config", config, "--data", data).ended;
      assert.equal(code, 1, stderr);
      const said = /^yardmaster: The store in (.*): E[A-Z]+: .* \(name a folder with --data\)\n$/.exec(
        stderr,
      );
      assert.equal(said?.[1], data, stderr);
    }
  });

  test("a database that cannot be reached ends it with 1, in one line", async () => {
    const postgres = `postgres: { url: "postgres://yard@/yard?host=${folder}" }`;
    const doors = `doors: { http: { listen: "127.0.0.1:0" }, ${closedDoors} }`;
    const config = configFile("away.yaml", `engine: postgres\n${postgres}\n${doors}\n`);
    const { code, stderr } = await yardmaster("serve", "--json", "--config", config).ended;
    assert.equal(code, 1);
    assert.match(stderr, /^yardmaster: The database cannot be used at the moment: connect ENOENT .*\n$/);
  });

  test("SIGHUP adds specs and controllers; a config with a mistake changes nothing", async () => {
    const file = "reloaded.yaml";
    const write = (text: string) => configFile(file, text);
    const config = (monique: object) =>
      write(
        JSON.stringify({
          data: "./reloaded",
          doors: {
            http: { listen: "127.0.0.1:0" },
            pingpong: false,
            pulse: false,
            udp: false,
            scaler: false,
            monique,
          },
        }),
      );
    config(moniqueAnywhere);
    const run = yardmaster("serve", "--json", "--config", file);
    const { doors } = JSON.parse(await run.line());
    const ask = async (path: string) =>
      (await (await fetch(`http://${doors.http.listen}${path}`)).json()) as never;
    const specs = { example_radio: { title: "Radio", description: "Songs, as they are played." } };
    const controllers = { example_clock: 0, example_radio: 0 };
    config({ ...moniqueAnywhere, allowMessages: ["example_clock"], specs, controllers });
    run.child.kill("SIGHUP");
    let reloaded: Record<string, string> = {};
    while (reloaded["controllers.example_radio"] === undefined) {
      reloaded = ((await ask("/v1/doors")) as { monique: Record<string, string> }).monique;
    }
    assert.equal(reloaded["controllers.example_clock"], doors.monique["controllers.example_clock"]);
    const { items } = (await ask("/v1/specs")) as { items: Record<string, unknown>[] };
    assert.deepEqual(
      items.map(({ name, title, registered, queue }) => [name, title, registered, queue]),
      [
        ["example_clock", null, true, true],
        ["example_radio", "Radio", true, true],
      ],
    );
    write("doors: { monique: { frob: 1 } }\n");
    run.child.kill("SIGHUP");
    run.child.kill("SIGHUP");
    assert.deepEqual(((await ask("/v1/doors")) as { monique: object }).monique, reloaded);
    run.child.kill("SIGTERM");
    const { code, stderr } = await run.ended;
    assert.equal(code, 0);
    assert.match(stderr, /"fault":"reloaded\.yaml:1: doors\.monique\.frob: unknown key/);
  });

  const mistakes: [args: string[], stderr: RegExp, env?: NodeJS.ProcessEnv][] = [
    [
      ["serve", "--frob"],
      /^yardmaster serve: Unknown option '--frob'\nyardmaster serve --help lists the options\.\n$/,
    ],
    [["serve", "now"], /^yardmaster serve: Unexpected argument 'now'/],
    [["serve", "--config"], /^yardmaster serve: Option '--config <value>' argument missing\n/],
    [["serve", "--config", "none.yaml"], /^none\.yaml: there is no such file\n$/],
    [
      ["serve", "--config", configFile("bad.yaml", "doors:\n  htp: {}\n")],
      /^bad\.yaml:2: doors\.htp: unknown key; did you mean http\?\n$/,
    ],
    [["serve"], /^YARD_LOG: found "loud", expected one of fatal, /, { YARD_LOG: "loud" }],
    [["frob"], /^yardmaster: there is no command "frob"\.\n\n.*\n {2}serve /s],
    [[], /^yardmaster \d.*\n {2}serve /s],
  ];
  for (const [args, expected, env] of mistakes) {
    test(`a mistake ends it with 2: yardmaster ${args.join(" ")}`, async () => {
      const { code, stdout, stderr } = await start(process.execPath, [bin, ...args], env).ended;
      assert.equal(code, 2);
      assert.equal(stdout, "");
      assert.match(stderr, expected);
      assert.doesNotMatch(stderr, /^ {4}at /m);
    });
  }

  test("--help and --version are answers", async () => {
    for (const args of [["--help"], ["help"], ["serve", "--help"], ["--version"]]) {
      const { code, stdout, stderr } = await yardmaster(...args).ended;
      assert.deepEqual([code, stderr], [0, ""], args.join(" "));
      assert.ok(stdout.length > 0);
      for (const line of stdout.split("\n")) assert.ok(line.length <= 80, line);
    }
  });
});
