// The pulse door compared with a bare loop that makes the same three connections per task, and with
// ten thousand workers.

import { dispatching } from "./dispatching.js";
import type { Case } from "./table.js";

export const pulse: Case = {
  name: "pulse",
  run: (runs) =>
    dispatching(runs, {
      dialect: "pulse",
      bare: "./pulse-forwarder.js",
      door: "./pulse-broker.js",
      load: "./pulse-load.js",
    }),
};
