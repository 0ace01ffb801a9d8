// The one polite live region: problems that come and go, at most one note in 10 s.

import { useEffect, useRef, useState } from "preact/hooks";
import { onTick } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { shownLine } from "../model/shown-text.js";

const everyMs = 10_000;

export function Announcer() {
  const [words, say] = useState("");
  const known = useRef<ReadonlyMap<string, string> | undefined>(undefined);
  const saidAt = useRef(0);
  useEffect(
    () =>
      onTick(() => {
        if (Date.now() - saidAt.current < everyMs) return;
        const now = new Map([...yard.alerts].map(([id, alert]) => [id, alert.words]));
        const before = known.current;
        known.current = now;
        if (before === undefined) return;
        const come = [...now].find(([id]) => !before.has(id));
        const gone = [...before].find(([id]) => !now.has(id));
        if (!come && !gone) return;
        saidAt.current = Date.now();
        say(come ? shownLine(come[1]) : `No longer a problem: ${shownLine(gone?.[1] ?? "")}`);
      }),
    [],
  );
  return (
    <div class="hidden-text" aria-live="polite">
      {words}
    </div>
  );
}
