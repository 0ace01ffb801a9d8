// monique behind the SDK's one interface: a queue is a spec, a task a question, a result its answer. A worker is given
// questions by the controller of its spec, whose port is in the URL (`?worker=10000`).

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { hostAndPort, type YardAddress } from "../address.js";
import { AnsweringClient } from "../answering-client.js";
import { Body, bytesType, jsonType } from "../body.js";
import { ArgumentError, InterruptedError, TaskEndedError, YardError } from "../errors.js";
import { handled, type RunningWorker, startSlots, type WorkHandler, type WorkOptions } from "../worker.js";
import { MoniqueComponent, MoniqueError } from "./component.js";

const messagePackType = "application/msgpack";
/** One next to the other, as the scheduler has them by default. */
const outAfterIn = 1;

export function connectMonique(address: YardAddress): AnsweringClient {
  const component = newComponent(address, "client");
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
  const { queue, concurrency = 1, name, timeoutMs, onContact, onError } = options;
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
    const component = newComponent(address, `${name ?? "worker"}-${index + 1}`, onError);
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
          beat: async () => {},
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
        const late = setTimeout(() => stopping.abort(new InterruptedError("stopping")), graceMs);
        await component.close();
        clearTimeout(late);
      },
    };
  });
}

function newComponent(
  address: YardAddress,
  name: string,
  onError?: (error: unknown) => void,
): MoniqueComponent {
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

/** The same signal, with a reason that says what it means. */
function cancelledBy(signal: AbortSignal): AbortSignal {
  const cancelled = new AbortController();
  signal.addEventListener("abort", () => cancelled.abort(new InterruptedError("cancelled")), { once: true });
  return cancelled.signal;
}

/** 301: it was killed. Everything else failed; a component that was closed knows nothing of it. */
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
