// Effects and stories as short lines, so that tests can state exactly what they expect. Door `x` is
// left out.

import type { Effect, RequestAnswer } from "../effects.js";
import { type AttemptNumber, attemptOf, epochOf } from "../names.js";
import type { StoredTask } from "../records.js";
import { storyOf } from "../story.js";

export function brief(effect: Effect): string {
  const at = effect.door === "x" ? "" : `${effect.door}: `;
  return `${at}${what(effect)}`;
}

function what(effect: Effect): string {
  switch (effect.type) {
    case "assign": {
      const lease = effect.leaseMs === 0 ? "" : ` for ${effect.leaseMs}`;
      const request = effect.request === undefined ? "" : ` on ${effect.request}`;
      return `assign ${effect.task.id} to ${short(effect.worker)} as ${numbered(effect.attempt)}${lease}${request}`;
    }
    case "revoke":
      return `revoke ${effect.task} from ${short(effect.worker)} as ${numbered(effect.attempt)}: ${effect.reason}`;
    case "recall":
      return `recall ${effect.attempts.map(({ task, attempt }) => `${task} as ${numbered(attempt)}`).join(", ")} from ${short(effect.worker)}`;
    case "tell": {
      const { state, result, error } = effect.outcome;
      return `tell ${effect.task.id} ${state}${result === undefined ? "" : ` ${result.size} bytes`}${error === undefined ? "" : ` ${error.code}`}`;
    }
    case "reply":
      return `reply ${effect.request} ${answered(effect.answer)}`;
    case "refuse":
      return `refuse ${effect.submission.replyTo?.address} ${effect.code}`;
    case "dismiss":
      return `dismiss ${short(effect.worker)}`;
    case "drained":
      return `drained ${short(effect.worker)}`;
  }
}

function answered(answer: RequestAnswer): string {
  switch (answer.type) {
    case "accepted":
      return `${answer.existing ? "existing" : "accepted"} ${answer.task}`;
    case "refused":
      return `refused ${answer.code}${answer.item === undefined ? "" : ` at ${answer.item}`}`;
    case "graph-accepted":
      return `accepted ${answer.tasks.map(({ task, existing }) => `${task}${existing ? "=" : ""}`).join(" ")}`;
    case "granted":
      return answer.task === undefined ? "granted" : `granted ${answer.task}`;
    case "acted": {
      const { matched, done, refused } = answer.action;
      return `acted on ${matched}: ${done} done, ${refused} refused${answer.isMore ? ", more" : ""}`;
    }
    case "watched":
      return `watched ${answer.task} ${answer.finished ? "finished" : "not yet"}`;
    case "no-work":
      return "no-work";
    case "beat":
      return `beat ${answer.leaseMs}${answer.cancel ? " cancel" : ""}`;
  }
}

/** `running assigned 1.1 w1`, one line per entry. */
export function briefStory({ head, progress }: StoredTask): string[] {
  return storyOf(head, progress).map(({ to, cause, attempt, worker }) =>
    [to, cause, attempt === undefined ? "" : numbered(attempt), worker === undefined ? "" : short(worker)]
      .filter((word) => word !== "")
      .join(" "),
  );
}

/** Epoch and counter: `1.7`. */
function numbered(attempt: AttemptNumber): string {
  const epoch = epochOf(attempt);
  return `${epoch}.${attempt - attemptOf(epoch, 0)}`;
}

function short(worker: string): string {
  return worker.startsWith("x/") ? worker.slice(2) : worker;
}
