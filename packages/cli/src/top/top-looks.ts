// What views of `top` look up beside the stream of events: tasks, one task, failures, messages,
// history and lost workers. Each view's part is asked for while it is shown.

import type { Failures, History, HttpClient, LostWorker, Task } from "@yardmaster/sdk";
import { isMessage, type Message } from "../commands/tap.js";
import type { TopYard } from "./top-yard.js";

const messagesMax = 200;
/** Messages a second that the dispatcher sends; the rest is counted. */
const messagesPerSecond = 20;

export class TopLooks {
  readonly #client: HttpClient;
  readonly #yard: TopYard;
  tasks: readonly Task[] = [];
  task: Task | undefined;
  failures: Failures | undefined;
  readonly messages: Message[] = [];
  /** Messages that were left out since the view was opened. */
  skipped = 0;
  #wire: AbortController | undefined;

  constructor(client: HttpClient, yard: TopYard) {
    this.#client = client;
    this.#yard = yard;
  }

  async begin(): Promise<void> {
    this.#yard.doors = Object.keys(await this.#client.doors()).length;
    await this.refresh("overview", {}, 1);
  }

  /** Asks again for what a view shows. A fault leaves what was there: the head says who is away. */
  async refresh(view: string, filter: TaskFilter, rows: number): Promise<void> {
    try {
      if (view === "tasks") this.tasks = await this.#tasks(filter, rows);
      else if (view === "task" && filter.id !== undefined) this.task = await this.#client.task(filter.id);
      else if (view === "failures") this.failures = await this.#client.get("/v1/failures", { span: "1h" });
      else if (view === "overview" || view === "stream" || view === "workers") await this.#figures();
    } catch {
      // An answer that did not come is asked for again with the next refresh.
    }
  }

  /** Messages are decoded only while they are looked at. */
  watchWire(isShown: boolean): void {
    if (!isShown) {
      this.#wire?.abort();
      this.#wire = undefined;
    } else if (!this.#wire) {
      this.#wire = new AbortController();
      this.messages.length = 0;
      this.skipped = 0;
      void this.#listen(this.#wire.signal).catch(() => {});
    }
  }

  async #tasks({ text, queue, worker }: TaskFilter, rows: number): Promise<readonly Task[]> {
    const query = { limit: String(Math.max(1, rows)), q: text, queue, worker };
    return (await this.#client.get<{ items: Task[] }>("/v1/tasks", query)).items;
  }

  async #figures(): Promise<void> {
    const [history, lost] = await Promise.all([
      this.#client.get<History>("/v1/history", { span: "5m" }),
      this.#client.get<{ items: LostWorker[] }>("/v1/workers:lost"),
    ]);
    this.#yard.history = history.series[0];
    this.#yard.lost = lost.items;
  }

  async #listen(signal: AbortSignal): Promise<void> {
    for await (const { type, data } of this.#client.wire({ signal, max: messagesPerSecond })) {
      if (isMessage(data)) this.messages.push(data);
      else if (type === "skipped") this.skipped += (data as { messages?: number }).messages ?? 0;
      if (this.messages.length > messagesMax) this.messages.shift();
    }
  }
}

export interface TaskFilter {
  readonly id?: string | undefined;
  readonly text?: string | undefined;
  readonly queue?: string | undefined;
  readonly worker?: string | undefined;
}
