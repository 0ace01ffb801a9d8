// pulse behind the SDK's common interface. It has only workers, and a task whose handler throws
// goes to another worker.

import { pulse } from "@yardmaster/dialects";
import type { YardAddress } from "../address.js";
import { Body } from "../body.js";
import { ArgumentError } from "../errors.js";
import { choiceIn, durationMsIn, refuseUnknown } from "../url-parameters.js";
import {
  handled,
  type RunningWorker,
  startSlots,
  unheard,
  type WorkHandler,
  type WorkOptions,
} from "../worker.js";
import { PulseWorker, type PulseWorkerOptions } from "./worker.js";

const { defaultPulseWorkerSettings } = pulse;

export async function workPulse(
  address: YardAddress,
  options: WorkOptions,
  handler: WorkHandler,
): Promise<RunningWorker> {
  const { concurrency = 1, timeoutMs, onContact, onError } = options;
  const settings = settingsIn(address);
  if (address.path === "")
    throw new ArgumentError("bad_url", `${address.url} names no folder: pulse:/run/controller`);
  return startSlots(concurrency, () => {
    return new PulseWorker({
      dir: address.path,
      ...settings,
      ...(onContact ? { onContact } : {}),
      ...(onError ? { onError } : {}),
      work: async (payload, signal, task) => {
        const context = {
          dialect: "pulse",
          task: String(task),
          attempt: undefined,
          queue: undefined,
          signal,
          ...unheard,
        };
        return (await handled(handler, new Body(payload), context, timeoutMs)).bytes;
      },
    });
  });
}

/** [pulse 2, 3.8, 4.8] `?numbering=main&nextPulse=60s&pulse=30s&restart=end`. */
function settingsIn(address: YardAddress): Omit<PulseWorkerOptions, "dir" | "work"> {
  refuseUnknown(address, ["numbering", "nextPulse", "pulse", "restart"]);
  const numbering = choiceIn(address, "numbering", ["document", "main"]);
  const restart = choiceIn(address, "restart", ["register", "end"]);
  const nextPulseMs =
    durationMsIn(address, "nextPulse") ?? defaultPulseWorkerSettings.nextPulseSeconds * 1000;
  // Like existing workers: two pulses within the announced time.
  const pulseMs = durationMsIn(address, "pulse") ?? nextPulseMs / 2;
  if (nextPulseMs % 1000 !== 0 || pulseMs >= nextPulseMs) {
    const rule = "nextPulse is in whole seconds, and pulse is shorter";
    throw new ArgumentError("bad_url", `${address.url}: the controller would give the worker up: ${rule}`);
  }
  return {
    ...(numbering && { numbering }),
    ...(restart && { onRestart: restart }),
    nextPulseSeconds: nextPulseMs / 1000,
    pulseMs,
  };
}
