// A real Postgres server for tests: in a folder of its own, on a Unix socket, with little memory.
// These tests take minutes, so they are skipped unless `npm run postgres` asks for them, which sets
// YARD_POSTGRES=1. If Postgres is not installed then, they are skipped with that reason. With
// YARD_REQUIRE_INTEROP=1 as well, that is a failure.

import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { PostgresEngine, type PostgresEngineOptions } from "../postgres-engine.js";
import { Session } from "../session.js";

const debianFolder = "/usr/lib/postgresql";
const startMsMax = 60_000;

/** The folder of `initdb` and its like; undefined if they are not installed. */
const found = [
  ...(process.env.PATH ?? "").split(":"),
  ...(existsSync(debianFolder) ? readdirSync(debianFolder).sort().reverse() : []).map((version) =>
    join(debianFolder, version, "bin"),
  ),
].find((folder) => existsSync(join(folder, "initdb")));
export const programs = found && dirname(realpathSync(join(found, "initdb")));

/** For the `skip` option of tests. */
export const withoutPostgres: string | false = reasonToSkip();

function reasonToSkip(): string | false {
  if (process.env.YARD_POSTGRES !== "1") return "tests of the Postgres engine: npm run postgres";
  if (programs !== undefined) return false;
  const reason = "Postgres is not installed here";
  if (process.env.YARD_REQUIRE_INTEROP === "1") throw new Error(`YARD_REQUIRE_INTEROP is set, but ${reason}`);
  return reason;
}

/** Postgres does not run as root. */
export const account = process.getuid?.() === 0 && programs !== undefined ? accountOf("postgres") : undefined;

function accountOf(user: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

/** Faster than to make a schema anew. */
function emptied(schema: string): string {
  const tables = ["log", "tasks", "bundles", "items", "bodies"].map(
    (table) => `delete from ${schema}.${table}`,
  );
  const rows = [
    `update ${schema}.owner set epoch = 0, start = 0, position = 0, safe = 0, instance = ''`,
    `update ${schema}.fold set position = 0, last_task = 0, lanes = '[0]', trimmed = '[0]'`,
  ];
  return [...tables, ...rows].join("; ");
}

/** If a test is interrupted, no server is left behind. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export class TestServer {
  readonly folder: string = mkdtempSync(join(tmpdir(), "yard-pg-"));
  readonly #free: string[] = [];
  #schemas = 0;
  #process: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor() {
    if (account !== undefined) chownSync(this.folder, account.uid, account.gid);
  }

  /** `settings`: as in postgresql.conf. */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<TestServer> {
    const server = new TestServer();
    await server.#run("initdb", "-D", server.data, "-U", "yard", "-A", "trust", "--no-sync", "-E", "UTF8");
    await server.start(settings);
    return server;
  }

  /** A standby that streams from this server. It accepts no writes until it is promoted. */
  async standby(): Promise<TestServer> {
    const server = new TestServer();
    await server.follow(this);
    return server;
  }

  /** Drops its own data, and becomes a standby of this primary. It must be stopped. */
  async follow(primary: TestServer): Promise<void> {
    rmSync(this.data, { recursive: true, force: true });
    const source = `host=${primary.folder} user=yard application_name=standby`;
    await this.#run("pg_basebackup", "-D", this.data, "-d", source, "-R", "-c", "fast", "--no-sync");
    await this.start({ hot_standby: "on" });
  }

  async promote(): Promise<void> {
    await this.#run("pg_ctl", "promote", "-D", this.data);
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get data(): string {
    return join(this.folder, "data");
  }

  get url(): string {
    return `postgres://yard@/postgres?host=${this.folder}`;
  }

  async start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const all = {
      listen_addresses: "",
      unix_socket_directories: this.folder,
      shared_buffers: "16MB",
      max_connections: "60",
      ...settings,
    };
    const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(programs as string, "postgres"), ["-D", this.data, ...flags], {
      ...account,
      cwd: this.folder,
      stdio: process.env.YARD_POSTGRES_LOG === "1" ? "inherit" : "ignore",
    });
    this.#process = child;
    running.add(child);
    this.#ended = new Promise((resolve) => child.once("exit", resolve)).then(() => running.delete(child));
    for (const end = performance.now() + startMsMax; performance.now() < end; ) {
      const refused = await this.sql("select 1").then(
        () => undefined,
        ({ message }: Error) => message,
      );
      // A standby that refuses because it is one is up.
      if (refused === undefined || refused.includes("is a standby")) return;
      if (child.exitCode !== null) break;
      await pause(50);
    }
    await this.destroy();
    throw new Error("the Postgres server of the test does not start");
  }

  /** Runs one statement as the superuser. */
  async sql<Row>(text: string): Promise<readonly Row[]> {
    const settings = "set synchronous_commit = off";
    const session = new Session({ url: this.url, schema: "public", instance: "test", settings }, 30_000);
    try {
      return (await session.query<Row>(text)).rows;
    } finally {
      await session.close();
    }
  }

  /** A place for engines, in a schema that no other uses at the same time. */
  async site(options: Partial<PostgresEngineOptions> = {}) {
    const { url } = this;
    const used = this.#free.pop();
    if (used !== undefined) await this.sql(emptied(used));
    const schema = used ?? `yard_${++this.#schemas}`;
    return {
      schema,
      open: async () => new PostgresEngine({ url, schema, requireSync: false, commitMs: 10_000, ...options }),
      destroy: async () => void this.#free.push(schema),
    };
  }

  async stop(signal: NodeJS.Signals = "SIGQUIT"): Promise<void> {
    this.#process?.kill(signal);
    await this.#ended;
  }

  /** The whole server stops or goes on, or ends as with its machine. Only on Linux. */
  async signalAll(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): Promise<void> {
    const pid = this.#process?.pid;
    if (pid === undefined) return;
    const children = () => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    // Stopped first, it starts no further ones. One that has ended is not there any more.
    if (signal !== "SIGCONT") process.kill(pid, "SIGSTOP");
    for (const child of children()) {
      try {
        if (child !== "") process.kill(Number(child), signal);
      } catch {}
    }
    process.kill(pid, signal);
    if (signal === "SIGKILL") await this.#ended;
  }

  async destroy(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #run(program: string, ...args: string[]): Promise<void> {
    await promisify(execFile)(join(programs as string, program), args, { ...account, cwd: this.folder });
  }
}
