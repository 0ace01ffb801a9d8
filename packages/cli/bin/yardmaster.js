#!/usr/bin/env node
// The command as npm links it: committed, so that it is there before anything is built.
import { existsSync } from "node:fs";

const main = new URL("../dist/main.js", import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  console.error("yardmaster: it is not built yet; run: npm run build");
  process.exitCode = 1;
}
