// Find: digits open that task; a name finds queues and workers; verbs act; the last line searches
// all tasks.

import { useState } from "preact/hooks";
import { go } from "../live/navigation.js";
import { mayDo, mayDoInAll } from "../live/rights.js";
import { session } from "../live/session.js";
import { yard } from "../live/yard.js";
import { type Finding, findings } from "../model/findings.js";
import { shownLine } from "../model/shown-text.js";
import { act } from "./act-on-finding.js";
import { Dialog } from "./dialog.js";
import { SearchIcon } from "./icons.js";
import { Sign } from "./sign.js";

export function Palette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const [text, setText] = useState("");
  const [chosen, choose] = useState(0);
  const found = findings(
    text,
    [...yard.queues.values()],
    [...yard.workers.values()],
    (worker) => yard.runningOf(worker),
    session.hasToken,
  ).filter(({ does, name }) => isForReader(does, name));
  const open = (finding: Finding | undefined) => {
    if (!finding) return;
    onClose();
    if (finding.key === "?") onKeys();
    else act(finding, go);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") choose(Math.min(found.length - 1, chosen + 1));
    else if (event.key === "ArrowUp") choose(Math.max(0, chosen - 1));
    else if (event.key === "Enter") open(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label="Find" class="palette" onClose={onClose}>
      <div class="ask">
        <SearchIcon />
        <input
          type="text"
          role="combobox"
          aria-label="Find a task, queue or worker"
          aria-expanded="true"
          aria-controls="findings"
          aria-activedescendant={found.length > 0 ? `finding-${chosen}` : undefined}
          placeholder="Find a task, queue, worker"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            choose(0);
          }}
          onKeyDown={onKeyDown}
        />
        <kbd>esc</kbd>
      </div>
      <ul id="findings" role="listbox" aria-label="Found">
        {found.map((finding, at) => (
          <li
            key={finding.id}
            id={`finding-${at}`}
            role="option"
            aria-selected={at === chosen}
            tabIndex={-1}
            onClick={() => open(finding)}
            onMouseMove={() => choose(at)}
          >
            {finding.sign === "search" ? <SearchIcon /> : <Sign name={finding.sign} />}
            <span>{shownLine(finding.title)}</span>
            <span class="faint truncate">{shownLine(finding.aside)}</span>
            {at === chosen && <kbd>enter</kbd>}
          </li>
        ))}
      </ul>
      <div class="foot aside">
        <span>A number opens that task</span>
        <span>
          <b>g t</b> tasks
        </span>
        <span>
          <b>g w</b> workers
        </span>
        <button type="button" class="link-button" onClick={onKeys}>
          <b>?</b> all keys
        </button>
      </div>
    </Dialog>
  );
}

/** False for an order that the reader may not give. */
function isForReader(does: Finding["does"], name: string): boolean {
  if (does === "pause" || does === "resume") return mayDo("operate", name);
  return does === "drain" ? mayDoInAll("operate", yard.workers.get(name)?.queues ?? []) : true;
}
