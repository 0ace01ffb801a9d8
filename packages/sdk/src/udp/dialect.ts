// udp behind the SDK's common interface. A JSON object becomes a task's params; anything else is
// sent as `payload` in base64, as the door does.

import type { udp } from "@yardmaster/dialects";
import { hostAndPort, type YardAddress } from "../address.js";
import { AnsweringClient } from "../answering-client.js";
import { Body, jsonType, textType } from "../body.js";
import { ArgumentError, TaskEndedError, YardError } from "../errors.js";
import { refuseUnknown } from "../url-parameters.js";
import {
  handled,
  type RunningWorker,
  startSlots,
  unheard,
  type WorkHandler,
  type WorkOptions,
} from "../worker.js";
import { UdpCalculator } from "./calculator.js";
import { UdpClient, UdpTaskError } from "./client.js";

export async function connectUdp(address: YardAddress): Promise<AnsweringClient> {
  refuseUnknown(address, []);
  const client = await UdpClient.open({ dispatcher: hostAndPort(address) });
  return new AnsweringClient(
    {
      name: "udp",
      acknowledges: true,
      knows: new Set(["contentType"]),
      ask: (payload, { contentType }, id) => {
        let accepted: () => void = () => {};
        const acknowledged = new Promise<void>((resolve) => {
          accepted = resolve;
        });
        const body = contentType === undefined ? payload : new Body(payload.bytes, contentType);
        const outcome = client.submit(paramsOf(body), { onAccepted: () => accepted() }).then(
          (params) => resultOf(params, id),
          (fault) => {
            throw ended(fault, id);
          },
        );
        // A task that is never acknowledged ends without having been accepted.
        const taken = Promise.race([acknowledged, outcome.then(() => {})]);
        return { taken, outcome };
      },
      close: () => client.close(),
    },
    address,
  );
}

export async function workUdp(
  address: YardAddress,
  options: WorkOptions,
  handler: WorkHandler,
): Promise<RunningWorker> {
  refuseUnknown(address, []);
  const { concurrency = 1, timeoutMs, onContact, onError } = options;
  return startSlots(concurrency, () => {
    return UdpCalculator.open({
      dispatcher: hostAndPort(address),
      ...(onContact ? { onHeard: () => onContact(true) } : {}),
      work: async (params, signal) => {
        const context = {
          dialect: "udp",
          task: String(params.task_uuid ?? params.task_id),
          attempt: undefined,
          queue: undefined,
          signal,
          ...unheard,
        };
        try {
          return wireValueOf(await handled(handler, payloadOf(params), context, timeoutMs));
        } catch (fault) {
          onError?.(fault);
          throw fault;
        }
      },
    });
  });
}

function paramsOf(body: Body): udp.Params {
  const value = body.isJson ? parsed(body) : undefined;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as udp.Params;
  return body.bytes.length === 0 ? {} : { payload: body.bytes.toString("base64") };
}

function payloadOf({ task_id: _id, task_uuid: _uuid, ...params }: udp.Params): Body {
  const names = Object.keys(params);
  if (names.length === 0) return new Body(Buffer.alloc(0));
  if (names.length === 1 && typeof params.payload === "string") {
    return new Body(Buffer.from(params.payload, "base64"));
  }
  return new Body(Buffer.from(JSON.stringify(params)), jsonType);
}

/** Results on this wire are JSON: JSON is sent unchanged, text as a string. */
function wireValueOf(body: Body): unknown {
  if (body.bytes.length === 0) return undefined;
  const value = body.isJson ? parsed(body) : undefined;
  if (value !== undefined) return value;
  const text = body.text();
  if (Buffer.from(text).equals(body.bytes)) return text;
  throw new YardError("does_not_fit", "udp carries JSON and text; this result is neither");
}

function resultOf(params: udp.Params, id: string): Body {
  const { result, encoding, truncated, size } = params;
  if (truncated === true) {
    const message = `its result of ${String(size)} bytes does not fit in a datagram; read it over http`;
    throw new YardError("truncated", `task ${id} is done, but ${message}`);
  }
  if (result === undefined) return new Body(Buffer.alloc(0));
  if (encoding === "base64" && typeof result === "string") return new Body(Buffer.from(result, "base64"));
  if (typeof result === "string") return new Body(Buffer.from(result), textType);
  return new Body(Buffer.from(JSON.stringify(result)), jsonType);
}

function ended(fault: unknown, id: string): unknown {
  if (!(fault instanceof UdpTaskError)) return fault;
  const { code, message } = fault;
  if (code === "no_answer") return new YardError("unreachable", message, { cause: fault });
  if (code === "bad_task_id") return new ArgumentError("bad_argument", message, { cause: fault });
  if (code === "closed" || code === "too_large") return new YardError(code, message, { cause: fault });
  return new TaskEndedError(id, code === "failed_post" ? "expired" : "failed", { code, message });
}

function parsed(body: Body): unknown {
  try {
    return body.json();
  } catch {
    return undefined;
  }
}
