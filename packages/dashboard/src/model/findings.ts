// What the palette finds for some text: tasks by number, queues, workers and views by name, verbs,
// and a search of all.

import type { Queue, Worker } from "../live/api-shapes.js";
import type { SignName } from "../parts/sign.js";
import { count, counted } from "./numbers.js";
import { views } from "./route.js";

export interface Finding {
  readonly id: string;
  readonly sign: SignName | "search";
  readonly title: string;
  readonly aside: string;
  readonly does:
    | "task"
    | "queue"
    | "worker"
    | "view"
    | "drain"
    | "pause"
    | "resume"
    | "search"
    | "sign-out"
    | "keys";
  readonly name: string;
  readonly key?: string;
}

const ofEachMax = 5;

export function findings(
  text: string,
  queues: readonly Queue[],
  workers: readonly Worker[],
  runningOf: (worker: string) => number,
  hasToken = false,
): Finding[] {
  const words = text.trim().toLowerCase();
  const [verb = "", ...rest] = words.split(/\s+/);
  const object = rest.join(" ");
  const found: Finding[] = [];
  if (/^\d{1,16}$/.test(words)) {
    found.push({
      id: "task",
      sign: "running",
      title: `Task ${words}`,
      aside: "open it",
      does: "task",
      name: words,
    });
  }
  if (object !== "" && verb === "drain") found.push(...drains(object, workers));
  if (object !== "" && (verb === "pause" || verb === "resume")) found.push(...orders(verb, object, queues));
  found.push(...named(words, queues, workers, runningOf));
  for (const view of views) {
    if (view === "task" || (words !== "" && !view.startsWith(words))) continue;
    if (words === "" || view.startsWith(words))
      found.push({
        id: `view ${view}`,
        sign: "idle",
        title: viewTitle(view),
        aside: "view",
        does: "view",
        name: view,
      });
  }
  if (hasToken && words !== "" && "sign out".startsWith(words)) {
    found.push({
      id: "sign-out",
      sign: "idle",
      title: "Sign out",
      aside: "forgets the token",
      does: "sign-out",
      name: "",
    });
  }
  if (words !== "") {
    found.push({
      id: "search",
      sign: "search",
      title: `Search all tasks for “${text.trim()}”`,
      aside: "",
      does: "search",
      name: text.trim(),
    });
  }
  return found.slice(0, 14);
}

function viewTitle(view: string): string {
  return view === "try" ? "Try it" : view.charAt(0).toUpperCase() + view.slice(1);
}

function named(
  words: string,
  queues: readonly Queue[],
  workers: readonly Worker[],
  runningOf: (worker: string) => number,
): Finding[] {
  if (words === "") return [];
  const found: Finding[] = [];
  for (const { name, waiting, running } of match(queues, ({ name }) => name, words)) {
    const aside = `queue, ${count(waiting)} waiting, ${count(running)} running`;
    found.push({ id: `queue ${name}`, sign: "clear", title: name, aside, does: "queue", name });
  }
  for (const { id, door, state } of match(workers, ({ id }) => id, words)) {
    const sign = state === "lost" ? "failed" : state;
    const aside = `worker, ${door}, ${state === "busy" ? `${counted(runningOf(id), "task")} running` : state}`;
    found.push({ id: `worker ${id}`, sign, title: id, aside, does: "worker", name: id });
  }
  const [only] = match(workers, ({ id }) => id, words);
  if (only && only.state !== "draining" && only.state !== "lost") found.push(drain(only));
  return found;
}

function drains(object: string, workers: readonly Worker[]): Finding[] {
  return match(workers, ({ id }) => id, object).map(drain);
}

function drain({ id }: Worker): Finding {
  return {
    id: `drain ${id}`,
    sign: "draining",
    title: `Drain worker ${id}`,
    aside: "gives it no more tasks",
    does: "drain",
    name: id,
  };
}

function orders(verb: "pause" | "resume", object: string, queues: readonly Queue[]): Finding[] {
  return match(queues, ({ name }) => name, object).map(({ name }) => ({
    id: `${verb} ${name}`,
    sign: verb === "pause" ? "paused" : "clear",
    title: `${verb === "pause" ? "Pause" : "Resume"} queue ${name}`,
    aside: verb === "pause" ? "tasks are still accepted" : "its tasks run again",
    does: verb,
    name,
  }));
}

/** Those that begin with the words come first. */
function match<Thing>(things: readonly Thing[], nameOf: (thing: Thing) => string, words: string): Thing[] {
  const hits = things
    .map((thing) => ({ thing, at: nameOf(thing).toLowerCase().indexOf(words), name: nameOf(thing) }))
    .filter(({ at }) => at >= 0);
  hits.sort((a, b) => a.at - b.at || a.name.length - b.name.length || (a.name < b.name ? -1 : 1));
  return hits.slice(0, ofEachMax).map(({ thing }) => thing);
}
