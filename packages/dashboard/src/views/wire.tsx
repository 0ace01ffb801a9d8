// What passes on the doors: the list is the ladder, clients left, workers right. A row shows its
// fields beside its bytes.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Traffic } from "../live/api-shapes.js";
import { useKeys } from "../live/keys.js";
import { changeQuery, useRoute } from "../live/navigation.js";
import { getJson } from "../live/session.js";
import { usePolled, useRefresh } from "../live/ticker.js";
import { WireLog, type WireRow } from "../live/wire-log.js";
import { yard } from "../live/yard.js";
import { bytes, count, rate } from "../model/numbers.js";
import { routeText } from "../model/route.js";
import { shortened, shownLine } from "../model/shown-text.js";
import { clock, clockMs } from "../model/time.js";
import { isBeat, messageName, sideOf, trafficRates } from "../model/wire-rows.js";
import { Segments } from "../parts/controls.js";
import { SearchIcon } from "../parts/icons.js";
import { Sign } from "../parts/sign.js";
import { usePhone } from "../parts/theme.js";
import { WireDetail } from "./wire-detail.js";

const rowsShown = 40;
const filters = ["door", "peer", "type", "task"] as const;

export function WireView() {
  useRefresh(4);
  const { query } = useRoute();
  const filter = Object.fromEntries(filters.map((key) => [key, query.get(key)]));
  const key = JSON.stringify(filter);
  const log = useMemo(() => new WireLog(filter), [key]);
  const [paused, pause] = useState<readonly WireRow[] | undefined>();
  const [chosen, choose] = useState<WireRow | undefined>();
  const [lit, light] = useState<string | undefined>();
  const isPhone = usePhone();
  const areBeatsShown = query.get("beats") === "all";
  useEffect(() => {
    // Rows held under another filter do not match this one.
    pause(undefined);
    log.open();
    return () => log.close();
  }, [log]);
  const visible = (paused ?? log.rows.slice(-400))
    .filter((row) => areBeatsShown || !isBeat(row))
    .slice(-rowsShown);
  const toggle = () => pause(paused ? undefined : log.rows.slice(-400));
  const move = (step: number) => {
    if (!paused) pause(log.rows.slice(-400));
    const at = visible.findIndex(({ number }) => number === chosen?.number);
    const next = visible[at < 0 ? visible.length - 1 : Math.max(0, Math.min(visible.length - 1, at + step))];
    choose(next);
    light(next?.task ?? undefined);
  };
  useKeys({
    space: toggle,
    "0": () => pause(undefined),
    b: () => changeQuery("wire", { beats: areBeatsShown ? undefined : "all" }),
    f: () => changeQuery("wire", { peer: query.get("peer") === undefined ? chosen?.peer : undefined }),
    j: () => move(1),
    k: () => move(-1),
    down: () => move(1),
    up: () => move(-1),
    esc: () => {
      choose(undefined);
      light(undefined);
    },
  });
  const total = log.shown + log.skipped;
  // On a phone the list and one message are two pages.
  if (isPhone && chosen)
    return (
      <div class="wire-page">
        <h1 class="hidden-text">Wire</h1>
        <button type="button" class="button" onClick={() => choose(undefined)}>
          Back to the messages
        </button>
        <WireDetail row={chosen} rows={paused ?? log.rows} />
      </div>
    );
  return (
    <div class="wire-page">
      <h1 class="hidden-text">Wire</h1>
      <div class="stream-bar">
        <WireQuery filter={filter} />
        <button type="button" class="button" onClick={toggle}>
          {paused ? "Go on" : "Pause"} <kbd>space</kbd>
        </button>
        <Segments
          label="Beats"
          value={areBeatsShown ? "all" : "folded"}
          choices={[
            { value: "folded", label: "Beats folded" },
            { value: "all", label: "All" },
          ]}
          onChoose={(value) => changeQuery("wire", { beats: value === "all" ? "all" : undefined })}
        />
        <span class="wire-rate muted">
          {log.skipped > 0 && log.shown > 0 ? (
            <>
              <b class="warn">1 in {count(Math.max(2, Math.round(total / log.shown)))} shown</b>: a filter
              shows all of its own
            </>
          ) : (
            `${count(log.shown)} messages since ${clock(log.since + yard.skewMs)}`
          )}
          {log.fault !== "" && <span class="fail"> {shownLine(log.fault)}</span>}
        </span>
      </div>
      <div class="wire-columns">
        <TrafficPanel />
        <WireList
          rows={visible}
          chosen={chosen}
          lit={lit}
          since={log.since}
          onChoose={(row) => {
            if (!paused) pause(log.rows.slice(-400));
            choose(row);
            light(row.task ?? undefined);
          }}
        />
        {chosen ? (
          <WireDetail row={chosen} rows={paused ?? log.rows} />
        ) : (
          <p class="wire-detail empty">Choose a message to see its fields beside its bytes.</p>
        )}
      </div>
      <p class="aside wire-foot">
        Messages are decoded only while a view like this is open: there are none from before{" "}
        {clock(log.since + yard.skewMs)}, when this view was opened. The last 20,000 are kept here.
      </p>
    </div>
  );
}

function WireQuery({ filter }: { filter: Readonly<Record<string, string | undefined>> }) {
  const [text, setText] = useState("");
  const commit = () => {
    const match = /^(door|peer|type|task):(\S+)$/.exec(text.trim());
    if (match) changeQuery("wire", { [match[1] as string]: match[2] });
    else if (/^\d+$/.test(text.trim())) changeQuery("wire", { task: text.trim() });
    else if (text.trim() !== "") changeQuery("wire", { peer: text.trim() });
    setText("");
  };
  return (
    <div class="query wire-query" role="search">
      <SearchIcon />
      {Object.entries(filter).map(([key, value]) =>
        value === undefined ? null : (
          <span key={key} class="chip">
            <span class="key">{key}</span> <b>{shownLine(value)}</b>
            <button
              type="button"
              aria-label={`Remove ${key}:${shownLine(value)}`}
              onClick={() => changeQuery("wire", { [key]: undefined })}
            >
              ×
            </button>
          </span>
        ),
      )}
      <input
        type="text"
        aria-label="Filter messages"
        placeholder="door: peer: type: task:"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && commit()}
      />
    </div>
  );
}

function TrafficPanel() {
  const { query } = useRoute();
  const before = useRef<Traffic | undefined>(undefined);
  const last = useRef<Traffic | undefined>(undefined);
  const { answer } = usePolled("traffic", 2_000, async () => {
    const traffic = await getJson<Traffic>("v1/traffic");
    before.current = last.current;
    last.current = traffic;
    return traffic;
  });
  const isKnown = before.current !== undefined;
  const rates = trafficRates(before.current, answer);
  const byDoor = new Map(Object.keys(yard.doors).map((door) => [door, 0]));
  for (const { door, perSecond } of rates) byDoor.set(door, (byDoor.get(door) ?? 0) + perSecond);
  const doors = [...byDoor].sort((a, b) => b[1] - a[1]);
  const all = doors.reduce((sum, [, perSecond]) => sum + perSecond, 0);
  const chosen = query.get("door");
  const types = rates.filter(({ door }) => door === (chosen ?? doors[0]?.[0])).slice(0, 10);
  const faults = answer?.faults.filter(({ lastHour }) => lastHour > 0) ?? [];
  return (
    <nav class="wire-traffic" aria-label="Traffic">
      <p class="row aside">
        <span class="grow">door</span> messages/s
      </p>
      <DoorLine
        name="all doors"
        share={1}
        perSecond={isKnown ? all : undefined}
        isChosen={chosen === undefined}
        onChoose={() => changeQuery("wire", { door: undefined })}
      />
      {doors.map(([door, perSecond]) => (
        <DoorLine
          key={door}
          name={door}
          share={perSecond / Math.max(1e-9, all)}
          perSecond={isKnown ? perSecond : undefined}
          isChosen={chosen === door}
          onChoose={() => changeQuery("wire", { door })}
        />
      ))}
      {types.length > 0 && <p class="aside wire-part">type, of {shownLine(chosen ?? doors[0]?.[0] ?? "")}</p>}
      {types.map(({ type, perSecond }) => (
        <button
          type="button"
          key={type}
          class="wire-line"
          onClick={() => changeQuery("wire", { type, door: chosen ?? doors[0]?.[0] })}
        >
          <span class="mono grow truncate">{shownLine(shortened(type, 28))}</span> {rate(perSecond)}
        </button>
      ))}
      {faults.length > 0 && <p class="aside wire-part">what peers did wrong, 1 h</p>}
      {faults.slice(0, 10).map(({ door, kind, lastHour }) => (
        <button
          type="button"
          key={`${door} ${kind}`}
          class="wire-line"
          onClick={() => changeQuery("wire", { door })}
        >
          <Sign name="failed" />
          <span class="grow truncate">{shownLine(kind)}</span> <b class="fail">{count(lastHour)}</b>
        </button>
      ))}
    </nav>
  );
}

function DoorLine(props: {
  name: string;
  share: number;
  /** Unknown until the dispatcher has been asked twice. */
  perSecond: number | undefined;
  isChosen: boolean;
  onChoose: () => void;
}) {
  return (
    <button type="button" class="wire-line" aria-pressed={props.isChosen} onClick={props.onChoose}>
      <span class={`grow ${props.isChosen ? "strong" : ""}`}>{props.name}</span>
      <span class="wire-meter">
        <span style={{ width: `${props.share * 100}%` }} />
      </span>
      <span class="wire-number">{props.perSecond === undefined ? "—" : rate(props.perSecond)}</span>
    </button>
  );
}

function WireList(props: {
  rows: readonly WireRow[];
  chosen: WireRow | undefined;
  lit: string | undefined;
  since: number;
  onChoose: (row: WireRow) => void;
}) {
  const { rows, chosen, lit } = props;
  return (
    <section class="wire-list" aria-label="Messages">
      <table class="wire-table">
        <thead>
          <tr>
            <th>{rows.length > 0 ? clock(rows[0]?.atMs ?? 0).slice(0, 5) : ""}</th>
            <th class="wire-ladder-head">
              <span>clients</span>
              <b>yard</b>
              <span>workers</span>
            </th>
            <th>message</th>
            <th class="desk">peer</th>
            <th class="number">bytes</th>
            <th class="number">task</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={row.number}
              class={`${row.number === chosen?.number ? "chosen" : ""} ${lit !== undefined && row.task === lit ? "lit" : ""}`}
              onClick={() => props.onChoose(row)}
            >
              <td class="mono muted">{clockMs(row.atMs).slice(6)}</td>
              <td class="wire-ladder">
                <Rung row={row} isLit={lit !== undefined && row.task === lit} />
              </td>
              <td class="truncate">
                <button type="button" class="wire-open" onClick={() => props.onChoose(row)}>
                  {row.fault !== null && <Sign name="failed" label="refused" />}
                  <span class={row.fault === null ? "" : "fail"}>
                    {shownLine(shortened(row.fault ?? messageName(row), 60))}
                  </span>{" "}
                  <span class="aside">{shownLine(row.door)}</span>
                </button>
              </td>
              <td class="desk truncate muted">{shownLine(shortened(row.peer, 60))}</td>
              <td class="number">{bytes(row.bytes)}</td>
              <td class="number mono">
                {row.task !== null && <a href={routeText("task", row.task)}>{row.task}</a>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="empty">Nothing has passed since {clock(props.since + yard.skewMs)}.</p>}
    </section>
  );
}

/** One message as an arrow between a peer's lifeline and the dispatcher's. */
function Rung({ row, isLit }: { row: WireRow; isLit: boolean }) {
  const isLeft = sideOf(row) === "left";
  const isIn = row.direction === "in";
  const [peer, yardX] = isLeft ? [24, 70] : [124, 78];
  const [from, to] = isIn ? [peer, yardX] : [yardX, peer];
  const way = Math.sign(to - from);
  const colour = row.fault !== null ? "var(--fail)" : isLit ? "var(--accent)" : "var(--muted)";
  const label = `${isIn ? "from" : "to"} a ${isLeft ? "client" : "worker"}`;
  return (
    <svg width="150" height="26" role="img" aria-label={label}>
      <path d="M20 0V26M128 0V26" stroke="var(--line2)" stroke-width="1.4" />
      <path d="M74 0V26" stroke="var(--muted)" stroke-width="3" />
      <path
        d={`M${from} 13H${to - way * 4}`}
        stroke={colour}
        stroke-width={isLit ? 2 : 1.4}
        stroke-dasharray={row.fault !== null ? "4 3" : undefined}
      />
      <path d={`M${to} 13l${-way * 6} -3.4v6.8z`} fill={colour} />
    </svg>
  );
}
