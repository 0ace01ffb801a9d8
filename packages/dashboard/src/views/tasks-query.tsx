// The query bar: chips for what was understood, a field for the rest. An invalid chip says what was
// expected.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { shownLine } from "../model/shown-text.js";
import { parseTaskQuery, type TaskQuery, taskQueryText, withoutChip } from "../model/task-query.js";
import { isTaskState } from "../model/task-states.js";
import { copy } from "../parts/controls.js";
import { SearchIcon } from "../parts/icons.js";
import { Sign } from "../parts/sign.js";

export function QueryBar(props: {
  query: TaskQuery;
  onChange: (query: TaskQuery) => void;
  aside: ComponentChildren;
}) {
  const { query, onChange } = props;
  const [text, setText] = useState(query.words);
  useEffect(() => setText(query.words), [query.words]);
  const commit = () => {
    const written = parseTaskQuery(text);
    const kept = query.chips.filter(({ key }) => !written.chips.some((chip) => chip.key === key));
    const next = { chips: [...kept, ...written.chips], words: written.words };
    if (taskQueryText(next) !== taskQueryText(query)) onChange(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = query.chips.at(-1);
    if (event.key === "Enter") commit();
    else if (event.key === " " && /^\w+:\S+$/.test(text)) {
      event.preventDefault();
      commit();
    } else if (event.key === "Backspace" && text === "" && last) onChange(withoutChip(query, last.key));
    else if (event.key === "Escape") (event.currentTarget as HTMLInputElement).blur();
  };
  const faults = query.chips.filter(({ fault }) => fault !== undefined);
  return (
    <div>
      <div class="query" role="search">
        <SearchIcon />
        {query.chips.map(({ key, value, fault }) => (
          <span key={key} class={`chip ${fault === undefined ? "" : "bad"}`}>
            <span class="key">{key}</span>
            {key === "state" && isTaskState(value) && <Sign name={value} />}
            <b>{shownLine(value)}</b>
            <button
              type="button"
              aria-label={`Remove ${key}:${shownLine(value)}`}
              onClick={() => onChange(withoutChip(query, key))}
            >
              ×
            </button>
          </span>
        ))}
        <input
          type="text"
          aria-label="Filter tasks"
          placeholder="queue: state: door: worker: key: since: until: or words of an error"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onBlur={commit}
        />
        {props.aside}
        <button
          type="button"
          class="button"
          onClick={() => void copy(location.href, "the link to this search")}
        >
          Copy link
        </button>
      </div>
      {faults.map(({ key, value, fault }) => (
        <p key={key} class="fail query-fault" role="alert">
          {key}:{shownLine(value)}: {fault}
        </p>
      ))}
    </div>
  );
}
