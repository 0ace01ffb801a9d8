// Names on the left of the stream's rows, and how busy each was on the right.

import { yard } from "../live/yard.js";
import { count, percent } from "../model/numbers.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import type { StreamLayout, StreamRow } from "../model/stream-layout.js";
import { countWindow } from "../model/window-counts.js";

export function StreamLabels(props: {
  layout: StreamLayout;
  spanMs: number;
  right: number;
  onOpenGroup: (name: string) => void;
}) {
  const { layout, spanMs, right } = props;
  const worked = yard.busy.workedMs(right - spanMs, right);
  // Counts come once a second: beyond the last of them nothing is known yet.
  const { frames } = yard.busy;
  const until = Math.min(right, frames.at(-1)?.to ?? right);
  const from = Math.max(right - spanMs, frames[0]?.from ?? until);
  // The dispatcher counts no work while it stalls.
  const stalledMs = yard.busy.stalls.reduce(
    (sum, { start, ms }) => sum + Math.max(0, Math.min(until, start + ms) - Math.max(from, start)),
    0,
  );
  const knownMs = until - from - stalledMs;
  const { failed: failures } = countWindow(yard.ring, props.right - props.spanMs, props.right);
  return (
    <>
      <div class="stream-names">
        {layout.groups.map((group) => (
          <div key={group.name}>
            <a
              class="stream-group"
              style={{ top: group.y }}
              href={routeText("workers", "", { q: `${group.name}/` })}
            >
              {shownLine(group.name)}
            </a>
            <span class="stream-aside" style={{ top: group.y }}>
              {group.aside}
            </span>
            {group.rows.map((row) => (
              <RowName key={row.workers[0]?.id} row={row} isFolded={group.isFolded} failures={failures} />
            ))}
            {group.isFolded && (
              <button
                type="button"
                class="link-button stream-open"
                style={{ top: (group.rows[0]?.y ?? 0) + 36 }}
                onClick={() => props.onOpenGroup(group.name)}
              >
                show {group.workers} rows
              </button>
            )}
          </div>
        ))}
      </div>
      <div class="stream-busy">
        {layout.groups.map((group) =>
          group.rows.map((row) => (
            <RowBusy key={row.workers[0]?.id} row={row} worked={worked} knownMs={knownMs} />
          )),
        )}
      </div>
    </>
  );
}

function RowName({
  row,
  isFolded,
  failures,
}: {
  row: StreamRow;
  isFolded: boolean;
  failures: ReadonlyMap<number, number>;
}) {
  const [first] = row.workers;
  if (!first) return null;
  if (isFolded) {
    return (
      <>
        <span class="stream-name faint" style={{ top: row.y }}>
          {count(row.slots)} slots
        </span>
        <span class="stream-name faint" style={{ top: row.y + row.height - 18 }}>
          0
        </span>
      </>
    );
  }
  const failed = failures.get(yard.ring.workers.find(first.id) ?? -1) ?? 0;
  const { state } = first.worker;
  const note =
    row.workers.length > 1
      ? ""
      : state === "draining"
        ? "draining"
        : state === "lost"
          ? "lost"
          : failed > 0
            ? `${count(failed)} failed`
            : "";
  return (
    <>
      {note !== "" && (
        <span class="stream-note warn" style={{ top: row.y + (row.height - 17) / 2 }}>
          {note}
        </span>
      )}
      <a
        class={`stream-name ${note === "" ? "" : "is-noted"}`}
        style={{ top: row.y + (row.height - 17) / 2 }}
        href={routeText("workers", "", { q: first.id })}
        title={shownLine(row.label)}
      >
        {shownLine(row.label)}
      </a>
    </>
  );
}

function RowBusy({
  row,
  worked,
  knownMs,
}: {
  row: StreamRow;
  worked: ReadonlyMap<number, number>;
  knownMs: number;
}) {
  if (knownMs <= 0) return null;
  let share = 0;
  const slots = row.slots / Math.max(1, row.workers.length);
  for (const { id, worker } of row.workers) {
    const ms = worked.get(yard.ring.workers.find(id) ?? -1) ?? 0;
    // A pulling worker has no slots: it is busy while it has anything.
    share += Math.min(1, ms / knownMs / (worker.pulls ? 1 : slots));
  }
  share /= Math.max(1, row.workers.length);
  return (
    <div class="stream-share" style={{ top: row.y + (row.height - 17) / 2 }}>
      <span class="stream-meter">
        <span style={{ width: `${Math.min(100, share * 100)}%` }} />
      </span>
      {percent(share)}
    </div>
  );
}
