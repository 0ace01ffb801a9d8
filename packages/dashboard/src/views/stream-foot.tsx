// Below the stream: what the shapes mean, and how many attempts are drawn of how many.

import { yard } from "../live/yard.js";
import { count } from "../model/numbers.js";

export function StreamFoot({ from, to, hasBeats }: { from: number; to: number; hasBeats: boolean }) {
  const { began, shown } = yard.busy.counts(from, to);
  const words =
    began > 0 && shown < began * 0.9
      ? `${count(shown)} of ${count(began)} attempts are drawn; bands and shares count all of them`
      : `${count(began)} attempts began in this window; those narrower than a pixel are merged, nothing is left out`;
  return (
    <div class="stream-foot">
      <Item name="done">
        <rect width="26" height="10" fill="var(--legend)" />
      </Item>
      <Item name="failed">
        <rect width="26" height="10" fill="var(--legend)" />
        <rect y="7" width="26" height="3" fill="var(--fail)" />
        <path d="M21 0h5v5z" fill="var(--fail)" />
      </Item>
      <Item name="attempt lost">
        <path d="M0 10 10 0M6 10 16 0M12 10 20 2M0 4l4-4" stroke="var(--legend)" stroke-width="2" />
        <path d="m19 2 6 6m0-6-6 6" stroke="var(--fail)" stroke-width="1.6" />
      </Item>
      <Item name="moved to another worker">
        <path d="M0 1 20 7" stroke="var(--text)" stroke-width="1.4" />
        <circle cx="22.5" cy="7.5" r="2" fill="none" stroke="var(--text)" stroke-width="1.4" />
      </Item>
      <Item name="idle">
        <path d="M0 5h26" stroke="var(--edge)" />
      </Item>
      <Item name="draining">
        <path d="M0 5h26" stroke="var(--edge)" stroke-dasharray="3 3" />
      </Item>
      {hasBeats && (
        <Item name="its worker was heard, to the second">
          <path d="M3 10v-4M12 10v-4M21 10v-4" stroke="var(--text)" />
        </Item>
      )}
      <span class="right">{words}</span>
    </div>
  );
}

function Item({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <span class="row">
      <svg width="26" height="10" aria-hidden="true">
        {children}
      </svg>
      {name}
    </span>
  );
}
