// Cancel or retry many tasks. Those that match a filter are the dispatcher's work (an action that
// can be stopped and survives this page); those that were chosen one by one are asked for one by
// one from here.

import { getJson, post, Refusal } from "./session.js";

export type Verb = "cancel" | "retry";

export interface Progress {
  readonly done: number;
  readonly failed: number;
  readonly total: number;
  readonly isOver: boolean;
  /** What went wrong, where something did. */
  readonly words: string;
}

interface ActionJson {
  readonly id: string;
  readonly state: string;
  readonly done?: number;
  readonly refused?: number;
  readonly matched?: number;
}

/** Requests at once: enough to be quick, too few to hold up other clients. */
const atOnce = 8;

export class BulkAction {
  progress: Progress;
  readonly #changed: () => void;
  #isStopped = false;
  #action: string | undefined;

  constructor(total: number, changed: () => void) {
    this.progress = { done: 0, failed: 0, total, isOver: false, words: "" };
    this.#changed = changed;
  }

  async runEach(verb: Verb, ids: readonly string[]): Promise<void> {
    const left = [...ids];
    const one = async () => {
      for (let id = left.shift(); id !== undefined && !this.#isStopped; id = left.shift()) {
        try {
          await post(`v1/tasks/${id}:${verb}`);
          this.#set({ done: this.progress.done + 1 });
        } catch (fault) {
          this.#set({ failed: this.progress.failed + 1, words: fault instanceof Error ? fault.message : "" });
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, left.length) }, one));
    this.#set({ isOver: true });
  }

  async runAll(verb: Verb, filter: Readonly<Record<string, string>>): Promise<void> {
    try {
      let action = await post<ActionJson>(`v1/tasks:${verb}?${new URLSearchParams(filter)}`);
      this.#action = action.id;
      // Stop may have been pressed before the action had an id.
      if (this.#isStopped) await this.stop();
      while (action.state === "running") {
        this.#note(action);
        await new Promise((resolve) => setTimeout(resolve, 300));
        action = await getJson<ActionJson>(`v1/actions/${action.id}`);
      }
      this.#note(action);
    } catch (fault) {
      const isMissing = fault instanceof Refusal && (fault.status === 404 || fault.status === 405);
      this.#set({
        words: isMissing
          ? "this dispatcher cannot act on a filter; choose the tasks on the page instead"
          : fault instanceof Error
            ? fault.message
            : "",
      });
    }
    this.#set({ isOver: true });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#action !== undefined) await post(`v1/actions/${this.#action}:stop`).catch(() => undefined);
  }

  #note({ state, done = 0, refused = 0, matched }: ActionJson): void {
    // Until it has found some, what was counted before says more.
    const isKnown = matched !== undefined && (matched > 0 || state !== "running");
    this.#set({ done, failed: refused, total: isKnown ? matched : this.progress.total });
  }

  #set(change: Partial<Progress>): void {
    this.progress = { ...this.progress, ...change };
    this.#changed();
  }
}
