// Makes a file or the names in a folder durable.

import { closeSync, fsyncSync, openSync } from "node:fs";

export function syncPath(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
