// What to do with the chosen tasks: the bar at the foot, the confirmation with counts by queue, and
// the progress.

import { useState } from "preact/hooks";
import type { Task } from "../live/api-shapes.js";
import { BulkAction, type Verb } from "../live/bulk-action.js";
import { mayDo } from "../live/rights.js";
import { faultWords, getJson } from "../live/session.js";
import type { TaskCount, TaskList } from "../live/task-list.js";
import { usePolled, useRender } from "../live/ticker.js";
import { toast } from "../live/toasts.js";
import { yard } from "../live/yard.js";
import { count, counted } from "../model/numbers.js";
import { signalOf } from "../model/queue-signals.js";
import { shownLine } from "../model/shown-text.js";
import { isFinished, type TaskState } from "../model/task-states.js";
import { duration } from "../model/time.js";
import { LoadFault, QueueName } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { Sign } from "../parts/sign.js";
import type { Chosen } from "./tasks.js";

/** Beyond this a cancellation is typed, not clicked. */
const typedAbove = 10_000;

interface BulkProps {
  readonly list: TaskList;
  /** The state that the filter names. */
  readonly state: string | undefined;
  readonly chosen: Chosen;
  readonly verb: Verb | undefined;
  readonly onVerb: (verb: Verb | undefined) => void;
  readonly onChoose: (chosen: Chosen) => void;
}

export function BulkBar(props: BulkProps) {
  const { list, chosen, verb, onVerb } = props;
  const many = chosen === "all" ? (list.count?.count ?? list.items.length) : chosen.size;
  const isWhole = chosen === "all" && list.hasCounts;
  const tasks = chosen === "all" ? list.items : list.items.filter(({ id }) => chosen.has(id));
  const states =
    props.state !== undefined
      ? [props.state]
      : tasks.length < many
        ? undefined
        : tasks.map(({ state }) => state);
  const isFor = (one: Verb) => states === undefined || states.some((state) => canBe(one, state as TaskState));
  return (
    <div class="bulk" role="region" aria-label="Chosen tasks">
      <b>
        {chosen === "all"
          ? isWhole
            ? `All ${count(many)} that match are chosen`
            : `All ${count(many)} that are listed are chosen`
          : `${counted(many, "task")} chosen`}
      </b>
      {chosen === "all" && isWhole && list.items.length < many && (
        <>
          <span class="muted">also those not shown</span>
          <button
            type="button"
            class="link-button"
            onClick={() => props.onChoose(new Set(list.items.map(({ id }) => id)))}
          >
            choose only the {list.items.length} on the page
          </button>
        </>
      )}
      {chosen !== "all" && list.cursor !== null && list.hasCounts && (
        <button type="button" class="link-button" onClick={() => props.onChoose("all")}>
          choose all that match
        </button>
      )}
      <span class="grow" />
      <button type="button" class="button plain" onClick={() => props.onChoose(new Set())}>
        Clear <kbd>esc</kbd>
      </button>
      <button type="button" class="button" onClick={() => exportLines(tasks)}>
        Export as JSON lines
      </button>
      {mayDo("operate") && (
        <>
          {isFor("cancel") && (
            <button
              type="button"
              class="button danger"
              disabled={yard.link === "lost"}
              onClick={() => onVerb("cancel")}
            >
              Cancel {count(many)}… <kbd>C</kbd>
            </button>
          )}
          {isFor("retry") && (
            <button
              type="button"
              class="button primary"
              disabled={yard.link === "lost"}
              onClick={() => onVerb("retry")}
            >
              Retry {count(many)}… <kbd>R</kbd>
            </button>
          )}
        </>
      )}
      {verb && <BulkDialog {...props} verb={verb} tasks={tasks} isWhole={isWhole} />}
    </div>
  );
}

function canBe(verb: Verb, state: TaskState): boolean {
  return verb === "cancel" ? !isFinished(state) : isFinished(state) && state !== "done";
}

function exportLines(tasks: readonly Task[]): void {
  const text = tasks.map((task) => JSON.stringify(task)).join("\n");
  const url = URL.createObjectURL(new Blob([`${text}\n`], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = "tasks.ndjson";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  toast(`Exported ${counted(tasks.length, "task")}.`);
}

function BulkDialog(props: BulkProps & { verb: Verb; tasks: readonly Task[]; isWhole: boolean }) {
  const { verb, tasks, isWhole } = props;
  const { filter } = props.list;
  const render = useRender();
  const [typed, setTyped] = useState("");
  const [action, setAction] = useState<BulkAction | undefined>();
  // The count is asked again now: tasks have come and gone since they were chosen.
  const asked = usePolled(isWhole ? `count ${verb}` : "none", 0, async () =>
    isWhole ? countFitting(verb, filter) : undefined,
  );
  const fitting = tasks.filter(({ state }) => canBe(verb, state));
  const total = isWhole ? (asked.answer?.count ?? 0) : fitting.length;
  const byQueue = isWhole ? Object.entries(asked.answer?.byQueue ?? {}) : countByQueue(fitting);
  const isCounting = isWhole && asked.isLoading;
  const left = tasks.length - fitting.length;
  const mustType = verb === "cancel" && total > typedAbove;
  const word = verb === "cancel" ? "Cancel" : "Retry";
  const close = () => props.onVerb(undefined);
  const run = () => {
    const made = new BulkAction(total, render);
    setAction(made);
    const work = isWhole
      ? made.runAll(verb, filter)
      : made.runEach(
          verb,
          fitting.map(({ id }) => id),
        );
    void work.then(() => props.list.reload());
  };
  return (
    <Dialog label={`${word} ${total} tasks`} onClose={close}>
      <h2>{isCounting ? `${word}: counting the tasks…` : `${word} ${counted(total, "task")}?`}</h2>
      {!isCounting && total > 0 && <p class="muted">{consequence(verb, total)}</p>}
      {!isCounting && total === 0 && asked.fault === undefined && (
        <p class="muted">
          {verb === "cancel"
            ? "None of them waits or runs: there is nothing to cancel."
            : "None of them failed, expired or was cancelled: there is nothing to retry."}
        </p>
      )}
      {asked.fault !== undefined && <LoadFault words={faultWords(asked.fault)} onRetry={asked.retry} />}
      {!isWhole && left > 0 && (
        <p class="muted">
          {counted(left, "chosen task")} cannot be{" "}
          {verb === "cancel" ? "cancelled: finished already" : "retried: not finished, or done"}.
        </p>
      )}
      <ul class="bulk-queues">
        {byQueue.map(([queue, tasksOf]) => (
          <li key={queue}>
            <QueueName name={queue} />
            <b class="number">{count(tasksOf)}</b>
            <QueueOutlook name={queue} verb={verb} />
          </li>
        ))}
      </ul>
      {mustType && !action && (
        <label>
          To cancel more than {count(typedAbove)} tasks, type <code>cancel</code>:{" "}
          <input
            type="text"
            class="plain-input"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
      )}
      {action ? (
        <Doing action={action} onClose={close} />
      ) : (
        <div class="buttons">
          <button
            type="button"
            class={`button ${verb === "cancel" ? "danger" : "primary"}`}
            disabled={total === 0 || (mustType && typed !== "cancel")}
            onClick={run}
          >
            {word} {counted(total, "task")}
          </button>
          <button type="button" class="button" onClick={close}>
            Not now
          </button>
          <span class="aside">can be stopped</span>
        </div>
      )}
    </Dialog>
  );
}

/** Number of matching tasks in a state in which the verb applies. */
async function countFitting(
  verb: Verb,
  filter: Readonly<Record<string, string>>,
): Promise<Pick<TaskCount, "count" | "byQueue">> {
  const fitting = verb === "cancel" ? ["waiting", "running"] : ["failed", "cancelled", "expired"];
  const states = filter.state === undefined ? fitting : fitting.filter((state) => state === filter.state);
  const counts = await Promise.all(
    states.map((state) => getJson<TaskCount>(`v1/tasks:count?${new URLSearchParams({ ...filter, state })}`)),
  );
  const byQueue = new Map<string, number>();
  for (const counted of counts) {
    for (const [queue, tasks] of Object.entries(counted.byQueue ?? {}))
      byQueue.set(queue, (byQueue.get(queue) ?? 0) + tasks);
  }
  return {
    count: counts.reduce((sum, { count: tasks }) => sum + tasks, 0),
    byQueue: Object.fromEntries([...byQueue].sort((a, b) => b[1] - a[1])),
  };
}

function consequence(verb: Verb, total: number): string {
  if (verb === "retry") {
    return `${counted(total, "new task")} with the same payloads ${total === 1 ? "is" : "are"} submitted. The finished ones stay as they are.`;
  }
  return "Waiting tasks end at once. Running ones are taken from their workers, and late answers are refused. This cannot be undone.";
}

function countByQueue(tasks: readonly Task[]): [string, number][] {
  const sums = new Map<string, number>();
  for (const { queue } of tasks) sums.set(queue, (sums.get(queue) ?? 0) + 1);
  return [...sums].sort((a, b) => b[1] - a[1]);
}

/** What will happen to the tasks of a queue. */
function QueueOutlook({ name, verb }: { name: string; verb: Verb }) {
  const queue = yard.queues.get(name);
  if (verb === "cancel" || !queue)
    return <span class="muted">{queue ? "" : "no worker serves it: they will wait"}</span>;
  const signal = signalOf(queue, yard.now());
  if (signal === "paused" || signal === "stopped") {
    return (
      <span class={`with-sign ${signal === "paused" ? "warn" : "fail"}`}>
        <Sign name={signal} />{" "}
        {signal === "paused" ? "paused: they will wait" : "no worker serves it: they will wait"}
      </span>
    );
  }
  const behind =
    queue.donePerSecond[1] > 0 && queue.waiting > queue.donePerSecond[1]
      ? `, about ${duration((queue.waiting / queue.donePerSecond[1]) * 1000)} behind`
      : "";
  return <span class="muted">{`${counted(queue.workers, "worker")}${behind}`}</span>;
}

function Doing({ action, onClose }: { action: BulkAction; onClose: () => void }) {
  const { done, failed, total, isOver, words } = action.progress;
  return (
    <div class="stack" role="status">
      <progress max={Math.max(1, total)} value={done + failed} />
      <span>
        {count(done)} of {count(total)} done{failed > 0 ? `, ${count(failed)} refused` : ""}
        {words === "" ? "" : `: ${shownLine(words)}`}
      </span>
      <div class="buttons">
        {isOver ? (
          <button type="button" class="button primary" onClick={onClose}>
            Close
          </button>
        ) : (
          <button type="button" class="button" onClick={() => void action.stop()}>
            Stop
          </button>
        )}
      </div>
    </div>
  );
}
