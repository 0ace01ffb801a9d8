// The top bar: mark, eight views, find, and the clock that shows that the page is alive. On a phone
// the views are tabs.

import { useRef, useState } from "preact/hooks";
import { go, useRoute } from "../live/navigation.js";
import { mayDo, useRights } from "../live/rights.js";
import { session } from "../live/session.js";
import { useRefresh } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { routeText, type View } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { clock, duration, fullTime } from "../model/time.js";
import { useDismiss } from "./dismiss.js";
import { BackIcon, Mark, SearchIcon, TabIcon } from "./icons.js";
import { Sign } from "./sign.js";

export const viewNames: readonly { view: View; label: string; key: string }[] = [
  { view: "overview", label: "Overview", key: "o" },
  { view: "stream", label: "Stream", key: "s" },
  { view: "tasks", label: "Tasks", key: "t" },
  { view: "failures", label: "Failures", key: "f" },
  { view: "workers", label: "Workers", key: "w" },
  { view: "queues", label: "Queues", key: "q" },
  { view: "wire", label: "Wire", key: "r" },
  { view: "try", label: "Try it", key: "n" },
];

export function TopBar({ onFind }: { onFind: () => void }) {
  const { view, name } = useRoute();
  useRights();
  const current = view === "task" ? "tasks" : view;
  const label = viewNames.find((one) => one.view === view)?.label ?? "";
  const title = view === "task" ? `Task ${name}` : view === "queues" && name !== "" ? shownLine(name) : label;
  return (
    <header class="top">
      {name !== "" && (
        <button type="button" class="button plain back" aria-label="Back" onClick={() => back(view)}>
          <BackIcon />
        </button>
      )}
      <a class="brand" href="#/">
        <Mark />
        <span class="brand-name">Yardmaster</span>
        <span class="phone-title">{title}</span>
      </a>
      <nav class="nav" aria-label="Views">
        {viewNames
          .filter(({ view: each }) => isForReader(each))
          .map((one) => (
            <a
              key={one.view}
              href={routeText(one.view)}
              aria-current={one.view === current ? "page" : undefined}
            >
              {one.label}
              {one.view === "failures" && <FailureCount />}
            </a>
          ))}
      </nav>
      <button type="button" class="find" onClick={onFind} aria-label="Find a task, queue, worker">
        <SearchIcon />
        <span>Find a task, queue, worker</span>
        <kbd aria-hidden="true">/</kbd>
      </button>
      <Live />
    </header>
  );
}

/** Leads from one item to its list, also if a link led straight to the item. */
function back(view: View): void {
  if (view === "task" && history.length > 1) history.back();
  else go(view === "task" ? "tasks" : view);
}

/** Views that are only for people with a certain right. */
function isForReader(view: View): boolean {
  if (view === "wire") return mayDo("watch");
  return view === "try" ? mayDo("submit") : true;
}

function FailureCount() {
  useRefresh(1);
  const kinds = yard.figures?.failureKinds ?? 0;
  if (kinds === 0) return null;
  return (
    <span class="count">
      {kinds}
      <span class="hidden-text"> kinds in the last hour</span>
    </span>
  );
}

function Live() {
  useRefresh(4);
  if (yard.link === "lost") {
    return (
      <span class="live warn">
        <Sign name="behind" />
        <span class="live-word">Disconnected for</span>{" "}
        <span class="clock warn">{duration(Math.floor((Date.now() - yard.lostAt) / 1000) * 1000)}</span>
      </span>
    );
  }
  const now = yard.now();
  return (
    <span class="live" title={fullTime(now)}>
      <span class={`dot ${yard.link === "live" ? "" : "off"}`} />
      <span class="live-word">{yard.link === "live" ? "Live" : "Connecting"}</span>
      <span class="clock">{clock(now)}</span>
    </span>
  );
}

/** The phone's bottom tabs; the views without a tab are behind More. */
export function Tabs() {
  const { view } = useRoute();
  const [isOpen, open] = useState(false);
  const bar = useRef<HTMLElement>(null);
  useDismiss(bar, isOpen, () => open(false));
  useRights();
  const tabbed: readonly View[] = ["overview", "stream", "tasks", "failures"];
  const current = view === "task" ? "tasks" : view;
  return (
    <nav class="tabs" aria-label="Views" ref={bar}>
      {viewNames
        .filter((one) => tabbed.includes(one.view))
        .map((one) => (
          <a
            key={one.view}
            href={routeText(one.view)}
            aria-current={one.view === current ? "page" : undefined}
            onClick={() => open(false)}
          >
            <TabIcon name={one.view} />
            {one.label}
          </a>
        ))}
      <button
        type="button"
        aria-expanded={isOpen}
        aria-current={tabbed.includes(current) ? undefined : "page"}
        onClick={() => open(!isOpen)}
      >
        <TabIcon name="more" />
        More
      </button>
      {isOpen && (
        <div class="floating more-tabs">
          {viewNames
            .filter((one) => !tabbed.includes(one.view) && isForReader(one.view))
            .map((one) => (
              <a key={one.view} class="button" href={routeText(one.view)} onClick={() => open(false)}>
                {one.label}
              </a>
            ))}
          {session.hasToken && (
            <button type="button" class="button" onClick={() => session.signOut()}>
              Sign out
            </button>
          )}
        </div>
      )}
    </nav>
  );
}
