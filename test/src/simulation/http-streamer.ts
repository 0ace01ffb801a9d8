// A simulated worker with a stream: it gets a line for each task, reports ends and beats in
// batches, and opens a cut stream again with a list of what it holds. At times it does not read.

import type { AttemptNumber, TaskId } from "@yardmaster/core";
import { fail, type HeldAttempt } from "./checker.js";
import { queryOf } from "./http-client.js";
import type { Answer, HttpConnection } from "./http-connection.js";
import { show } from "./http-peer.js";
import { HttpWorker, type Job } from "./http-worker.js";

type WorkLine =
  | { readonly type: "open"; readonly token: string }
  | ({ readonly type: "attempt"; readonly task: string; readonly attempt: AttemptNumber } & PayloadFields)
  | { readonly type: "cancel"; readonly attempt: AttemptNumber }
  | { readonly type: "beat" }
  | { readonly type: "end"; readonly reason: string };

interface PayloadFields {
  readonly payload?: string;
  readonly payloadBase64?: string;
}

interface EndedItem {
  readonly id?: string;
  readonly cancel?: boolean;
  readonly status?: number;
}

/** The dispatcher sends a beat every 5 s; after three missed ones the stream is dead. */
const silenceMsMax = 15_000;

export class StreamingWorker extends HttpWorker {
  #connection: HttpConnection | undefined;
  #token = "";
  #isPosting = false;
  #text = "";

  protected join(): void {
    this.#connection = undefined;
    this.#isPosting = false;
    this.#open();
    this.#beatLater();
  }

  /** Reads nothing for a while. */
  dawdle(ms: number): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.world.say(this.process.name, () => `READS NOTHING for ${ms.toFixed(0)} ms`);
    connection.hold();
    this.later(ms, () => connection.release());
  }

  /** Besides made-up tokens, its own one, which is valid for its own attempts only. */
  override forge(held: HeldAttempt, holder: string, payload: string): void {
    if (this.#token === "" || this.random.chance(0.5)) return super.forge(held, holder, payload);
    const { task, attempt } = held;
    const line = { task: String(task), attempt, result: `${attempt} ${payload} ${this.plan.name}` };
    const request = {
      path: "/v1/attempts:batch",
      body: JSON.stringify(line),
      headers: { "Yard-Token": this.#token },
    };
    this.ask(request, (answer) => {
      const item = answer && (JSON.parse(answer.body) as { items: EndedItem[] }).items[0];
      if (item?.id !== undefined) fail(`${this.plan.name} ended attempt ${attempt}, which ${holder} holds`);
    });
  }

  #open(): void {
    const { name, queue, slots, leaseMs } = this.plan;
    const connection = this.openConnection();
    this.#connection = connection;
    if (connection === undefined) return this.#openLater();
    this.#text = "";
    const held = [...this.jobs.values()].map(({ task, attempt }) =>
      JSON.stringify({ task: String(task), attempt }),
    );
    const path = `/v1/queues/${queue}:work?${queryOf({ worker: name, slots, lease: `${leaseMs}ms` })}`;
    this.world.say(this.process.name, () => `> ${path} ${held.join(" ")}`);
    const cut = () => {
      this.world.say(this.process.name, () => "the stream is cut");
      if (this.#connection === connection) this.#openLater();
    };
    let watch = this.#watch(connection, cut);
    connection.send(
      { path, body: held.join("\n") },
      {
        part: (bytes) => {
          watch();
          watch = this.#watch(connection, cut);
          this.#read(connection, bytes);
        },
        cut: () => {
          watch();
          cut();
        },
        answered: (answer) => {
          watch();
          this.#refused(answer);
        },
      },
    );
  }

  #watch(connection: HttpConnection, cut: () => void): () => void {
    return this.later(silenceMsMax, () => {
      connection.close();
      cut();
    });
  }

  #openLater(): void {
    this.#connection = undefined;
    this.later(this.random.chance(0.7) ? this.random.between(0, 100) : this.random.between(0, 3_000), () => {
      if (this.#connection === undefined) this.#open();
    });
  }

  #refused(answer: Answer): void {
    if (answer.status !== 503 && answer.status !== 429)
      fail(`${this.plan.name}'s stream was answered with ${show(answer)}`);
    this.#openLater();
  }

  #read(connection: HttpConnection, bytes: string): void {
    if (connection !== this.#connection) return;
    const lines = (this.#text + bytes).split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) this.#hear(JSON.parse(Buffer.from(line, "latin1").toString()) as WorkLine);
  }

  #hear(line: WorkLine): void {
    this.world.say(this.process.name, () => `< ${JSON.stringify(line)}`);
    if (line.type === "open") this.#token = line.token;
    else if (line.type === "attempt") this.#start(line);
    else if (line.type === "cancel") {
      const job = this.jobs.get(line.attempt);
      if (job !== undefined) this.giveUp(job);
    }
    // After `end` the connection closes, and the stream is opened again like a cut one. An earlier
    // request of this worker that arrives late may have replaced it.
  }

  #start({ task, attempt, payload, payloadBase64 }: Extract<WorkLine, { type: "attempt" }>): void {
    const { name, slots } = this.plan;
    if (this.jobs.has(attempt)) fail(`attempt ${attempt} was sent to ${name} twice`);
    // An attempt that was lost counts no more, although its cancellation may come later.
    const running = [...this.jobs.values()].filter(
      (job) => job.end === undefined && this.checker.isRunning(job),
    ).length;
    if (running >= slots) fail(`${name} has ${slots} slots and was sent ${running + 1} attempts`);
    const text = payload ?? Buffer.from(payloadBase64 ?? "", "base64").toString();
    this.take({ task: Number(task) as TaskId, attempt, token: this.#token, payload: text }, false);
  }

  #beatLater(): void {
    this.later(Math.min(this.plan.leaseMs / 3, 5_000), () => {
      this.#beatLater();
      if (this.plan.beats) this.#post();
    });
  }

  /** The job goes into the next batch. */
  protected report(): void {
    this.#post();
  }

  /** Posts what has ended since the last answer, and a beat for everything else. */
  #post(): void {
    if (this.#isPosting || this.jobs.size === 0 || this.#token === "") return;
    this.#isPosting = true;
    const jobs = [...this.jobs.values()];
    const ends = jobs.map(({ end }) => end);
    const lines = jobs.map((job) =>
      JSON.stringify({ task: String(job.task), attempt: job.attempt, ...wordOf(job) }),
    );
    const request = {
      path: `/v1/attempts:batch${this.random.chance(0.5) ? "?view=minimal" : ""}`,
      body: `${lines.join("\n")}\n`,
      headers: { "Yard-Token": this.#token, "Content-Type": "application/x-ndjson" },
    };
    this.ask(request, (answer) => {
      this.#isPosting = false;
      if (answer !== undefined && answer.status !== 200)
        fail(`${this.plan.name}'s batch was answered with ${show(answer)}`);
      const items = answer && (JSON.parse(answer.body) as { items: EndedItem[] }).items;
      for (const [index, job] of jobs.entries())
        this.#answered(job, ends[index] !== undefined, items?.[index]);
      if ([...this.jobs.values()].some(({ end }) => end !== undefined))
        this.later(answer === undefined ? this.random.between(20, 400) : 1, () => this.#post());
    });
  }

  #answered(job: Job, isEnd: boolean, item: EndedItem | undefined): void {
    if (item === undefined || this.jobs.get(job.attempt) !== job) return;
    const status = item.status ?? 200;
    if (status === 503 || status === 429) return;
    if (isEnd) this.reported(job, status, JSON.stringify(item));
    else if (status !== 200 || item.cancel === true) this.giveUp(job);
  }
}

function wordOf({ end }: Job): object {
  if (end === undefined) return { beat: true };
  if (end.type === "done") return { result: end.result, contentType: "text/plain" };
  return end.type === "failed" ? { error: { message: "drawn" } } : { return: true };
}
