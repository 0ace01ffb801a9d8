// The yardmaster command: runs a command and exits with its code.

import { namesWord, printNames } from "./completion-names.js";
import { hearOutput } from "./output.js";

hearOutput();

const args = process.argv.slice(2);
// Completion does not load the commands, because the user waits for it at every key.
const code =
  args[0] === namesWord ? await printNames(args.slice(1)) : await (await import("./program.js")).run(args);
// A pipe may not have taken all output yet, and the rest would be lost at exit.
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => stream.write("", () => resolve()));
}
// Not left to the event loop: after a fault, open handles could keep the process alive.
process.exit(code);
