// A connection made by `pg`. Only the first connection loads `pg`, so a dispatcher with another
// engine never does.

import type { Client } from "pg";

/** One connection, as a session uses it. */
export interface Link {
  query(statement: unknown): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
  /** Ends it in good order. */
  end(): Promise<void>;
  /** Ends it at once, whatever is under way. */
  destroy(): void;
}

export interface LinkOptions {
  /** Names one server. */
  readonly url: string;
  readonly instance: string;
  readonly limitMs: number;
  /** The server warned: what was committed may not be on its standby. */
  readonly onWarning: () => void;
  /** It ended while it was idle. */
  readonly onEnd: () => void;
}

export type Connect = (options: LinkOptions) => Promise<Link>;

/** Numbers of the database are below 2^53, and `pg` would give them as text. */
const bigintType = 20;

export async function connectByPg({ url, instance, limitMs, onWarning, onEnd }: LinkOptions): Promise<Link> {
  const { Client, types } = (await import("pg")).default;
  const client = new Client({
    connectionString: url,
    application_name: instance,
    connectionTimeoutMillis: limitMs,
    keepAlive: true,
    types: {
      getTypeParser: (type: number, format?: string) =>
        type === bigintType ? Number : types.getTypeParser(type, format as never),
    } as never,
  });
  client.on("notice", ({ severity }) => {
    if (severity === "WARNING") onWarning();
  });
  client.on("error", onEnd);
  // With TLS, connecting replaces the stream.
  const { connection } = client as Client & { connection: { stream: { destroy(): void } } };
  try {
    await client.connect();
  } catch (error) {
    void client.end().catch(() => {});
    throw error;
  }
  return {
    query: (statement) => client.query(statement as never) as never,
    end: () => client.end(),
    destroy: () => connection.stream.destroy(),
  };
}
