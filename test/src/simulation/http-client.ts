// A simulated http client. It submits tasks one by one, in batches, with and without keys, and with
// `wait`; it repeats what was not answered if a key makes that safe. It cancels some tasks, reads
// the outcome of each, retries some that ended badly, and may die.

import type { TaskId } from "@yardmaster/core";
import { type Checker, fail } from "./checker.js";
import type { Answer } from "./http-connection.js";
import { HttpPeer, type HttpPeerPlan, show } from "./http-peer.js";

export interface ClientPlan extends HttpPeerPlan {
  readonly tasks: number;
  readonly overMs: number;
  readonly cancelShare: number;
  /** Share of the tasks that depend on earlier ones. */
  readonly dependentShare?: number;
  /** The groups of its tasks; none if absent. */
  readonly groups?: readonly string[];
}

interface TaskJson {
  readonly id: string;
  readonly state: string;
  readonly result?: string;
  readonly status?: number;
}

/** A task as the client submits it: the payload, and the names of the API for the rest. */
interface Order {
  readonly number: number;
  readonly payload: string;
  /** Undefined if the client cannot repeat the request. */
  readonly key: string | undefined;
  readonly options: Readonly<Record<string, string | number>>;
  readonly after: readonly TaskId[];
}

const waitMs = 3_000;
/** The numbers of retried tasks begin after this one. */
const retriedFrom = 1_000;

export class SimulatedClient extends HttpPeer<Checker, ClientPlan> {
  /** Its accepted tasks, in the order in which it heard of them. */
  readonly #tasks: TaskId[] = [];
  readonly #followed = new Set<number>();

  protected begin(): void {
    const { tasks, overMs } = this.plan;
    for (let number = 1; number <= tasks; ) {
      const count = this.random.chance(0.2) ? Math.min(this.random.integer(2, 4), tasks - number + 1) : 1;
      const first = number;
      this.later(this.random.between(0, overMs), () => this.#submit(first, count));
      number += count;
    }
  }

  #submit(first: number, count: number): void {
    const orders = Array.from({ length: count }, (_, index) => this.#order(first + index, count > 1));
    for (const { number, payload, options, after } of orders)
      this.checker.submitted(this.plan.name, number, payload, { after, ifFailed: options.ifFailed });
    if (count > 1) return this.#submitBatch(orders);
    for (const order of orders) this.#submitOne(order);
  }

  #order(number: number, isBatch: boolean): Order {
    const { random } = this;
    const { name, groups } = this.plan;
    const after = this.#dependencies();
    const ms = (low: number, high: number) => `${random.integer(low, high)}ms`;
    const options = {
      priority: random.integer(-1, 1),
      failures: random.integer(1, 3),
      ...(random.chance(0.1) && { delay: ms(1, 3_000) }),
      ...(random.chance(0.1) && { expires: ms(500, 5_000) }),
      ...(random.chance(0.2) && { timeout: ms(200, 3_000) }),
      ...(after.length > 0 && { ifFailed: random.chance(0.3) ? "run" : "cancel" }),
      ...(groups !== undefined && random.chance(0.8) && { group: random.pick(groups) }),
    };
    const payload = `${name}/${number}/${"x".repeat(random.integer(0, 12))}`;
    return {
      number,
      payload,
      key: isBatch || random.chance(0.8) ? `${name} ${number}` : undefined,
      options,
      after,
    };
  }

  /** One to three of its last tasks, which may wait, run, or have ended. */
  #dependencies(): readonly TaskId[] {
    const { dependentShare = 0 } = this.plan;
    if (dependentShare === 0 || this.#tasks.length === 0 || !this.random.chance(dependentShare)) return [];
    const latest = this.#tasks.slice(-6);
    const after = new Set<TaskId>();
    for (let count = this.random.integer(1, 3); count > 0; count -= 1) after.add(this.random.pick(latest));
    return [...after];
  }

  #submitOne(order: Order): void {
    const { number, payload, key, options, after } = order;
    const waits = this.random.chance(0.3);
    const query = {
      ...options,
      ...(key !== undefined && { key }),
      ...(after.length > 0 && { after: after.join(",") }),
      ...(waits && { wait: `${this.random.integer(1, waitMs)}ms` }),
      ...(this.random.chance(0.3) && { view: "minimal" }),
    };
    const request = {
      path: `/v1/queues/${this.plan.queue}/tasks?${queryOf(query)}`,
      body: payload,
      headers: { "Content-Type": "text/plain" },
    };
    const take = (answer: Answer | undefined) => {
      if (answer !== undefined) this.#submitted(number, answer);
    };
    if (key === undefined) return this.ask(request, take, waitMs);
    this.askUntilAnswered(request, take, waitMs);
    // A client that lost its memory submits again what was already accepted.
    if (this.random.chance(0.2))
      this.later(this.random.between(0, 15_000), () => this.ask(request, take, waitMs));
  }

  #submitBatch(orders: readonly Order[]): void {
    const lines = orders.map(({ payload, key, options, after }) =>
      JSON.stringify({
        payload,
        contentType: "text/plain",
        key,
        ...options,
        ...(after.length > 0 && { after: after.map(String) }),
      }),
    );
    const request = { path: `/v1/queues/${this.plan.queue}/tasks:batch`, body: `${lines.join("\n")}\n` };
    this.askUntilAnswered(request, (answer) => {
      if (answer.status !== 200) fail(`${this.plan.name}'s batch was answered with ${show(answer)}`);
      const { items } = JSON.parse(answer.body) as { items: TaskJson[] };
      const refused = orders.filter((order, index) => !this.#acceptedItem(order.number, items[index]));
      if (refused.length > 0) this.later(this.random.between(50, 500), () => this.#submitBatch(refused));
    });
  }

  /** Returns false if the item was refused for now: it is submitted again, without the others. */
  #acceptedItem(number: number, item: TaskJson | undefined): boolean {
    if (item?.id !== undefined) this.#accepted(number, Number(item.id) as TaskId);
    else if (item?.status !== 429) fail(`${this.plan.name} ${number} was refused: ${JSON.stringify(item)}`);
    return item.id !== undefined;
  }

  #submitted(number: number, answer: Answer): void {
    if (![200, 201, 202].includes(answer.status))
      fail(`${this.plan.name} ${number} was answered with ${show(answer)}`);
    this.#accepted(number, Number((JSON.parse(answer.body) as TaskJson).id) as TaskId);
  }

  #accepted(number: number, task: TaskId): void {
    this.checker.accepted(this.plan.name, number, task);
    if (this.#followed.has(number)) return;
    this.#followed.add(number);
    this.#tasks.push(task);
    this.#follow(number, task);
    if (this.random.chance(this.plan.cancelShare))
      this.later(this.random.between(0, 4_000), () => this.#cancel(number, task));
  }

  /** Asks until the task has ended. */
  #follow(number: number, task: TaskId): void {
    const view = this.random.chance(0.5) ? "&view=minimal" : "";
    const path = `/v1/tasks/${task}?wait=${this.random.integer(1, waitMs)}ms${view}`;
    this.ask(
      { method: "GET", path },
      (answer) => {
        if (answer !== undefined && answer.status !== 200)
          fail(`${this.plan.name} ${number}: task ${task} cannot be read: ${show(answer)}`);
        const shown = answer && (JSON.parse(answer.body) as TaskJson);
        if (shown === undefined || ["waiting", "running"].includes(shown.state))
          this.later(this.random.between(10, 600), () => this.#follow(number, task));
        else this.#ended(number, task, shown);
      },
      waitMs,
    );
  }

  #ended(number: number, task: TaskId, { state, result }: TaskJson): void {
    if (state !== "done") this.#told(number, task, state);
    else if (result !== undefined) this.#told(number, task, `done ${result}`);
    else
      this.askUntilAnswered({ method: "GET", path: `/v1/tasks/${task}/result` }, (answer) => {
        if (answer.status !== 200) fail(`task ${task} is done and has no result: ${show(answer)}`);
        this.#told(number, task, `done ${answer.body}`);
      });
  }

  #told(number: number, task: TaskId, outcome: string): void {
    this.checker.told(this.plan.name, number, task, outcome);
    const mayRetry = number < retriedFrom && this.plan.dependentShare === undefined;
    if (mayRetry && !outcome.startsWith("done") && this.random.chance(0.3)) this.#retry(number, task);
  }

  /** A copy of the task: the same payload, and a number of its own. */
  #retry(number: number, task: TaskId): void {
    const { name } = this.plan;
    const again = number + retriedFrom;
    this.checker.retried(name, number, again);
    const path = `/v1/tasks/${task}:retry?${queryOf({ key: `${name} ${again}` })}`;
    this.askUntilAnswered({ path }, (answer) => this.#submitted(again, answer));
  }

  #cancel(number: number, task: TaskId): void {
    this.ask({ path: `/v1/tasks/${task}:cancel` }, (answer) => {
      if (answer === undefined) return;
      if (answer.status === 200) this.checker.cancelled(this.plan.name, number, task);
      else if (answer.status !== 409) fail(`the cancel of task ${task} was answered with ${show(answer)}`);
    });
  }
}

export function queryOf(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}
