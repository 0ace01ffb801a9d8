// What passed between a task's peers, read from its story: a lifeline each, a message or an event a
// step.

import type { Task } from "../live/api-shapes.js";
import { bytes } from "./numbers.js";
import { reasonClause } from "./reasons.js";
import { causeOf } from "./story.js";

export interface Rung {
  readonly at: number;
  /** Lifelines by their place; 0 is the client, 1 the dispatcher. */
  readonly from: number;
  readonly to: number;
  readonly words: string;
  readonly aside: string;
  readonly kind: "message" | "refused" | "committed" | "cut";
}

export interface LadderDrawing {
  readonly peers: readonly { readonly name: string; readonly aside: string }[];
  readonly rungs: readonly Rung[];
}

export function ladderOf(task: Task): LadderDrawing {
  const workers = [
    ...new Set(task.story.map(({ worker }) => worker).filter((one) => one !== undefined)),
  ].slice(0, 5);
  const peers = [
    { name: "client", aside: task.door },
    { name: "Yardmaster", aside: "" },
    ...workers.map((id) => ({ name: id.slice(id.indexOf("/") + 1), aside: id.split("/")[0] ?? "" })),
  ];
  const rungs: Rung[] = [];
  const submitted = Date.parse(task.submittedAt);
  const step = (rung: Rung) => rungs.push(rung);
  step({ at: 0, from: 0, to: 1, words: "submit", aside: bytes(task.payloadBytes), kind: "message" });
  step({ at: 0, from: 1, to: 1, words: "committed", aside: "", kind: "committed" });
  for (const entry of task.story) {
    const at = Date.parse(entry.at) - submitted;
    const worker = workers.indexOf(entry.worker ?? "") + 2;
    const cause = causeOf(entry.cause);
    if (worker < 2) continue;
    if (entry.cause === "assigned") {
      step({ at, from: 1, to: worker, words: "task", aside: bytes(task.payloadBytes), kind: "message" });
    } else if (cause.kind === "late")
      step({ at, from: worker, to: 1, words: cause.detail, aside: "", kind: "refused" });
    else if (cause.kind === "lost") {
      step({
        at,
        from: worker,
        to: worker,
        words: reasonClause(cause.detail.split(":")[0] ?? ""),
        aside: "",
        kind: "cut",
      });
    } else if (cause.kind === "returned")
      step({ at, from: worker, to: 1, words: "given back", aside: "", kind: "message" });
    else if (entry.to === "done" || entry.to === "failed" || cause.kind === "failed") {
      const size = task.resultBytes === null || entry.to !== "done" ? "" : bytes(task.resultBytes);
      step({
        at,
        from: worker,
        to: 1,
        words: entry.to === "done" ? "done" : "failed",
        aside: size,
        kind: "message",
      });
    }
  }
  if (task.finishedAt !== null) {
    const at = Date.parse(task.finishedAt) - submitted;
    step({ at, from: 1, to: 1, words: "committed", aside: "", kind: "committed" });
    if (task.told) step({ at, from: 1, to: 0, words: `outcome: ${task.state}`, aside: "", kind: "message" });
  }
  return { peers, rungs };
}
