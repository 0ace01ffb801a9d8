// A value as a tree. Deep or long branches start closed, and a click opens them. A decoded
// MessagePack map is a Map, any other object comes from JSON.

import { useState } from "preact/hooks";
import { counted } from "../model/numbers.js";
import { shortened, shownLine } from "../model/shown-text.js";

const openDepth = 3;
const openItems = 12;
const shownItems = 200;

export function JsonTree({ value }: { value: unknown }) {
  return (
    <div class="tree mono">
      <Node value={value} depth={0} />
    </div>
  );
}

function entriesOf(value: object): [string, unknown][] {
  if (value instanceof Map) return [...value];
  return Object.entries(value);
}

function Node({ value, depth }: { value: unknown; depth: number }) {
  if (typeof value !== "object" || value === null) return <Leaf value={value} />;
  return <Branch value={value} depth={depth} />;
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string") return <span class="tree-text">"{shownLine(shortened(value, 2_000))}"</span>;
  return <span class="tree-number">{String(value)}</span>;
}

function Branch({ value, depth }: { value: object; depth: number }) {
  const entries = entriesOf(value);
  const isList = Array.isArray(value);
  const [isOpen, open] = useState(depth < openDepth && (depth === 0 || entries.length <= openItems));
  const [start, end] = isList ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return <span>{start + end}</span>;
  if (
    isList &&
    entries.length <= 6 &&
    entries.every(([, item]) => typeof item !== "object" || item === null)
  ) {
    return (
      <span>
        [
        {entries.map(([key, item], at) => (
          <span key={key}>
            {at > 0 && ", "}
            <Leaf value={item} />
          </span>
        ))}
        ]
      </span>
    );
  }
  const noun = isList ? "item" : "field";
  return (
    <span>
      <button type="button" class="tree-fold" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        {isOpen ? start : `▸ ${counted(entries.length, noun)}`}
      </button>
      {isOpen && (
        <>
          <ul>
            {entries.slice(0, shownItems).map(([key, item]) => (
              <li key={key}>
                {!isList && <span class="tree-key">"{shownLine(shortened(key, 200))}"</span>}
                {!isList && ": "}
                <Node value={item} depth={depth + 1} />
              </li>
            ))}
            {entries.length > shownItems && <li class="faint">… {entries.length - shownItems} more</li>}
          </ul>
          {end}
        </>
      )}
    </span>
  );
}
