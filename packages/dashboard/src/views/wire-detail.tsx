// One message: its fields beside its bytes, each lighting the other, and what else passed about its
// task.

import { useState } from "preact/hooks";
import { changeQuery } from "../live/navigation.js";
import type { WireRow } from "../live/wire-log.js";
import { hexRows } from "../model/body-forms.js";
import { bytes, counted } from "../model/numbers.js";
import { routeText } from "../model/route.js";
import { shortened, shownBlock, shownLine } from "../model/shown-text.js";
import { clockMs, duration } from "../model/time.js";
import { decodeBase64, fieldBytes, messageName } from "../model/wire-rows.js";
import { copy } from "../parts/controls.js";
import { CopyIcon } from "../parts/icons.js";

export function WireDetail({ row, rows }: { row: WireRow; rows: readonly WireRow[] }) {
  const data = row.data === null ? undefined : decodeBase64(row.data);
  const isWhole = data !== undefined && data.length >= row.bytes;
  const hex = data ? [...data].map((byte) => byte.toString(16).padStart(2, "0")).join(" ") : "";
  return (
    <section class="wire-detail" aria-label="The chosen message">
      <div class="row">
        <h2 class="grow">{shownLine(shortened(messageName(row), 80))}</h2>
        <span class="muted">
          {bytes(row.bytes)}, {clockMs(row.atMs)}
        </span>
      </div>
      <p>
        {row.direction === "in" ? "From" : "To"} <b>{shownLine(`${row.door}/${row.peer}`)}</b>
        {row.address && row.address !== row.peer ? ` at ${shownLine(row.address)}` : ""}
        {row.side ? `, a ${row.side}` : ""}.
        {row.fault !== null && <span class="fail"> Refused: {shownLine(row.fault)}.</span>}
      </p>
      <div class="row wrap">
        {row.task !== null && (
          <a class="button" href={routeText("task", row.task)}>
            Open task {row.task}
          </a>
        )}
        <button type="button" class="button" onClick={() => changeQuery("wire", { peer: row.peer })}>
          Follow {shownLine(shortened(row.peer, 24))} <kbd>f</kbd>
        </button>
        {data && (
          <button type="button" class="button" onClick={() => void copy(hex, "the bytes as hex")}>
            <CopyIcon /> Copy bytes
          </button>
        )}
      </div>
      {data && row.fields && row.fields.length > 0 && <Fields row={row} data={data} />}
      {data && (
        <>
          <h3>Bytes</h3>
          <pre class="code mono wire-hex">
            {hexRows(data, { rowsMax: 128, perRow: 8 })
              .map(({ at, hex: part, text }) => `${at.slice(4)}  ${part.padEnd(23)}  ${text}`)
              .join("\n")}
            {isWhole ? "" : `\n… the first ${data.length} of ${row.bytes}`}
          </pre>
        </>
      )}
      {!data && <p class="muted">Bytes are not shown at this door; what the message says is below.</p>}
      <Content content={row.content} />
      <TaskTrace row={row} rows={rows} />
    </section>
  );
}

function Content({ content }: { content: unknown }) {
  if (content === null || content === undefined) return null;
  const text = typeof content === "string" ? content : JSON.stringify(content, null, 2);
  return (
    <>
      <h3>Decoded</h3>
      <pre class="code mono wire-hex">{shownBlock(text)}</pre>
    </>
  );
}

function Fields({ row, data }: { row: WireRow; data: Uint8Array }) {
  const [lit, light] = useState(-1);
  return (
    <table class="table wire-fields">
      <thead>
        <tr>
          <th>field</th>
          <th>value</th>
          <th>bytes</th>
        </tr>
      </thead>
      <tbody>
        {fieldBytes(row.fields ?? [], data).map(({ field, hex, text }, at) => (
          <tr
            key={at}
            class={lit === at ? "chosen" : ""}
            onMouseEnter={() => light(at)}
            onMouseLeave={() => light(-1)}
          >
            <td class="muted">{shownLine(field.name)}</td>
            <td class="mono">{field.value === null ? "" : shownLine(shortened(String(field.value), 80))}</td>
            <td class="mono">
              {hex} <span class="faint">{text}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The first and last message about its task that this page has seen. */
function TaskTrace({ row, rows }: { row: WireRow; rows: readonly WireRow[] }) {
  if (row.task === null) return null;
  const own = rows.filter(({ task }) => task === row.task);
  const [first, last] = [own[0], own.at(-1)];
  if (!first || !last || own.length < 2) return null;
  return (
    <>
      <h3>Its task, as seen here: {duration(last.atMs - first.atMs)}</h3>
      <p class="muted">
        {counted(own.length, "message")}, from {shownLine(first.type)} ({first.door}) to{" "}
        {shownLine(last.type)} ({last.door}); they are lit in the list.
      </p>
    </>
  );
}
