// The udp door compared with a bare loop that moves the same eight datagrams per task, and with ten
// thousand calculators.

import { dispatching } from "./dispatching.js";
import type { Case } from "./table.js";

export const udp: Case = {
  name: "udp",
  run: (runs) =>
    dispatching(runs, {
      dialect: "udp",
      bare: "./udp-forwarder.js",
      door: "./udp-broker.js",
      load: "./udp-load.js",
    }),
};
