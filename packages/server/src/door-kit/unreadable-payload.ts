// The failure of an attempt whose payload the engine cannot return. The worker never received it.

import type { TaskError } from "@yardmaster/core";

export function unreadablePayload(message: string): TaskError {
  return { code: "unreadable_payload", message };
}
