// scaler behind the SDK's common interface: a task calls one function with one argument, the
// unchanged payload. The URL names the function (`scaler://host:8516?function=render`); without it
// the door's default is called.

import { bodyOfParts } from "@yardmaster/dialects";
import { hostAndPort, type YardAddress } from "../address.js";
import { AnsweringClient } from "../answering-client.js";
import { Body } from "../body.js";
import type { ConnectOptions } from "../client.js";
import { InterruptedError, TaskEndedError, YardError } from "../errors.js";
import { timerMs } from "../time.js";
import { refuseUnknown } from "../url-parameters.js";
import {
  handled,
  type RunningWorker,
  startSlots,
  unheard,
  type WorkHandler,
  type WorkOptions,
} from "../worker.js";
import { ScalerClient } from "./client.js";
import { ScalerError } from "./future.js";
import { bytesSerializer } from "./serializers.js";
import { ScalerWorker } from "./worker.js";

/** The default of `doors.scaler.function`: the name of the door's queue. */
const functionDefault = "scaler";

export function connectScaler(address: YardAddress, { security }: ConnectOptions): AnsweringClient {
  const functionName = functionIn(address);
  const client = new ScalerClient({
    scheduler: `tcp://${hostAndPort(address)}`,
    serializer: bytesSerializer,
    ...(security && { security }),
  });
  return new AnsweringClient(
    {
      name: "scaler",
      acknowledges: false,
      knows: new Set(["priority"]),
      ask: (payload, { priority = 0 }, id) => {
        // In this dialect, lower is more urgent.
        const future = client.call<Buffer>(functionName, [payload.bytes], { priority: 0 - priority });
        const outcome = future.result().then(
          (bytes) => new Body(bytes),
          (fault) => {
            throw ended(fault, id);
          },
        );
        return { taken: Promise.resolve(), outcome, cancel: () => future.cancel() };
      },
      close: () => client.close(),
    },
    address,
  );
}

/** One worker with all slots, because tasks that wait in it can be taken back. */
export async function workScaler(
  address: YardAddress,
  options: WorkOptions,
  handler: WorkHandler,
): Promise<RunningWorker> {
  const { concurrency = 1, name, security, timeoutMs, onContact, onError } = options;
  const functionName = functionIn(address);
  return startSlots(1, () => {
    const stopping = new AbortController();
    const worker = new ScalerWorker({
      scheduler: `tcp://${hostAndPort(address)}`,
      concurrency,
      ...(name === undefined ? {} : { name }),
      ...(security && { security }),
      ...(onContact ? { onContact } : {}),
      ...(onError ? { onError } : {}),
      functions: {
        [functionName]: {
          serializer: bytesSerializer,
          run: async (args, { signal, task }) => {
            const context = {
              dialect: "scaler",
              task,
              attempt: undefined,
              queue: undefined,
              signal: AbortSignal.any([cancelledBy(signal), stopping.signal]),
              ...unheard,
            };
            return (await handled(handler, payloadOf(args as Buffer[]), context, timeoutMs)).bytes;
          },
        },
      },
    });
    return {
      async stop({ graceMs }) {
        const late = setTimeout(() => stopping.abort(new InterruptedError("stopping")), timerMs(graceMs));
        await worker.stop();
        clearTimeout(late);
      },
    };
  });
}

function functionIn(address: YardAddress): string {
  refuseUnknown(address, ["function"]);
  return address.parameters.get("function") ?? functionDefault;
}

/** The same signal, with an `InterruptedError` as its reason. */
function cancelledBy(signal: AbortSignal): AbortSignal {
  const cancelled = new AbortController();
  signal.addEventListener("abort", () => cancelled.abort(new InterruptedError("cancelled")), { once: true });
  return cancelled.signal;
}

/** A single argument is the payload; several become its parts. */
function payloadOf(args: readonly Buffer[]): Body {
  const { bytes, mediaType } = bodyOfParts(args);
  return new Body(bytes ?? Buffer.alloc(0), mediaType);
}

function ended(fault: unknown, id: string): unknown {
  if (!(fault instanceof ScalerError)) return fault;
  const { code, message } = fault;
  if (code === "closed" || code === "too_large") return new YardError(code, message, { cause: fault });
  return new TaskEndedError(id, code === "cancelled" ? "cancelled" : "failed", { code, message });
}
