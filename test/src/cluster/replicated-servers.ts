// Two Postgres servers: a primary, and a standby that has every commit before it is acknowledged.
// After a change of the primary the other one becomes the standby.

import { setTimeout as pause } from "node:timers/promises";
import { type Server, TestServer } from "./test-server.js";

const lookMs = 20;

export class ReplicatedServers {
  /** In a constant order. */
  readonly all: readonly [Server, Server];
  primary: Server;

  private constructor(primary: Server, standby: Server) {
    this.all = [primary, standby];
    this.primary = primary;
  }

  static async start(): Promise<ReplicatedServers> {
    const primary = await TestServer.start();
    // A standby that was away for a while must find the log it has missed.
    await primary.sql("alter system set wal_keep_size = '256MB'");
    await primary.sql("select pg_reload_conf()");
    const servers = new ReplicatedServers(primary, await primary.standby());
    await servers.#requireStandby();
    return servers;
  }

  get standby(): Server {
    const [one, other] = this.all;
    return this.primary === one ? other : one;
  }

  /**
   * Promotes the standby, whatever the primary does. The new primary waits for no standby until
   * there is one, as with Patroni's `synchronous_mode`.
   */
  async promote(): Promise<void> {
    await this.standby.promote();
    this.primary = this.standby;
    await this.#require("");
  }

  /** The server that is not the primary comes back, as the standby. It must have been stopped. */
  async rejoin(): Promise<void> {
    await this.standby.follow(this.primary);
    await this.#requireStandby();
  }

  /** Starts a standby that was stopped. */
  async startStandby(): Promise<void> {
    await this.standby.start();
    await this.#whenStandbyHasAll();
  }

  /** Changes a setting of the running primary. */
  async set(name: string, value: string): Promise<void> {
    await this.primary.sql(`alter system set ${name} = '${value}'`);
    await this.primary.sql("select pg_reload_conf()");
  }

  async destroy(): Promise<void> {
    for (const server of [this.standby, this.primary]) await server.destroy();
  }

  async #require(names: string): Promise<void> {
    await this.set("synchronous_standby_names", names);
  }

  async #requireStandby(): Promise<void> {
    await this.#require("*");
    await this.#whenStandbyHasAll();
  }

  /** From now on every commit waits, and the standby has those of the time before. */
  async #whenStandbyHasAll(): Promise<void> {
    const isTrue = async (condition: string) =>
      (await this.primary.sql(`select 1 from pg_stat_replication where ${condition}`)).length > 0;
    while (!(await isTrue("sync_state = 'sync'"))) await pause(lookMs);
    // The server's checkpointer decides whether commits wait, and reads the settings before it
    // makes a checkpoint.
    await this.primary.sql("checkpoint");
    const [row] = await this.primary.sql<{ end: string }>('select pg_current_wal_lsn()::text as "end"');
    while (!(await isTrue(`flush_lsn >= '${row?.end}'`))) await pause(lookMs);
  }
}
