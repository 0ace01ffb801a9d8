// pingpong behind the SDK's one interface. Its clients have no word for a task but its result, its workers none for
// failure but a closed connection.

import { bodyOfParts, bytesMediaType, partsMediaType, partsOf } from "@yardmaster/dialects";
import { hostAndPort, type YardAddress } from "../address.js";
import { AnsweringClient } from "../answering-client.js";
import { Body } from "../body.js";
import { TaskEndedError, YardError } from "../errors.js";
import { handled, type RunningWorker, startSlots, type WorkHandler, type WorkOptions } from "../worker.js";
import { PingpongClient, PingpongError } from "./client.js";
import { PingpongWorker } from "./worker.js";

export function connectPingpong(address: YardAddress): AnsweringClient {
  const client = new PingpongClient({ broker: `tcp://${hostAndPort(address)}` });
  return new AnsweringClient(
    {
      name: "pingpong",
      acknowledges: false,
      knows: new Set(),
      ask: (payload, _options, id) => ({
        taken: Promise.resolve(),
        outcome: client.submit(...partsIn(payload)).then(bodyOf, (fault) => {
          throw ended(fault, id);
        }),
      }),
      close: () => client.close(),
    },
    address,
  );
}

export function workPingpong(
  address: YardAddress,
  options: WorkOptions,
  handler: WorkHandler,
): Promise<RunningWorker> {
  const { concurrency = 1, name, timeoutMs, onContact, onError } = options;
  return startSlots(concurrency, (index) => {
    return new PingpongWorker({
      broker: `tcp://${hostAndPort(address)}`,
      ...(name === undefined ? {} : { identity: concurrency === 1 ? name : `${name}-${index + 1}` }),
      ...(onContact ? { onContact } : {}),
      ...(onError ? { onError } : {}),
      work: async (parts, signal) => {
        const context = { ...nameless, signal, beat: async () => {} };
        return partsIn(await handled(handler, bodyOf(parts), context, timeoutMs));
      },
    });
  });
}

const nameless = { dialect: "pingpong", task: undefined, attempt: undefined, queue: undefined } as const;

function bodyOf(parts: readonly Buffer[]): Body {
  const { bytes, mediaType } = bodyOfParts(parts);
  return new Body(bytes ?? Buffer.alloc(0), mediaType);
}

/** Other types than that of several parts are lost: pingpong sends bytes. */
function partsIn({ bytes, contentType }: Body): Buffer[] {
  const mediaType = contentType === partsMediaType ? partsMediaType : bytesMediaType;
  return partsOf({ mediaType, size: bytes.length, bytes });
}

/** What the broker says of a job is its end; a connection that is lost says nothing of it. */
function ended(fault: unknown, id: string): unknown {
  if (!(fault instanceof PingpongError)) return fault;
  const { code, message } = fault;
  if (code === "disconnected" || code === "closed") return new YardError(code, message, { cause: fault });
  return new TaskEndedError(id, code === "cancelled" || code === "expired" ? code : "failed", {
    code,
    message,
  });
}
