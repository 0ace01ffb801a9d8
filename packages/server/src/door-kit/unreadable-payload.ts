// How an attempt fails whose payload the engine does not give back. The worker never saw it.

import type { TaskError } from "@yardmaster/core";

export function unreadablePayload(message: string): TaskError {
  return { code: "unreadable_payload", message };
}
