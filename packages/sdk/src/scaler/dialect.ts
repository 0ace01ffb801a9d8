// scaler behind the SDK's one interface: a task calls one function with one argument, the payload as it is. Which function is
// in the URL (`scaler://host:8516?function=render`); without it the one that the door calls by default.

import { bodyOfParts } from "@yardmaster/dialects";
import { hostAndPort, type YardAddress } from "../address.js";
import { AnsweringClient } from "../answering-client.js";
import { Body } from "../body.js";
import { InterruptedError, TaskEndedError, YardError } from "../errors.js";
import { handled, type RunningWorker, startSlots, type WorkHandler, type WorkOptions } from "../worker.js";
import { ScalerClient } from "./client.js";
import { ScalerError } from "./future.js";
import { bytesSerializer } from "./serializers.js";
import { ScalerWorker } from "./worker.js";

/** What `doors.scaler.function` is by default: the name of the door's queue. */
const functionDefault = "scaler";

export function connectScaler(address: YardAddress): AnsweringClient {
  const client = new ScalerClient({
    scheduler: `tcp://${hostAndPort(address)}`,
    serializer: bytesSerializer,
  });
  return new AnsweringClient(
    {
      name: "scaler",
      acknowledges: false,
      knows: new Set(["priority"]),
      ask: (payload, { priority = 0 }, id) => {
        // Here lower is more urgent.
        const future = client.call<Buffer>(functionIn(address), [payload.bytes], { priority: 0 - priority });
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

/** One worker with as many slots: what waits in it can be taken back. */
export function workScaler(
  address: YardAddress,
  options: WorkOptions,
  handler: WorkHandler,
): Promise<RunningWorker> {
  const { concurrency = 1, name, timeoutMs, onContact, onError } = options;
  return startSlots(1, () => {
    const stopping = new AbortController();
    const worker = new ScalerWorker({
      scheduler: `tcp://${hostAndPort(address)}`,
      concurrency,
      ...(name === undefined ? {} : { name }),
      ...(onContact ? { onContact } : {}),
      ...(onError ? { onError } : {}),
      functions: {
        [functionIn(address)]: {
          serializer: bytesSerializer,
          run: async (args, { signal, task }) => {
            const context = {
              dialect: "scaler",
              task,
              attempt: undefined,
              queue: undefined,
              signal: AbortSignal.any([cancelledBy(signal), stopping.signal]),
              beat: async () => {},
            };
            return (await handled(handler, payloadOf(args as Buffer[]), context, timeoutMs)).bytes;
          },
        },
      },
    });
    return {
      async stop({ graceMs }) {
        const late = setTimeout(() => stopping.abort(new InterruptedError("stopping")), graceMs);
        await worker.stop();
        clearTimeout(late);
      },
    };
  });
}

function functionIn({ parameters }: YardAddress): string {
  return parameters.get("function") ?? functionDefault;
}

/** The same signal, with a reason that says what it means. */
function cancelledBy(signal: AbortSignal): AbortSignal {
  const cancelled = new AbortController();
  signal.addEventListener("abort", () => cancelled.abort(new InterruptedError("cancelled")), { once: true });
  return cancelled.signal;
}

/** One argument is the payload; several are its parts, as everywhere. */
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
