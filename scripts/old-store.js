// Writes the store of an older release, for the test that this version opens it:
// `node scripts/old-store.js CLONE FOLDER`. CLONE is a built clone of that release. A dispatcher of
// it is given tasks in every state, by several doors, and is then killed. FOLDER gets its files,
// compressed, and what it said about its tasks before (`tasks.json`). The dispatcher is restarted
// in between, so that some tasks are in the store itself and others only in a journal.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";

const [clone, folder] = process.argv.slice(2).map((path) => resolve(path));
const bin = join(clone, "packages/cli/bin/yardmaster.js");
const work = mkdtempSync(join(tmpdir(), "yard-old-"));
// A body that is kept outside its record, and that compresses well.
const large = Buffer.from("0123456789abcdef".repeat(6_250));

writeFileSync(
  join(work, "yardmaster.json"),
  JSON.stringify({
    reserveBytes: 0,
    drainSeconds: 1,
    doors: {
      http: { listen: "127.0.0.1:0" },
      pingpong: { clients: "127.0.0.1:0", workers: "127.0.0.1:0" },
      pulse: false,
      udp: { client_address: { port: 0 } },
      monique: {
        in: "127.0.0.1:0",
        out: "127.0.0.1:0",
        techIn: "127.0.0.1:0",
        techOut: "127.0.0.1:0",
        controllers: { question: 10_000 },
      },
      scaler: { listen: "127.0.0.1:0" },
    },
  }),
);

let { dispatcher, doors } = await start();
const clients = [];
/** What workers hold when the dispatcher dies. */
const held = [];
try {
  await finishTasks();
  await stop("SIGTERM");
  ({ dispatcher, doors } = await start());
  await giveTasks();
  const expected = { held, ...(await said()) };
  await stop("SIGKILL");
  writeFiles(expected, join(work, "yard-data"));
} finally {
  for (const client of clients) client.kill("SIGKILL");
  if (dispatcher.exitCode === null) dispatcher.kill("SIGKILL");
  rmSync(work, { recursive: true });
}

async function start() {
  const child = spawn(process.execPath, [bin, "serve", "--json"], {
    cwd: work,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { dispatcher: child, doors: JSON.parse(line).doors };
}

async function finishTasks() {
  await submit("finished", "done task", "key=finished-done");
  await end(await claim("finished"), "done", "its result");
  await submit("finished", large);
  await end(await claim("finished"), "done", large);
  await submit("finished", "failed task");
  await end(await claim("finished"), "fail", JSON.stringify({ code: "broken", message: "It broke." }));
  const { id } = await submit("finished", "cancelled task");
  await post(`/v1/tasks/${id}:cancel`);
}

async function giveTasks() {
  await submit("running", "running task", "key=running-1");
  held.push(await claim("running"));
  await submit("running", large);
  held.push({ ...(await claim("running")), payload: "large" });

  await submit("waiting", "waiting task");
  await submit("waiting", "urgent task", "priority=9&attempts=5&failures=2");
  await submit("waiting", "keyed task", "key=waiting-1");
  await submit("later", "delayed task", "delay=1h");
  await submit("waiting", large);
  await submit("waiting", "");
  await submit("paused", "paused task");
  await post("/v1/queues/paused:pause");

  await submitThrough(`pingpong://${doors.pingpong.clients}`, "pingpong", "pingpong task");
  await submitThrough(`udp://${doors.udp.client_address}`, "udp", '{"params":{"frame":1}}');
  await submitThrough(
    `monique://${doors.monique.in}?out=${doors.monique.out.split(":")[1]}&worker=10000`,
    "question",
    '"monique task"',
  );
  await submitThrough(`scaler://${doors.scaler.listen}`, "scaler", "scaler task");
}

function url(path) {
  return `http://${doors.http.listen}${path}`;
}

async function post(path, body = "", headers = {}) {
  const answer = await fetch(url(path), {
    method: "POST",
    body,
    headers: { "Content-Type": "text/plain", ...headers },
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.status === 204 ? undefined : answer.json();
}

function submit(queue, payload, query = "") {
  return post(`/v1/queues/${queue}/tasks?${query}`, payload);
}

async function claim(queue) {
  const { attempts } = await post(`/v1/queues/${queue}:claim?worker=ann&lease=1h`);
  return attempts[0];
}

function end({ task, attempt, token }, how, body) {
  return post(`/v1/tasks/${task.id ?? task}/attempts/${attempt}:${how}`, body, { "Yard-Token": token });
}

/** The client stays until the dispatcher is dead: some doors cancel the tasks of a lost client. */
async function submitThrough(address, queue, payload) {
  // Only monique's messages name a queue (their spec).
  const flags = address.startsWith("monique:") ? ["--queue", queue] : [];
  const before = (await listed(`queue=${queue}`)).length;
  const client = spawn(process.execPath, [bin, "submit", address, ...flags, "--wait", payload], {
    cwd: work,
    stdio: ["ignore", "inherit", "inherit"],
  });
  clients.push(client);
  for (let tries = 0; tries < 150; tries++) {
    if ((await listed(`queue=${queue}`)).length > before) return;
    await new Promise((go) => setTimeout(go, 100));
  }
  throw new Error(`no task came through ${address}`);
}

async function listed(query = "") {
  return (await (await fetch(url(`/v1/tasks?limit=1000&${query}`))).json()).items;
}

/** Every task as the dispatcher showed it. Bodies are in base64, or "large". */
async function said() {
  const tasks = [];
  for (const { id } of (await listed()).toReversed()) {
    const task = await (await fetch(url(`/v1/tasks/${id}`))).json();
    tasks.push({ task, payload: await body(id, "payload"), result: await body(id, "result") });
  }
  const queues = (await (await fetch(url("/v1/queues"))).json()).items;
  return { queues, tasks };
}

async function body(id, which) {
  const answer = await fetch(url(`/v1/tasks/${id}/${which}`));
  if (answer.status !== 200) return null;
  const bytes = Buffer.from(await answer.arrayBuffer());
  return bytes.equals(large) ? "large" : bytes.toString("base64");
}

async function stop(signal) {
  const ended = once(dispatcher, "exit");
  dispatcher.kill(signal);
  await ended;
}

function writeFiles(expected, data) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "tasks.json"), `${JSON.stringify(expected, null, 2)}\n`);
  for (const entry of readdirSync(data, { withFileTypes: true })) {
    // LMDB makes its lock anew.
    if (!entry.isFile() || entry.name.endsWith("-lock")) continue;
    const bytes = gzipSync(readFileSync(join(data, entry.name)), { level: 9 });
    writeFileSync(join(folder, `${entry.name}.gz`), bytes);
    console.log(`${entry.name}: ${bytes.length} bytes compressed`);
  }
}
