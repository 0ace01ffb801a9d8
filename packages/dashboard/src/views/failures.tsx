// What failed, one line for each kind: how often, since when, what the tasks of a kind share, and
// what to do about it.

import { drainWorker } from "../live/actions.js";
import type { FailureKind, Failures } from "../live/api-shapes.js";
import { useKeys } from "../live/keys.js";
import { changeQuery, go, tasksLink, useRoute } from "../live/navigation.js";
import { mayDo } from "../live/rights.js";
import { faultWords, getJson } from "../live/session.js";
import { usePolled } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { kindQuery } from "../model/kind-query.js";
import { count, counted, ordinal } from "../model/numbers.js";
import { routeText } from "../model/route.js";
import { shortened, shownBlock, shownLine } from "../model/shown-text.js";
import { labelOf } from "../model/stream-layout.js";
import { clockMinutes, duration, sinceWords } from "../model/time.js";
import { ArmedButton, LoadFault, QueueName, Segments } from "../parts/controls.js";
import { Sign } from "../parts/sign.js";
import { Bars } from "../parts/sparkline.js";
import { usePhone } from "../parts/theme.js";

const spans = [
  { value: "1h", label: "1 h" },
  { value: "24h", label: "24 h" },
] as const;

const orders = [
  { value: "error", label: "by error" },
  { value: "queue", label: "by queue" },
  { value: "worker", label: "by worker" },
] as const;
type Order = (typeof orders)[number]["value"];

export function FailuresView() {
  const { name, query } = useRoute();
  const span = query.get("span") === "24h" ? "24h" : "1h";
  const order = orders.find(({ value }) => value === query.get("by"))?.value ?? "error";
  const { answer, fault, retry } = usePolled(`failures ${span}`, 1_000, () =>
    getJson<Failures>(`v1/failures?span=${span}`),
  );
  const kinds = sorted(answer?.items ?? [], order);
  const failed = kinds.filter(({ isExpired }) => !isExpired);
  const expired = kinds.filter(({ isExpired }) => isExpired);
  const all = [...failed, ...expired];
  const chosen = all.find(({ id }) => id === name) ?? all[0];
  const open = (kind: FailureKind | undefined) =>
    kind && go("failures", kind.id, { ...Object.fromEntries(query) });
  const move = (step: number) =>
    open(all[Math.max(0, Math.min(all.length - 1, all.findIndex(({ id }) => id === chosen?.id) + step))]);
  // On a phone the list and one kind are two pages.
  const isPhone = usePhone();
  const isPage = isPhone && chosen?.id === name;
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    enter: () => chosen && go("task", chosen.task),
    d: () => document.querySelector<HTMLButtonElement>(".kind-detail button")?.click(),
  });
  if (!answer)
    return fault ? (
      <section class="card">
        <LoadFault words={faultWords(fault)} onRetry={retry} />
      </section>
    ) : (
      <h1 class="hidden-text">Failures</h1>
    );
  if (isPage)
    return (
      <>
        <h1 class="hidden-text">Failures</h1>
        <KindDetail kind={chosen} />
      </>
    );
  const fresh = failed.filter(({ isNew }) => isNew).length;
  const spanWords = span === "1h" ? "the last hour" : "24 h";
  return (
    <>
      <div class="title">
        <h1>
          {failed.length === 0
            ? `Nothing failed in ${spanWords}`
            : `${counted(answer.tasks, "task")} failed in ${spanWords}, for ${counted(answer.kinds, "reason")}`}
        </h1>
        {fresh > 0 && (
          <span class="muted">
            {failed.length === 1
              ? "it is new"
              : fresh === failed.length
                ? "all of them are new"
                : `${count(fresh)} of them ${fresh === 1 ? "is" : "are"} new`}
          </span>
        )}
        <span class="right">
          <Segments
            label="Span"
            value={span}
            choices={spans}
            onChoose={(value) => changeQuery("failures", { span: value === "1h" ? undefined : value })}
          />
          <Segments
            label="Order"
            value={order}
            choices={orders}
            onChoose={(value) => changeQuery("failures", { by: value === "error" ? undefined : value })}
          />
        </span>
      </div>
      <div class="split">
        <div class="stack">
          {failed.length > 0 && (
            <section class="card" aria-label="Kinds of failures">
              <Heads span={span} />
              {failed.map((kind) => (
                <KindRow
                  key={kind.id}
                  kind={kind}
                  isChosen={!isPhone && kind.id === chosen?.id}
                  onOpen={() => open(kind)}
                />
              ))}
              {answer.rest > 0 && (
                <p class="empty">{counted(answer.rest, "more failed task")} of kinds that are rarer.</p>
              )}
            </section>
          )}
          {expired.length > 0 && (
            <>
              <h2 class="row wrap">
                Expired <span class="aside">no worker failed: these tasks were not started in time</span>
              </h2>
              <section class="card" aria-label="Expired">
                {expired.map((kind) => (
                  <KindRow
                    key={kind.id}
                    kind={kind}
                    isChosen={!isPhone && kind.id === chosen?.id}
                    onOpen={() => open(kind)}
                  />
                ))}
              </section>
            </>
          )}
          <p class="aside">
            Errors are one kind when their code and queue are the same and their words differ only in numbers,
            quoted text, paths and ids. Counts start again when the dispatcher restarts. Retention may have
            deleted the oldest tasks of a kind.
          </p>
        </div>
        {chosen && !isPhone && <KindDetail kind={chosen} />}
      </div>
    </>
  );
}

function sorted(items: readonly FailureKind[], order: Order): FailureKind[] {
  const key = (kind: FailureKind) =>
    order === "queue" ? kind.queue : order === "worker" ? (kind.worker?.id ?? "\uffff") : "";
  return [...items].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : b.count - a.count));
}

function Heads({ span }: { span: string }) {
  return (
    <div class="kind-heads" aria-hidden="true">
      <span>tasks</span>
      <span>error</span>
      <span>last {span === "1h" ? "hour" : "24 h"}</span>
      <span>last seen</span>
    </div>
  );
}

function KindRow({ kind, isChosen, onOpen }: { kind: FailureKind; isChosen: boolean; onOpen: () => void }) {
  const now = yard.now();
  return (
    <button type="button" class="kind" aria-current={isChosen ? "true" : undefined} onClick={onOpen}>
      <span class="many">{count(kind.count)}</span>
      <span>
        <span class="with-sign">
          <Sign name={kind.isExpired ? "expired" : "failed"} label={kind.isExpired ? "expired" : "failed"} />
          <span class="kind-words">
            <b>{shownLine(kind.code)}</b> {shownLine(kind.words)} {kind.isNew && <span class="new">new</span>}
          </span>
        </span>
        <span class="row muted kind-aside">
          <QueueName name={kind.queue} />
          {kind.worker && kind.worker.count * 2 >= kind.count && (
            <span class="truncate">
              · {ranOn(kind.worker.count, kind.count)} {shownLine(kind.worker.id)}
            </span>
          )}
        </span>
      </span>
      <Bars
        values={kind.trend}
        colour={kind.isExpired ? "var(--expire)" : "var(--fail)"}
        width={150}
        height={28}
        isSpread
      />
      <span class="when">
        {clockMinutes(Date.parse(kind.lastAt))}
        <br />
        {sinceWords(Date.parse(kind.firstAt), now)}
      </span>
    </button>
  );
}

function ranOn(some: number, all: number): string {
  if (some < all) return `${count(some)} of ${count(all)} on`;
  return all === 1 ? "on" : all === 2 ? "both on" : `all ${count(all)} on`;
}

/** Share of a kind's tasks on one worker from which the worker is blamed, as in the problems. */
const blamedShare = 0.8;

/** True if the worker stands out: others do such tasks too, and they do not fail there. */
function isBlamed({ worker, count: many, shares }: FailureKind): boolean {
  if (worker === null) return false;
  return (
    worker.count >= many * blamedShare ||
    shares.some(({ of, value }) => of === "worker" && value === worker.id)
  );
}

function KindDetail({ kind }: { kind: FailureKind }) {
  const { worker } = kind;
  const tasks = kindQuery(kind);
  const name = worker ? labelOf(worker.id, worker.id.split("/")[0] ?? "") : "";
  const isThere =
    worker !== null && yard.workers.has(worker.id) && yard.workers.get(worker.id)?.state !== "lost";
  return (
    <section class="card kind-detail" aria-label={`${kind.code} in ${kind.queue}`}>
      <div class="row">
        <Sign name={kind.isExpired ? "expired" : "failed"} size={15} />
        <h2 class="grow">{shownLine(kind.code)}</h2>
        <QueueName name={kind.queue} href={routeText("queues", kind.queue)} />
      </div>
      <p class="sentence">
        {counted(kind.count, "task")} {kind.isExpired ? "expired" : "failed with the same error"}{" "}
        {sinceWords(Date.parse(kind.firstAt), yard.now())}.
        {worker && isBlamed(kind) && (
          <b>
            {" "}
            {worker.count === kind.count
              ? kind.count === 1
                ? "It"
                : "All"
              : `${count(worker.count)} of them`}{" "}
            ran on {shownLine(name)}.
          </b>
        )}
      </p>
      <div class="row wrap">
        {worker && isThere && isBlamed(kind) && mayDo("operate", kind.queue) && (
          <ArmedButton
            class="primary"
            label={`Drain ${shownLine(shortened(name, 24))}`}
            armed={`Drain it: ${yard.runningOf(worker.id)} running`}
            onConfirm={() => void drainWorker(worker.id)}
          />
        )}
        {mayDo("operate") && (
          <a class="button" href={routeText("tasks", "", { q: tasks, do: "retry" })}>
            Retry them…
          </a>
        )}
        <a class="button" href={tasksLink(tasks)}>
          See the {counted(kind.count, "task")}
        </a>
      </div>
      {kind.shares.length > 0 && (
        <div>
          <h3>What they share, and the others do not</h3>
          {kind.shares.map((share) => (
            <ShareRow key={share.of} share={share} />
          ))}
          <p class="aside">Compared with {count(kind.doneSample)} done tasks of the queue.</p>
        </div>
      )}
      <div class="stack">
        <h3 class="row">
          The last one said{" "}
          <a class="aside" href={routeText("task", kind.task)}>
            task {kind.task}, {duration(yard.now() - Date.parse(kind.lastAt))} ago
          </a>
          <span class="desk right aside">
            <kbd>j</kbd> <kbd>k</kbd> next, before
          </span>
        </h3>
        <pre class="code mono">{shownBlock(kind.message || kind.words)}</pre>
      </div>
    </section>
  );
}

function ShareRow({ share }: { share: FailureKind["shares"][number] }) {
  const value =
    share.of === "attempt" && /^\d+$/.test(share.value) ? `the ${ordinal(Number(share.value))}` : share.value;
  const part = share.count / Math.max(1, share.total);
  return (
    <div class="share">
      <span class="muted">{share.of === "contentType" ? "media type" : share.of}</span>
      <b class="truncate">{shownLine(value)}</b>
      <span />
      <div class="bars">
        <span class="bar">
          <span style={{ width: `${part * 100}%`, background: "var(--fail)" }} />
        </span>
        <span>
          {count(share.count)} of {count(share.total)} of these
        </span>
        <span class="bar">
          <span style={{ width: `${share.doneShare * 100}%`, background: "var(--muted)" }} />
        </span>
        <span class="muted">{Math.round(share.doneShare * 100)}% of the done</span>
      </div>
    </div>
  );
}
