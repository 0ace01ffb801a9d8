// The whole page: top bar, the view that the address names, and what floats above. It decides
// between signed out, disconnected and live; everything else is the views' own.

import { useEffect, useState } from "preact/hooks";
import { useKeys } from "./live/keys.js";
import { lazyView } from "./live/lazy-view.js";
import { go, useRoute } from "./live/navigation.js";
import { session } from "./live/session.js";
import { useChanges, useRefresh } from "./live/ticker.js";
import { yard } from "./live/yard.js";
import { shownLine } from "./model/shown-text.js";
import { clock, duration } from "./model/time.js";
import { Announcer } from "./parts/announcer.js";
import { KeysHelp } from "./parts/keys-help.js";
import { Palette } from "./parts/palette.js";
import { Sign } from "./parts/sign.js";
import { Toasts } from "./parts/toast-list.js";
import { Tabs, TopBar, viewNames } from "./parts/top-bar.js";
import { OverviewView } from "./views/overview.js";
import { SignedOut } from "./views/signed-out.js";
import { StreamView } from "./views/stream.js";

// What people see first is in the first file; the other views are fetched when they are opened.
const FailuresView = lazyView(async () => (await import("./views/failures.js")).FailuresView);
const QueuesView = lazyView(async () => (await import("./views/queues.js")).QueuesView);
const TaskView = lazyView(async () => (await import("./views/task.js")).TaskView);
const TasksView = lazyView(async () => (await import("./views/tasks.js")).TasksView);
const TryView = lazyView(async () => (await import("./views/try-it.js")).TryView);
const WireView = lazyView(async () => (await import("./views/wire.js")).WireView);
const WorkersView = lazyView(async () => (await import("./views/workers.js")).WorkersView);

export function App() {
  const { view, name } = useRoute();
  const [floating, float] = useState<"palette" | "keys" | undefined>();
  useChanges((changed) => yard.onChange(changed));
  useEffect(() => {
    const label = view === "task" ? `Task ${name}` : viewNames.find((one) => one.view === view)?.label;
    document.title = `${label} · Yardmaster`;
    scrollTo(0, 0);
  }, [view, name]);
  const moves = viewNames.map(({ view: target, key }) => [`g ${key}`, () => go(target)]);
  useKeys({
    "/": () => float("palette"),
    "ctrl k": () => float("palette"),
    "?": () => float("keys"),
    ...Object.fromEntries(moves),
  });
  if (session.isSignedOut) return <SignedOut />;
  const isStale = yard.link === "lost";
  return (
    <div class={isStale ? "stale" : ""}>
      <TopBar onFind={() => float("palette")} />
      {yard.refusal ? <Refused words={yard.refusal.message} /> : isStale ? <Disconnected /> : <ClockNote />}
      <main class="content" key={view}>
        <CurrentView />
      </main>
      <Tabs />
      <Toasts />
      <Announcer />
      {floating === "palette" && <Palette onClose={() => float(undefined)} onKeys={() => float("keys")} />}
      {floating === "keys" && <KeysHelp onClose={() => float(undefined)} />}
    </div>
  );
}

function CurrentView() {
  const { view, name } = useRoute();
  switch (view) {
    case "overview":
      return <OverviewView />;
    case "stream":
      return <StreamView />;
    case "tasks":
      return <TasksView />;
    case "task":
      return <TaskView key={name} id={name} />;
    case "failures":
      return <FailuresView />;
    case "workers":
      return <WorkersView />;
    case "queues":
      return <QueuesView />;
    case "wire":
      return <WireView />;
    case "try":
      return <TryView />;
  }
}

/** The dispatcher answers, but not with events: perhaps it is of another version than this page. */
function Refused({ words }: { words: string }) {
  return (
    <div class="banner" role="alert">
      <Sign name="failed" />
      <span>
        <b>The dispatcher refused to send events:</b> {shownLine(words)}
      </span>
      <button type="button" class="button" onClick={() => location.reload()}>
        Reload the page
      </button>
    </div>
  );
}

/** Ages are by the dispatcher's clock, which a person with another one should know. */
function ClockNote() {
  useRefresh(1);
  const ms = Math.abs(yard.skewMs);
  if (yard.link !== "live" || ms < 120_000) return null;
  const words = `This computer's clock is ${duration(ms)} ${yard.skewMs > 0 ? "behind" : "ahead"}; ages are by the dispatcher's.`;
  return (
    <div class="banner" role="status">
      <Sign name="later" />
      <span>{words}</span>
    </div>
  );
}

function Disconnected() {
  useRefresh(1);
  const seconds = Math.max(0, Math.ceil((yard.retryAt - Date.now()) / 1000));
  return (
    <div class="banner" role="status">
      <Sign name="behind" />
      <span>
        <b>The dispatcher does not answer.</b> All below is as of {clock(yard.lostAt + yard.skewMs)}. Trying
        again
        {seconds > 0 ? ` in ${seconds} s.` : "."}
      </span>
      <button type="button" class="button" onClick={() => yard.reconnect()}>
        Try now
      </button>
    </div>
  );
}
