// Does what a line of the palette says.

import { drainWorker, pauseQueue, resumeQueue } from "../live/actions.js";
import type { go as goTo } from "../live/navigation.js";
import { session } from "../live/session.js";
import type { Finding } from "../model/findings.js";
import type { View } from "../model/route.js";

export function act(finding: Finding, go: typeof goTo): void {
  const { does, name } = finding;
  if (does === "task") go("task", name);
  else if (does === "queue") go("queues", name);
  else if (does === "worker") go("workers", "", { q: name });
  else if (does === "view") go(name as View);
  else if (does === "search") go("tasks", "", { q: name });
  else if (does === "sign-out") session.signOut();
  else if (does === "drain") void drainWorker(name);
  else if (does === "pause") void pauseQueue(name);
  else if (does === "resume") void resumeQueue(name);
}
