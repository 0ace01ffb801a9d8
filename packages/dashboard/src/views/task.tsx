// The whole story of one task: a sentence, its facts, its life, its bytes, and what passed between
// the peers.

import { useState } from "preact/hooks";
import { cancelTask, retryTask } from "../live/actions.js";
import type { Task } from "../live/api-shapes.js";
import { useKeys } from "../live/keys.js";
import { changeQuery, go, route, tasksLink, useRoute } from "../live/navigation.js";
import { mayDo, useRights } from "../live/rights.js";
import { faultWords, getJson, Refusal, reachedApi } from "../live/session.js";
import { usePolled, useRefresh } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { bytes, count } from "../model/numbers.js";
import { routeText } from "../model/route.js";
import { curlTask } from "../model/shell-lines.js";
import { shownLine } from "../model/shown-text.js";
import { attemptsOf, submitterOf, taskSentence, timesOf, type Words } from "../model/story.js";
import { isFinished } from "../model/task-states.js";
import { clockMs, dayAndClock, duration, fineDuration, fullTime } from "../model/time.js";
import { BodyCard } from "../parts/body-card.js";
import { ArmedButton, copy, LoadFault, QueueName, Segments } from "../parts/controls.js";
import { CopyIcon } from "../parts/icons.js";
import { Sign } from "../parts/sign.js";
import { StartWorker } from "../parts/start-worker.js";
import { usePhone } from "../parts/theme.js";
import { Ladder } from "./task-ladder.js";
import { Relations } from "./task-relations.js";
import { CompactLife, FullStory, LifeSteps } from "./task-story.js";
import { Timeline } from "./task-timeline.js";

export function TaskView({ id }: { id: string }) {
  useRefresh(4);
  const [isOver, over] = useState(false);
  const {
    answer: task,
    fault,
    isLoading,
    retry,
  } = usePolled(`task ${id}`, isOver ? 0 : 700, async () => {
    const { outlook, ...read } = await getJson<Task & { readonly outlook?: object }>(
      `v1/tasks/${encodeURIComponent(id)}?outlook=true`,
    );
    if (isFinished(read.state)) over(true);
    return { ...read, ...outlook };
  });
  const copyCurl = () => void copy(curlTask(reachedApi(), id), "the curl line");
  useKeys({
    y: copyCurl,
    r: () => task && mayDo("submit", task.queue) && go("try", "", { from: id }),
    R: () =>
      task &&
      mayDo("operate", task.queue) &&
      isFinished(task.state) &&
      task.state !== "done" &&
      void again(id),
    esc: () => history.back(),
  });
  if (!task)
    return isLoading ? (
      <p class="empty">Loading task {shownLine(id)}…</p>
    ) : (
      <NoTask id={id} fault={fault} onRetry={retry} />
    );
  return (
    <>
      <TaskHead task={task} onChange={retry} onCopy={copyCurl} />
      <Facts task={task} />
      <Life task={task} />
      <div class="task-lower">
        <div class="task-bodies">
          {task.resultBytes !== null ? <BodyCard task={task} part="result" /> : <NoResult task={task} />}
          <BodyCard task={task} part="payload" />
        </div>
        <Ladder task={task} />
      </div>
    </>
  );
}

/** Retries the task and shows the new one, unless another page was opened in the meantime. */
async function again(id: string): Promise<void> {
  const made = await retryTask(id);
  const { view, name } = route();
  if (made && view === "task" && name === id) go("task", made.id);
}

function NoTask({ id, fault, onRetry }: { id: string; fault: unknown; onRetry: () => void }) {
  const isGone = fault instanceof Refusal && (fault.status === 404 || fault.status === 400);
  if (!isGone) {
    return (
      <section class="card">
        <h1 class="hidden-text">Task {shownLine(id)}</h1>
        <LoadFault words={faultWords(fault)} onRetry={onRetry} />
      </section>
    );
  }
  return (
    <section class="card empty">
      <h1>There is no task {shownLine(id)}.</h1>
      <p>It was never submitted here, or it finished and is no longer kept (retention).</p>
      <p>
        <a class="link" href={tasksLink("")}>
          All tasks
        </a>
      </p>
    </section>
  );
}

function TaskHead({ task, onChange, onCopy }: { task: Task; onChange: () => void; onCopy: () => void }) {
  const [isStarting, start] = useState(false);
  useRights();
  const mayOperate = mayDo("operate", task.queue);
  const hasEndedBadly = task.state === "failed" || task.state === "cancelled" || task.state === "expired";
  const isStopped = task.why?.code === "no_worker" || task.why?.code === "does_not_fit";
  const isPhone = usePhone();
  const startButton = (
    <button type="button" class="button primary" onClick={() => start(true)}>
      Start a worker…
    </button>
  );
  const cancel = async () => {
    await cancelTask(task.id);
    onChange();
  };
  return (
    <header class={`task-head ${isStopped ? "is-stopped" : ""}`}>
      <div class="title">
        <Sign name={task.state} label={task.state} size={16} />
        <h1>Task {task.id}</h1>
        <a class="chip" href={routeText("queues", task.queue)}>
          <QueueName name={task.queue} />
        </a>
        {task.key !== null && (
          <span class="chip">
            <span class="key">key</span> <code class="truncate">{shownLine(task.key)}</code>
          </span>
        )}
        <span class="chip">
          <span class="key">came in by</span> {shownLine(task.door)}
        </span>
        {submitterOf(task) !== "" && (
          <span class="chip">
            <span class="key">submitted by</span> {shownLine(submitterOf(task))}
          </span>
        )}
        <Relations task={task} />
        {task.retries && (
          <a class="chip" href={routeText("task", task.retries)}>
            <span class="key">retries</span> {task.retries}
          </a>
        )}
        <span class="right task-buttons">
          {isStopped && !isPhone && startButton}
          {mayOperate && !isFinished(task.state) && (
            <ArmedButton
              class="danger"
              label="Cancel task…"
              armed={task.state === "running" ? "Cancel: it is running" : "Cancel it"}
              onConfirm={() => void cancel()}
            />
          )}
          {mayOperate && hasEndedBadly && (
            <button
              type="button"
              class="button primary"
              disabled={yard.link === "lost"}
              onClick={() => void again(task.id)}
            >
              Retry <kbd>R</kbd>
            </button>
          )}
          {mayDo("submit", task.queue) && (
            <a class="button" href={routeText("try", "", { from: task.id })}>
              Submit again… <kbd>r</kbd>
            </a>
          )}
          <button type="button" class="button" onClick={onCopy}>
            <CopyIcon /> Copy as curl <kbd>y</kbd>
          </button>
        </span>
      </div>
      <div class="task-sentence">
        <p>
          <Sentence words={taskSentence(task, yard.now())} />
        </p>
        {isStopped && isPhone && startButton}
      </div>
      {isStarting && <StartWorker queue={task.queue} onClose={() => start(false)} />}
    </header>
  );
}

export function Sentence({ words }: { words: readonly Words[] }) {
  return (
    <>
      {words.map(({ text, worker, isStrong }, at) => {
        const shown = shownLine(text);
        if (worker !== undefined) {
          return (
            <a key={at} class="underlined" href={routeText("workers", "", { q: worker })}>
              {shown}
            </a>
          );
        }
        return isStrong ? <b key={at}>{shown}</b> : <span key={at}>{shown}</span>;
      })}
    </>
  );
}

function Facts({ task }: { task: Task }) {
  const now = yard.now();
  const { wholeMs, workedMs, lostMs } = timesOf(task, now);
  const attempts = attemptsOf(task).length;
  const submitted = Date.parse(task.submittedAt);
  const lease = task.state === "running" && task.leaseUntil ? Date.parse(task.leaseUntil) - now : undefined;
  return (
    <dl class="facts">
      <Fact name="submitted" value={dayAndClock(submitted, now)} title={fullTime(submitted)} />
      <Fact
        name="waited"
        value={fineDuration(Math.max(0, wholeMs - workedMs))}
        aside={`of ${fineDuration(wholeMs)}`}
      />
      <Fact
        name="worked on"
        value={fineDuration(workedMs)}
        aside={lostMs > 0 ? `${fineDuration(lostMs)} of it lost` : ""}
      />
      <Fact name="attempts" value={count(attempts)} aside={lossesUsed(task)} />
      <Fact name="priority" value={String(task.priority)} />
      <Fact name="payload" value={bytes(task.payloadBytes)} aside={shownLine(task.contentType)} />
      <Fact name="result" value={resultSize(task)} />
      {lease !== undefined && <Fact name="lease" value={lease > 0 ? `${duration(lease)} left` : "over"} />}
      <Fact
        name="client"
        value={
          task.told
            ? "outcome delivered"
            : isFinished(task.state)
              ? "not waiting for it"
              : "outcome not delivered yet"
        }
        aside={task.told && task.finishedAt ? clockMs(Date.parse(task.finishedAt)) : ""}
      />
    </dl>
  );
}

function resultSize({ resultBytes, state }: Task): string {
  if (resultBytes !== null) return bytes(resultBytes);
  return isFinished(state) ? "none" : "none yet";
}

function lossesUsed({ losses, lossesMax, failures, failuresMax }: Task): string {
  const parts = [];
  if (losses) parts.push(`${losses} of ${lossesMax} losses used`);
  if (failures && (failuresMax ?? 1) > 1) parts.push(`${failures} of ${failuresMax} failures used`);
  return parts.join(", ");
}

function Fact({
  name,
  value,
  aside,
  title,
}: {
  name: string;
  value: string;
  aside?: string;
  title?: string;
}) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>
        {value} {aside && <span class="faint">{aside}</span>}
      </dd>
    </div>
  );
}

function Life({ task }: { task: Task }) {
  const { query } = useRoute();
  const isPhone = usePhone();
  const life = query.get("life") ?? (isPhone ? "compact" : "timeline");
  return (
    <section class="card" aria-label="Its life">
      <div class="card-head">
        <h2>Its life</h2>
        {!isPhone && <span class="faint">seconds since it was submitted</span>}
        {!isPhone && (
          <span class="right">
            <Segments
              label="How to show it"
              value={life}
              choices={[
                { value: "compact", label: "Compact" },
                { value: "timeline", label: "Timeline" },
                { value: "story", label: `Full story, ${task.story.length}` },
              ]}
              onChoose={(value) => changeQuery("task", { life: value === "timeline" ? undefined : value })}
            />
          </span>
        )}
      </div>
      {isPhone ? (
        <LifeSteps task={task} />
      ) : life === "compact" ? (
        <CompactLife task={task} />
      ) : life === "story" ? (
        <FullStory task={task} />
      ) : (
        <Timeline task={task} />
      )}
    </section>
  );
}

function NoResult({ task }: { task: Task }) {
  const attempts = attemptsOf(task);
  const last = attempts.at(-1);
  const words =
    task.state === "running"
      ? `No result yet: attempt ${attempts.length} has been running for ${duration(yard.now() - (last?.start ?? yard.now()))}.`
      : task.state === "waiting"
        ? "No result yet: it has not been done."
        : `No result: the task is ${task.state}.`;
  return (
    <section class="card" aria-label="Result">
      <div class="card-head">
        <h2>{task.error ? "Error" : "Result"}</h2>
        {task.error && <span class="fail">{shownLine(task.error.code)}</span>}
      </div>
      {task.error ? (
        <pre class="code body-text">{shownLine(task.error.message)}</pre>
      ) : (
        <p class="empty">{words}</p>
      )}
    </section>
  );
}
