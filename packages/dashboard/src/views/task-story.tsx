// A task's life in words: a sentence for each attempt, every entry of its story, or steps for a
// phone.

import type { Task } from "../live/api-shapes.js";
import { yard } from "../live/yard.js";
import { keptWords } from "../model/durability.js";
import { reasonClause } from "../model/reasons.js";
import { shownLine } from "../model/shown-text.js";
import { attemptsOf, causeOf, entrySentence, shortWorker, type ToldAttempt } from "../model/story.js";
import { clock, clockMs, duration, fullTime } from "../model/time.js";
import { Sign, type SignName } from "../parts/sign.js";

export function CompactLife({ task }: { task: Task }) {
  const attempts = attemptsOf(task);
  return (
    <ol class="compact">
      <li>
        <Sign name="waiting" /> Submitted by {shownLine(task.door)} at {clock(Date.parse(task.submittedAt))},
        and {keptWords(yard.durability)}.
      </li>
      {attempts.map((attempt) => (
        <li key={attempt.number}>
          <Sign name={signOf(attempt)} /> {attemptSentence(attempt)}
        </li>
      ))}
      {task.state === "waiting" && (
        <li>
          <Sign name="later" /> {shownLine(task.why?.message ?? "It waits.")}
        </li>
      )}
    </ol>
  );
}

function signOf({ ending }: ToldAttempt): SignName {
  return ending === "returned" ? "cancelled" : ending;
}

function attemptSentence({ number, worker, ending, reason, start, end, lateAt }: ToldAttempt): string {
  const took = duration((end ?? yard.now()) - start);
  const on = shownLine(shortWorker(worker));
  const late =
    lateAt === undefined
      ? ""
      : ` Its answer came ${duration(lateAt - (end ?? lateAt))} too late and was refused.`;
  if (ending === "running") return `Attempt ${number} on ${on} has been running for ${took}.`;
  if (ending === "lost")
    return `Attempt ${number} on ${on} was lost after ${took}: ${reasonClause(reason.split(":")[0] ?? "")}.${late}`;
  if (ending === "returned")
    return `Attempt ${number} on ${on} was given back after ${took}: ${reasonClause(reason)}.`;
  if (ending === "done") return `Attempt ${number} on ${on} was done in ${took}.${late}`;
  return `Attempt ${number} on ${on} ${ending === "failed" ? "failed" : `was ${ending}`} after ${took}.${late}`;
}

export function FullStory({ task }: { task: Task }) {
  const submitted = Date.parse(task.submittedAt);
  const isCut = causeOf(task.story[0]?.cause ?? "").kind !== "submitted";
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label="Full story">
      {isCut && <p class="empty">The first entries were evicted: a story keeps its latest.</p>}
      <table class="table">
        <thead>
          <tr>
            <th>at</th>
            <th class="number">after</th>
            <th>state</th>
            <th>what happened</th>
            <th class="number">attempt</th>
            <th>worker</th>
          </tr>
        </thead>
        <tbody>
          {task.story.map((entry, at) => {
            const time = Date.parse(entry.at);
            return (
              <tr key={at}>
                <td class="tabular" title={fullTime(time)}>
                  {clockMs(time)}
                </td>
                <td class="number">{duration(time - submitted)}</td>
                <td>
                  <span class="with-sign">
                    <Sign name={entry.to} /> {entry.to}
                  </span>
                </td>
                <td>{shownLine(entrySentence(entry, yard.durability))}</td>
                <td class="number mono">{entry.attempt ?? ""}</td>
                <td>{shownLine(entry.worker ?? "")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** For a phone: one step below the other, with a bar where it was at work. */
export function LifeSteps({ task }: { task: Task }) {
  const attempts = attemptsOf(task);
  return (
    <ol class="steps">
      <Step
        sign="waiting"
        title="Submitted"
        aside={`by ${task.door}, ${keptWords(yard.durability)}`}
        at={clock(Date.parse(task.submittedAt))}
      />
      {attempts.map((attempt) => (
        <AttemptSteps key={attempt.number} attempt={attempt} />
      ))}
      {task.state === "waiting" && (
        <Step
          sign="waiting"
          title={isForWorker(task) ? "Waits for a worker" : "Waits"}
          aside={task.losses ? `${task.losses} of ${task.lossesMax} losses used` : (task.why?.message ?? "")}
          at=""
        />
      )}
      {task.state === "cancelled" && (
        <Step
          sign="cancelled"
          title="Cancelled"
          aside=""
          at={task.finishedAt ? clock(Date.parse(task.finishedAt)) : ""}
        />
      )}
    </ol>
  );
}

/** Not if it waits for its time, for other tasks, or for an order. */
function isForWorker({ why }: Task): boolean {
  return why?.code === "no_worker" || why?.code === "all_busy" || why?.code === "does_not_fit";
}

function AttemptSteps({ attempt }: { attempt: ToldAttempt }) {
  const { number, worker, start, end, ending, reason } = attempt;
  const worked = `at work for ${duration((end ?? yard.now()) - start)}`;
  return (
    <>
      <Step
        sign="running"
        title={`Attempt ${number} on ${shortWorker(worker)}`}
        aside={worked}
        at={clock(start)}
        isWork
      />
      {end !== undefined && (
        <Step
          sign={signOf(attempt)}
          title={`Attempt ${number} ${ending === "returned" ? "given back" : ending}`}
          aside={
            ending === "lost" || ending === "returned" ? reasonClause(reason.split(":")[0] ?? "") : reason
          }
          at={clock(end)}
        />
      )}
    </>
  );
}

function Step(props: { sign: SignName; title: string; aside: string; at: string; isWork?: boolean }) {
  return (
    <li class={props.isWork ? "is-work" : ""}>
      <Sign name={props.sign} />
      <div class="grow">
        <b>{shownLine(props.title)}</b>
        <div class="muted">{shownLine(props.aside)}</div>
      </div>
      <span class="mono">{props.at}</span>
    </li>
  );
}
