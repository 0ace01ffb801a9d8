// pulse behind the SDK's one interface. It has workers only, and what a handler throws goes to another worker.

import type { YardAddress } from "../address.js";
import { Body } from "../body.js";
import { ArgumentError } from "../errors.js";
import { handled, type RunningWorker, startSlots, type WorkHandler, type WorkOptions } from "../worker.js";
import { PulseWorker } from "./worker.js";

export async function workPulse(
  address: YardAddress,
  options: WorkOptions,
  handler: WorkHandler,
): Promise<RunningWorker> {
  const { concurrency = 1, timeoutMs, onContact, onError } = options;
  const numbering = numberingIn(address);
  if (address.path === "")
    throw new ArgumentError("bad_url", `${address.url} names no folder: pulse:/run/controller`);
  return startSlots(concurrency, () => {
    const worker = new PulseWorker({
      dir: address.path,
      numbering,
      ...(onContact ? { onContact } : {}),
      ...(onError ? { onError } : {}),
      work: async (payload, signal) => {
        const context = {
          dialect: "pulse",
          task: undefined,
          attempt: undefined,
          queue: undefined,
          signal,
          beat: async () => {},
        };
        return (await handled(handler, new Body(payload), context, timeoutMs)).bytes;
      },
    });
    return worker;
  });
}

function numberingIn({ parameters, url }: YardAddress): "document" | "main" {
  const numbering = parameters.get("numbering") ?? "document";
  if (numbering === "document" || numbering === "main") return numbering;
  throw new ArgumentError("bad_url", `${url}: numbering: found ${numbering}, expected document or main`);
}
