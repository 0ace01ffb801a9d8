// The answer to a claim: one raw payload, or several in JSON. Attempts that do not reach the worker
// are returned without counting as a try.

import { Readable } from "node:stream";
import { type Body, later } from "@yardmaster/core";
import type { FastifyReply } from "fastify";
import type { Holder } from "./attempt-token.js";
import { asBuffer, type HttpContext, holdAnswer, mediaTypeHeader } from "./context.js";
import type { Assignment } from "./exchange.js";
import { Problem } from "./problems.js";
import { timeJson } from "./task-json.js";

export interface ClaimAnswer {
  readonly attempts: readonly Assignment[];
  readonly holder: Holder;
  readonly form: "raw" | "json";
}

/** Base64 of a larger payload does not fit into one string of many clients. */
const jsonPayloadBytesMax = 400_000_000;
/**
 * Payloads of one answer in JSON, together. A larger one comes alone. The rest is left for the next
 * claim, so that a worker gets no more at once than it can hold.
 */
const jsonBytesMax = 16 * 1024 * 1024;
/** A larger answer is written in pieces: encoding it at once would stall the event loop. */
const atOnceBytesMax = 1024 * 1024;
/** Divisible by 3, so that the base64 of the pieces is that of the whole. */
const pieceBytes = 192 * 1024;

export async function sendAttempts(
  context: HttpContext,
  reply: FastifyReply,
  { attempts, holder, form }: ClaimAnswer,
): Promise<FastifyReply> {
  const taken = form === "raw" ? attempts.slice(0, 1) : fitting(attempts);
  for (const attempt of attempts.slice(taken.length)) context.exchange.giveBack(attempt);
  if (taken.length === 0) throw new Problem("payload_too_large", tooLargeForJson);
  const giveBack = () => {
    for (const attempt of taken) context.exchange.giveBack(attempt);
  };
  const shown = await readAll(context, reply, taken, holder).catch((fault) => {
    giveBack();
    throw fault;
  });
  const [first] = shown;
  if (first === undefined) return reply.code(204).send();
  unlessSent(reply, giveBack);
  if (form === "json") return sendJson(reply, shown);
  if (first.traceparent !== undefined) reply.header("traceparent", first.traceparent);
  const after = first.after?.join(",") ?? "";
  if (after !== "" && after.length <= afterHeaderMax) reply.header("Yard-After", after);
  return reply
    .header("Content-Type", mediaTypeHeader(first.payload))
    .header("X-Content-Type-Options", "nosniff")
    .header("Yard-Task", first.task)
    .header("Yard-Attempt", String(first.attempt))
    .header("Yard-Token", first.token)
    .header("Yard-Lease-Until", first.leaseUntil)
    .send(asBuffer(first.payload.bytes));
}

/** A client may accept at most 16 KiB of headers. Longer lists of ids are sent only in JSON. */
const afterHeaderMax = 4096;

const tooLargeForJson =
  "the next payload is too large for JSON; claim it with max=1 and Accept: application/octet-stream";

/** The first attempts that fit together; the others are left for the next claim. */
export function fitting<Some extends Pick<Assignment, "task">>(attempts: readonly Some[]): readonly Some[] {
  let bytes = 0;
  const end = attempts.findIndex(({ task }, index) => {
    bytes += task.payload.size;
    return bytes > (index === 0 ? jsonPayloadBytesMax : jsonBytesMax);
  });
  return end < 0 ? attempts : attempts.slice(0, end);
}

/**
 * "Sent" means that the system took the bytes; only heartbeats show that the worker read them. A
 * response also "finishes" when its socket breaks, and one behind another on its connection never
 * closes. So the socket's state is checked.
 */
function unlessSent({ raw, request }: FastifyReply, giveBack: () => void): void {
  const { socket } = request.raw;
  if (socket.destroyed) {
    giveBack();
    return;
  }
  socket.once("close", giveBack);
  raw.once("finish", () => {
    if (socket.errored === null && !socket.destroyed) socket.off("close", giveBack);
  });
}

/** Reads the payloads of all claimed attempts, once there is room for their bytes. */
async function readAll(
  context: HttpContext,
  reply: FastifyReply,
  taken: readonly Assignment[],
  holder: Holder,
): Promise<Shown[]> {
  holdAnswer(
    context,
    reply,
    taken.reduce((sum, { task }) => sum + task.payload.size, 0),
  );
  const shown = await Promise.all(taken.map((assignment) => show(context, assignment, holder)));
  return shown.filter((one) => one !== undefined);
}

interface Shown {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
  readonly leaseUntil: string;
  readonly payload: Body;
  readonly traceparent: string | undefined;
  readonly after: readonly string[] | undefined;
}

async function show(
  context: HttpContext,
  assignment: Assignment,
  holder: Holder,
): Promise<Shown | undefined> {
  const { port, tokens, traces } = context;
  const { task, attempt, leaseMs } = assignment;
  const leaseUntil = timeJson(later(port.now().wall, leaseMs));
  const token = tokens.make(task.id, attempt, holder);
  const payload = task.payload.bytes ? task.payload : await readPayload(context, assignment);
  if (payload === undefined) return undefined;
  const traceparent = traces?.traceparentOf(task.id, attempt);
  const after = task.relations?.after.length ? task.relations.after.map(String) : undefined;
  return { task: String(task.id), attempt, token, leaseUntil, payload, traceparent, after };
}

/** Reads an out-of-line payload. If it cannot be read, only its own attempt fails. */
export async function readPayload(
  { port, exchange }: Pick<HttpContext, "port" | "exchange">,
  assignment: Assignment,
): Promise<Body | undefined> {
  const { id } = assignment.task;
  let message = `the payload of task ${id} is not there`;
  try {
    const payload = await port.reads.body(id, "payload");
    if (payload !== undefined) return payload;
  } catch (error) {
    message = error instanceof Error ? error.message : String(error);
  }
  exchange.failUnreadable(assignment, message);
  return undefined;
}

function sendJson(reply: FastifyReply, shown: readonly Shown[]): FastifyReply {
  const bytes = shown.reduce((sum, { payload }) => sum + payload.size, 0);
  if (bytes <= atOnceBytesMax)
    return reply.send({
      attempts: shown.map((one) => json(one, asBuffer(one.payload.bytes).toString("base64"))),
    });
  return reply
    .header("Content-Type", "application/json; charset=utf-8")
    .send(Readable.from(piecesOf(shown), { objectMode: false, highWaterMark: 2 * pieceBytes }));
}

function json({ payload, ...shown }: Shown, base64: string) {
  return { ...shown, contentType: payload.mediaType, payload: base64 };
}

/** The same answer, piece by piece. */
function* piecesOf(attempts: readonly Shown[]): Generator<Buffer> {
  for (const [index, attempt] of attempts.entries()) {
    // `payload` is the last property: its text goes in front of the closing `"}`.
    const text = JSON.stringify(json(attempt, ""));
    yield Buffer.from(`${index === 0 ? '{"attempts":[' : ","}${text.slice(0, -2)}`);
    const bytes = asBuffer(attempt.payload.bytes);
    for (let at = 0; at < bytes.length; at += pieceBytes)
      yield Buffer.from(bytes.toString("base64", at, at + pieceBytes), "latin1");
    yield Buffer.from('"}');
  }
  yield Buffer.from("]}");
}
