// monique behind the SDK's common interface: a queue is a spec, a task is a question, and a result
// is its answer. A worker receives questions from the controller of its spec, whose port is in the
// URL (`?worker=10000`).

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { hostAndPort, type YardAddress } from "../address.js";
import { AnsweringClient } from "../answering-client.js";
import { Body, bytesType, jsonType } from "../body.js";
import type { ConnectOptions } from "../client.js";
import { ArgumentError, InterruptedError, TaskEndedError, YardError } from "../errors.js";
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
import { MoniqueComponent } from "./component.js";
import { MoniqueError } from "./component-options.js";

const messagePackType = "application/msgpack";
/** The scheduler's default ports are adjacent. */
const outAfterIn = 1;

export function connectMonique(address: YardAddress, options: ConnectOptions): AnsweringClient {
  const component = newComponent(address, "client", options);
  return new AnsweringClient(
    {
      name: "monique",
      acknowledges: false,
      knows: new Set(["queue", "contentType", "expiresMs"]),
      ask: (payload, { queue, contentType, expiresMs }, id) => {
        if (queue === undefined)
          throw new ArgumentError("bad_argument", "monique has many specs: name one as the queue");
        const encoding = encodingOf(contentType ?? payload.contentType);
        const question = component.ask(queue, payload.bytes, {
          encoding,
          ...(expiresMs === undefined ? {} : { expiresMs }),
        });
        const outcome = question.then(
          (answer) => new Body(answer.data, typeOf(answer.encoding)),
          (fault) => {
            throw ended(fault, id);
          },
        );
        return { taken: Promise.resolve(), outcome };
      },
      close: () => component.close(),
    },
    address,
  );
}

export async function workMonique(
  address: YardAddress,
  options: WorkOptions,
  handler: WorkHandler,
): Promise<RunningWorker> {
  const { queue, concurrency = 1, name, timeoutMs, onContact } = options;
  if (queue === undefined)
    throw new ArgumentError("bad_argument", "monique has many specs: name one as the queue");
  const port = portIn(address, "worker");
  if (port === undefined) {
    throw new ArgumentError(
      "bad_url",
      `${address.url} names no controller's port for workers: ?worker=10000`,
    );
  }
  const controller = `tcp://${hostAndPort({ host: address.host, port })}`;
  return startSlots(concurrency, async (index) => {
    const component = newComponent(address, `${name ?? "worker"}-${index + 1}`, options);
    const stopping = new AbortController();
    await component.answer(
      queue,
      async (question, killed) => {
        const context = {
          dialect: "monique",
          task: question.id,
          attempt: undefined,
          queue,
          signal: AbortSignal.any([cancelledBy(killed), stopping.signal]),
          ...unheard,
        };
        const payload = new Body(question.data, typeOf(question.encoding));
        const result = await handled(handler, payload, context, timeoutMs);
        return { data: result.bytes, encoding: encodingOf(result.contentType) };
      },
      controller,
    );
    onContact?.(true);
    return {
      async stop({ graceMs }) {
        const late = setTimeout(() => stopping.abort(new InterruptedError("stopping")), timerMs(graceMs));
        await component.close();
        clearTimeout(late);
      },
    };
  });
}

function newComponent(
  address: YardAddress,
  name: string,
  { security, onError }: Pick<WorkOptions, "security" | "onError">,
): MoniqueComponent {
  refuseUnknown(address, ["out", "worker", "techIn", "techOut", "form"]);
  const at = (port: number) => `tcp://${hostAndPort({ host: address.host, port })}`;
  const [techIn, techOut] = [portIn(address, "techIn"), portIn(address, "techOut")];
  const form = address.parameters.get("form") ?? "d3";
  if (form !== "d1" && form !== "d3") {
    throw new ArgumentError("bad_url", `${address.url}: form: found ${form}, expected d1 or d3`);
  }
  return new MoniqueComponent({
    scheduler: {
      in: at(address.port),
      out: at(portIn(address, "out") ?? address.port + outAfterIn),
      ...(techIn === undefined ? {} : { techIn: at(techIn) }),
      ...(techOut === undefined ? {} : { techOut: at(techOut) }),
    },
    creator: `${hostname()}-${process.pid}-${randomBytes(3).toString("hex")}-${name}`.replaceAll(":", "-"),
    form,
    ...(onError ? { onError } : {}),
    ...(security && { security }),
  });
}

function portIn({ parameters, url }: YardAddress, name: string): number | undefined {
  const written = parameters.get(name);
  if (written === null) return undefined;
  const port = Number(written);
  if (/^\d{1,5}$/.test(written) && port >= 1 && port <= 65_535) return port;
  throw new ArgumentError("bad_url", `${url}: ${name}: found ${JSON.stringify(written)}, expected a port`);
}

function encodingOf(contentType: string): string {
  if (new Body(Buffer.alloc(0), contentType).isJson) return "JSON";
  return contentType === messagePackType ? "MessagePack" : "bytes";
}

function typeOf(encoding: string): string {
  if (encoding === "JSON") return jsonType;
  return encoding === "MessagePack" ? messagePackType : bytesType;
}

/** The same signal, with an `InterruptedError` as its reason. */
function cancelledBy(signal: AbortSignal): AbortSignal {
  const cancelled = new AbortController();
  signal.addEventListener("abort", () => cancelled.abort(new InterruptedError("cancelled")), { once: true });
  return cancelled.signal;
}

/**
 * 301: the question was killed. Any other code is a failure. A closed component does not know the
 * outcome.
 */
const killedCode = 301;
const closedCode = 200;

function ended(fault: unknown, id: string): unknown {
  if (!(fault instanceof MoniqueError)) return fault;
  const { code, message } = fault;
  if (code === closedCode) return new YardError("closed", message, { cause: fault });
  return new TaskEndedError(id, code === killedCode ? "cancelled" : "failed", {
    code: `error_${code}`,
    message,
  });
}
