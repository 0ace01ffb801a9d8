// What simulated http peers share: requests over connections that are kept or opened anew, answers
// that never come, and what is shown of both in the trace.

import { fail } from "./checker.js";
import { type Answer, HttpConnection, type Request } from "./http-connection.js";
import { StreamPeer } from "./stream-peer.js";

export interface HttpPeerPlan {
  readonly name: string;
  readonly queue: string;
}

/** Answers that say: try again later. */
const passing: ReadonlySet<number> = new Set([408, 429, 503]);
const patienceMs = 4_000;

export abstract class HttpPeer<Checker, Plan extends HttpPeerPlan> extends StreamPeer<Checker, Plan> {
  #idle: HttpConnection[] = [];

  override start(): void {
    this.#idle = [];
    super.start();
  }

  /**
   * Sends the request. `take` gets the answer, or undefined if none came: then the request was
   * carried out or not. An answer that says "later" counts as none.
   */
  protected ask(request: Request, take: (answer: Answer | undefined) => void, waitMs = 0): void {
    const connection = this.#connection();
    if (connection === undefined) {
      this.later(this.random.between(1, 100), () => take(undefined));
      return;
    }
    let isOpen = true;
    const end = (answer: Answer | undefined) => {
      if (!isOpen) return;
      isOpen = false;
      cancel();
      this.world.say(this.process.name, () => `< ${show(answer)}`);
      if (answer !== undefined && connection.isIdle) this.#idle.push(connection);
      if (answer?.status === 500) fail(`${this.plan.name} got ${answer.body} for ${request.path}`);
      take(answer !== undefined && passing.has(answer.status) ? undefined : answer);
    };
    const cancel = this.later(waitMs + patienceMs, () => {
      connection.close();
      end(undefined);
    });
    this.world.say(this.process.name, () => `> ${request.path} ${request.body ?? ""}`);
    connection.send(request, { answered: end, cut: () => end(undefined) });
  }

  /** Repeats the request until it is answered. */
  protected askUntilAnswered(request: Request, take: (answer: Answer) => void, waitMs = 0): void {
    this.ask(
      request,
      (answer) => {
        if (answer !== undefined) take(answer);
        else this.later(this.random.between(20, 400), () => this.askUntilAnswered(request, take, waitMs));
      },
      waitMs,
    );
  }

  /** In this peer's own time, unless it dies before. */
  protected later(ms: number, run: () => void): () => void {
    return this.world.plan(this.process, ms, run);
  }

  protected openConnection(): HttpConnection | undefined {
    return HttpConnection.open(this.streams, this.process);
  }

  #connection(): HttpConnection | undefined {
    const kept = this.random.chance(0.8) ? this.#idle.pop() : undefined;
    return kept?.isIdle === true ? kept : this.openConnection();
  }
}

export function show(answer: Answer | undefined): string {
  return answer === undefined ? "no answer" : `${answer.status} ${answer.body}`;
}
