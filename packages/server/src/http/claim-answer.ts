// The answer to a claim: one payload raw, or several in JSON. What does not reach the worker goes back untried.

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

/** Base64 of more does not fit into one string. */
export const jsonPayloadBytesMax = 400_000_000;

export async function sendAttempts(
  context: HttpContext,
  reply: FastifyReply,
  { attempts, holder, form }: ClaimAnswer,
): Promise<FastifyReply> {
  const taken = form === "raw" ? attempts.slice(0, 1) : fitting(attempts, jsonPayloadBytesMax);
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
  if (form === "json") return reply.send({ attempts: shown.map(json) });
  if (first.traceparent !== undefined) reply.header("traceparent", first.traceparent);
  return reply
    .header("Content-Type", mediaTypeHeader(first.payload))
    .header("X-Content-Type-Options", "nosniff")
    .header("Yard-Task", first.task)
    .header("Yard-Attempt", String(first.attempt))
    .header("Yard-Token", first.token)
    .header("Yard-Lease-Until", first.leaseUntil)
    .send(asBuffer(first.payload.bytes));
}

const tooLargeForJson =
  "the next payload is too large for JSON; claim it with max=1 and Accept: application/octet-stream";

/** As many from the front as fit together; the rest is left for the next claim. */
export function fitting<Some extends Pick<Assignment, "task">>(
  attempts: readonly Some[],
  bytesMax: number,
): readonly Some[] {
  let bytes = 0;
  const end = attempts.findIndex(({ task }) => {
    bytes += task.payload.size;
    return bytes > bytesMax;
  });
  return end < 0 ? attempts : attempts.slice(0, end);
}

/**
 * Sent is what the system took; whether the worker read it, only its beats can tell. A response also "finishes" when its
 * socket broke, and one that stands behind another on its connection never closes: so the socket is asked.
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

/** All that can be read of what was taken, once there is room for their bytes. */
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
  return { task: String(task.id), attempt, token, leaseUntil, payload, traceparent };
}

/** A payload that lies apart. One that cannot be read fails its attempt and nothing else. */
async function readPayload(
  { port, exchange }: HttpContext,
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

function json({ payload, ...shown }: Shown) {
  return { ...shown, contentType: payload.mediaType, payload: asBuffer(payload.bytes).toString("base64") };
}
