// The list of tasks: the query bar with its chips, a histogram, rows that load as they are reached,
// and actions on many tasks at once.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Task } from "../live/api-shapes.js";
import { useKeys } from "../live/keys.js";
import { changeQuery, go, useRoute } from "../live/navigation.js";
import { faultWords, getJson, reachedApi } from "../live/session.js";
import { type TaskCount, type TaskList, useTaskList } from "../live/task-list.js";
import { usePolled } from "../live/ticker.js";
import { toast } from "../live/toasts.js";
import { yard } from "../live/yard.js";
import { count, counted } from "../model/numbers.js";
import { curlTask } from "../model/shell-lines.js";
import { shownLine } from "../model/shown-text.js";
import {
  filterOf,
  parseTaskQuery,
  type TaskQuery,
  taskQueryText,
  withChip,
  withoutEach,
} from "../model/task-query.js";
import { copy, LoadFault } from "../parts/controls.js";
import { BulkBar } from "./tasks-bulk.js";
import { Histogram } from "./tasks-histogram.js";
import { QueryBar } from "./tasks-query.js";
import { TaskTable } from "./tasks-table.js";

export type Chosen = ReadonlySet<string> | "all";

/** A chip that is not understood filters nothing, so "all that match" would be far too many. */
const badFilter = "Correct or remove the marked filter first: it has no effect yet.";

export function TasksView() {
  const { query } = useRoute();
  const parsed = parseTaskQuery(query.get("q") ?? "");
  const text = taskQueryText(parsed);
  const isBad = parsed.chips.some(({ fault }) => fault !== undefined);
  // Times that count back from now are fixed for the list's life, so that its cursor belongs to one
  // filter.
  const list = useTaskList(text, filterOf(parsed, yard.now()));
  const [chosen, choose] = useState<Chosen>(new Set());
  const [at, setAt] = useState(-1);
  const [verb, setVerb] = useState<"cancel" | "retry" | undefined>();
  // Tasks chosen under another filter are not chosen any more, however the address changed.
  useLayoutEffect(() => {
    choose(new Set());
    setAt(-1);
    setVerb(undefined);
  }, [text]);
  const change = (next: TaskQuery) => {
    changeQuery("tasks", { q: taskQueryText(next) });
  };
  const current = list.items[at];
  const move = (step: number) => setAt(Math.max(0, Math.min(list.items.length - 1, at + step)));
  const toggle = (task: Task | undefined) => {
    if (!task) return;
    const next = new Set(chosen === "all" ? list.items.map(({ id }) => id) : chosen);
    if (!next.delete(task.id)) next.add(task.id);
    choose(next);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    down: () => move(1),
    up: () => move(-1),
    enter: () => current && go("task", current.id),
    x: () => toggle(current),
    a: () => (isBad ? toast(badFilter) : choose(list.items.length > 0 ? "all" : new Set())),
    R: () => setVerb("retry"),
    C: () => setVerb("cancel"),
    y: () => current && void copy(curlTask(reachedApi(), current.id), "the curl line"),
    esc: () => (verb ? setVerb(undefined) : choose(new Set())),
  });
  // A link of another view asks to retry all that match; the dialog asks first.
  const isRetryAsked = query.get("do") === "retry" && !isBad && !list.isLoading && list.items.length > 0;
  useEffect(() => {
    if (!isRetryAsked) return;
    changeQuery("tasks", { do: undefined });
    choose("all");
    setVerb("retry");
  }, [isRetryAsked]);
  const isAnyChosen = chosen === "all" || chosen.size > 0;
  useEffect(() => {
    if (verb !== undefined && !isAnyChosen) {
      setVerb(undefined);
      toast("Choose tasks first: x chooses one, a chooses all that match.");
    }
  }, [verb, isAnyChosen]);
  return (
    <div class={isAnyChosen ? "has-bulk" : ""}>
      <div class="stack">
        <h1 class="hidden-text">Tasks</h1>
        <QueryBar query={parsed} onChange={change} aside={<Found list={list} />} />
        {!isBad && (
          <Histogram
            list={list}
            onSpan={(since, until) => change(withChip(withChip(parsed, "since", since), "until", until))}
          />
        )}
        <NewTasks list={list} />
        {list.fault !== undefined && (
          <section class="card">
            <LoadFault words={faultWords(list.fault)} onRetry={() => void list.reload()} />
          </section>
        )}
        <SlowSearch list={list} />
        {list.items.length > 0 ? (
          <TaskTable list={list} chosen={chosen} at={at} onChoose={choose} onToggle={toggle} onMove={setAt} />
        ) : (
          !list.isLoading && list.fault === undefined && <NoMatch query={parsed} onChange={change} />
        )}
        <More list={list} />
      </div>
      {isAnyChosen && (
        <BulkBar
          list={list}
          state={parsed.chips.find(({ key }) => key === "state")?.value}
          chosen={chosen}
          verb={verb}
          onVerb={setVerb}
          onChoose={(next) => (isBad && next === "all" ? toast(badFilter) : choose(next))}
        />
      )}
    </div>
  );
}

function Found({ list }: { list: TaskList }) {
  if (list.count) {
    return (
      <span class="muted tabular">
        <b>{foundWords(list.count)}</b> {list.count.count === 1 ? "task" : "tasks"} in {list.tookMs} ms
      </span>
    );
  }
  return (
    <span class="muted tabular">
      <b>
        {count(list.items.length)}
        {list.cursor === null ? "" : "+"}
      </b>{" "}
      tasks in {list.tookMs} ms
    </span>
  );
}

function foundWords({ count: many, isMore }: TaskCount): string {
  return isMore ? `more than ${count(many)}` : count(many);
}

function NewTasks({ list }: { list: TaskList }) {
  if (list.fresh.length === 0) return null;
  const many = list.fresh.length >= 100 ? "100 or more" : count(list.fresh.length);
  return (
    <div class="row">
      <button type="button" class="button" onClick={() => list.showNew()}>
        {many} new
      </button>
    </div>
  );
}

function SlowSearch({ list }: { list: TaskList }) {
  const [isSlow, slow] = useState(false);
  useEffect(() => {
    slow(false);
    if (!list.isLoading) return;
    const timer = setTimeout(() => slow(true), 2_000);
    return () => clearTimeout(timer);
  }, [list.isLoading]);
  if (!isSlow || !list.isLoading) return null;
  return (
    <div class="row">
      <span class="muted">Still looking; {counted(list.items.length, "task")} found.</span>
      <button type="button" class="button" onClick={() => list.stop()}>
        Stop
      </button>
    </div>
  );
}

function NoMatch({ query, onChange }: { query: TaskQuery; onChange: (query: TaskQuery) => void }) {
  const parts = withoutEach(query);
  const { answer, isLoading } = usePolled(taskQueryText(query), 0, () => mostNarrowing(query));
  if (isLoading) return null;
  const offered = answer ?? parts[0];
  return (
    <section class="card empty">
      <p>
        {offered ? "No task matches." : "No tasks: none was submitted, or all were evicted."}
        {answer && (
          <>
            {" "}
            {foundWords(answer.found)} {answer.found.count === 1 ? "matches" : "match"} without{" "}
            <code>{shownLine(answer.part)}</code>.
          </>
        )}
      </p>
      {offered && (
        <p>
          <button type="button" class="button" onClick={() => onChange(offered.rest)}>
            Remove {shownLine(offered.part)}
          </button>
        </p>
      )}
      {query.words !== "" && <p class="faint">Words are looked for in ids, keys and errors.</p>}
    </section>
  );
}

/**
 * The last part of the query without which tasks match, and how many. Undefined if there is none:
 * two parts of the query match nothing together, or even one alone.
 */
async function mostNarrowing(query: TaskQuery) {
  for (const { part, rest } of withoutEach(query)) {
    const filter = new URLSearchParams(filterOf(rest, yard.now()));
    const found = await getJson<TaskCount>(`v1/tasks:count?${filter}`);
    if (found.count > 0) return { part, rest, found };
  }
  return undefined;
}

/** Reaching the end of the list loads the next page. */
function More({ list }: { list: TaskList }) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!end.current) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) void list.more();
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [list, list.items.length]);
  return (
    <div ref={end} class="aside">
      {list.cursor !== null && list.items.length > 0 && (
        <button type="button" class="button" onClick={() => void list.more()}>
          More
        </button>
      )}
    </div>
  );
}
