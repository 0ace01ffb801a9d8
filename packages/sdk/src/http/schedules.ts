// Schedules over http.

import { bodyOf } from "../body.js";
import type { Schedule, ScheduleOptions, Schedules } from "../schedules.js";
import { duration, type HttpConnection } from "./connection.js";

export class HttpSchedules implements Schedules {
  readonly #connection: HttpConnection;

  constructor(connection: HttpConnection) {
    this.#connection = connection;
  }

  async list(): Promise<readonly Schedule[]> {
    return (await this.#connection.json<{ items: Schedule[] }>("/v1/schedules")).items;
  }

  get(name: string): Promise<Schedule> {
    return this.#connection.json(pathOf(name));
  }

  put(name: string, options: ScheduleOptions): Promise<Schedule> {
    return this.#connection.json(pathOf(name), {
      method: "PUT",
      body: Buffer.from(JSON.stringify(formOf(options))),
      headers: { "Content-Type": "application/json" },
      isRepeatable: true,
    });
  }

  async delete(name: string): Promise<void> {
    await this.#connection.ask(pathOf(name), { method: "DELETE" });
  }

  pause(name: string): Promise<Schedule> {
    return this.#order(name, "pause");
  }

  resume(name: string): Promise<Schedule> {
    return this.#order(name, "resume");
  }

  /** Not repeated after a lost connection, because each call creates a task. */
  async runNow(name: string): Promise<string> {
    const path = `${pathOf(name)}:run-now`;
    return (await this.#connection.json<{ task: string }>(path, { method: "POST" })).task;
  }

  #order(name: string, order: string): Promise<Schedule> {
    return this.#connection.json(`${pathOf(name)}:${order}`, { method: "POST", isRepeatable: true });
  }
}

function pathOf(name: string): string {
  return `/v1/schedules/${encodeURIComponent(name)}`;
}

/** The body for the http API. JSON omits undefined properties. */
function formOf(options: ScheduleOptions): Record<string, unknown> {
  const { payload, contentType, everyMs, start, end, jitterMs, timeoutMs, expiresMs, ...rest } = options;
  const body = bodyOf(payload);
  return {
    ...rest,
    payloadBase64: Buffer.from(body.bytes).toString("base64"),
    contentType: contentType ?? body.contentType,
    every: written(everyMs),
    start: start?.toISOString(),
    end: end?.toISOString(),
    jitter: written(jitterMs),
    timeout: written(timeoutMs),
    expires: written(expiresMs),
  };
}

function written(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : duration(ms);
}
