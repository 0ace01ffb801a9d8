// pingpong behind the SDK's common interface. A client learns nothing about a task but its result,
// and a worker can report a failure only by closing its connection.

import { bodyOfParts, bytesMediaType, partsMediaType, partsOf } from "@yardmaster/dialects";
import { hostAndPort, type YardAddress } from "../address.js";
import { AnsweringClient } from "../answering-client.js";
import { Body } from "../body.js";
import type { ConnectOptions } from "../client.js";
import { TaskEndedError, YardError } from "../errors.js";
import { choiceIn, countIn, durationMsIn, refuseUnknown } from "../url-parameters.js";
import {
  handled,
  type RunningWorker,
  startSlots,
  unheard,
  type WorkHandler,
  type WorkOptions,
} from "../worker.js";
import { PingpongClient, PingpongError } from "./client.js";
import { PingpongWorker, type PingpongWorkerOptions } from "./worker.js";

export function connectPingpong(address: YardAddress, { security }: ConnectOptions): AnsweringClient {
  // A client does not need them, but one URL with a misspelt form would make a worker of the other.
  settingsIn(address);
  const client = new PingpongClient({
    broker: `tcp://${hostAndPort(address)}`,
    ...(security && { security }),
  });
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

export async function workPingpong(
  address: YardAddress,
  options: WorkOptions,
  handler: WorkHandler,
): Promise<RunningWorker> {
  const { concurrency = 1, name, security, timeoutMs, onContact, onError } = options;
  const settings = settingsIn(address);
  return startSlots(concurrency, (index) => {
    return new PingpongWorker({
      broker: `tcp://${hostAndPort(address)}`,
      ...settings,
      ...(name === undefined ? {} : { identity: concurrency === 1 ? name : `${name}-${index + 1}` }),
      ...(security && { security }),
      ...(onContact ? { onContact } : {}),
      ...(onError ? { onError } : {}),
      work: async (parts, signal) => {
        const context = { ...nameless, ...unheard, signal };
        return partsIn(await handled(handler, bodyOf(parts), context, timeoutMs));
      },
    });
  });
}

/** [pingpong 1, 3] `?form=program&ping=1s&brokerTimeout=1s&timeouts=3`. */
function settingsIn(address: YardAddress): Omit<PingpongWorkerOptions, "broker" | "work"> {
  refuseUnknown(address, ["form", "ping", "brokerTimeout", "timeouts"]);
  const form = choiceIn(address, "form", ["document", "program"]);
  const pingMs = durationMsIn(address, "ping");
  const brokerTimeoutMs = durationMsIn(address, "brokerTimeout");
  const timeouts = countIn(address, "timeouts");
  return {
    ...(form && { form }),
    ...(pingMs && { pingMs }),
    ...(brokerTimeoutMs && { brokerTimeoutMs }),
    ...(timeouts && { timeouts }),
  };
}

const nameless = { dialect: "pingpong", task: undefined, attempt: undefined, queue: undefined } as const;

function bodyOf(parts: readonly Buffer[]): Body {
  const { bytes, mediaType } = bodyOfParts(parts);
  return new Body(bytes ?? Buffer.alloc(0), mediaType);
}

/** Only the media type of several parts is used; others are lost, because pingpong sends bytes. */
function partsIn({ bytes, contentType }: Body): Buffer[] {
  const mediaType = contentType === partsMediaType ? partsMediaType : bytesMediaType;
  return partsOf({ mediaType, size: bytes.length, bytes });
}

/** The broker's error ends the job. A lost connection says nothing about it. */
function ended(fault: unknown, id: string): unknown {
  if (!(fault instanceof PingpongError)) return fault;
  const { code, message } = fault;
  if (code === "disconnected" || code === "closed" || code === "not_connected")
    return new YardError(code, message, { cause: fault });
  return new TaskEndedError(id, code === "cancelled" || code === "expired" ? code : "failed", {
    code,
    message,
  });
}
