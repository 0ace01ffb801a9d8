// The engine's own test server, a real Postgres. It is no part of what the package exports.

type Settings = Readonly<Record<string, string>>;

/** The part of it that is needed here. */
export interface Server {
  readonly url: string;
  readonly folder: string;
  start(settings?: Settings): Promise<void>;
  standby(): Promise<Server>;
  follow(primary: Server): Promise<void>;
  promote(): Promise<void>;
  signalAll(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): Promise<void>;
  sql<Row>(text: string): Promise<readonly Row[]>;
  stop(): Promise<void>;
  destroy(): Promise<void>;
}

const place = new URL("../../../packages/engines/dist/postgres/testing/server.js", import.meta.url);
const loaded = (await import(place.href)) as {
  TestServer: { start(settings?: Settings): Promise<Server> };
  withoutPostgres: string | false;
  programs: string | undefined;
};

export const TestServer: { start(settings?: Settings): Promise<Server> } = loaded.TestServer;
export const isInstalled: boolean = loaded.programs !== undefined;
/** For the `skip` option of tests. */
export const withoutPostgres: string | false = loaded.withoutPostgres;
