// The answer to a claim: one payload raw, or several in JSON. What does not reach the worker goes back untried.

import { type Body, later } from "@yardmaster/core";
import type { FastifyReply } from "fastify";
import type { Holder } from "./attempt-token.js";
import { asBuffer, type HttpContext, mediaTypeHeader } from "./context.js";
import type { Assignment } from "./exchange.js";
import { timeJson } from "./task-json.js";

export interface ClaimAnswer {
  readonly attempts: readonly Assignment[];
  readonly holder: Holder;
  readonly form: "raw" | "json";
}

/** Base64 of this much still fits into one string; what is beyond it is left for the next claim. */
const jsonPayloadBytesMax = 268_435_456;

export async function sendAttempts(
  context: HttpContext,
  reply: FastifyReply,
  { attempts, holder, form }: ClaimAnswer,
): Promise<FastifyReply> {
  const taken = form === "raw" ? attempts.slice(0, 1) : fitting(attempts);
  for (const attempt of attempts.slice(taken.length)) context.exchange.giveBack(attempt);
  giveBackUnlessSent(context, reply, taken);
  const shown = await Promise.all(taken.map((assignment) => show(context, assignment, holder)));
  const [first] = shown;
  if (form === "json" || !first) return reply.send({ attempts: shown.map(json) });
  return reply
    .header("Content-Type", mediaTypeHeader(first.payload))
    .header("X-Content-Type-Options", "nosniff")
    .header("Yard-Task", first.task)
    .header("Yard-Attempt", String(first.attempt))
    .header("Yard-Token", first.token)
    .header("Yard-Lease-Until", first.leaseUntil)
    .send(asBuffer(first.payload.bytes));
}

/** The first always goes: alone it is within the limit of every payload. */
function fitting(attempts: readonly Assignment[]): readonly Assignment[] {
  let bytes = 0;
  const end = attempts.findIndex(({ task }, index) => {
    bytes += task.payload.size;
    return index > 0 && bytes > jsonPayloadBytesMax;
  });
  return end < 0 ? attempts : attempts.slice(0, end);
}

/**
 * Sent is what the system took; whether the worker read it, only its beats can tell. A response also "finishes" when its
 * socket broke, and one that stands behind another on its connection never closes: so the socket is asked.
 */
function giveBackUnlessSent(
  { exchange }: HttpContext,
  { raw, request }: FastifyReply,
  taken: readonly Assignment[],
): void {
  const { socket } = request.raw;
  const giveBack = () => {
    for (const attempt of taken) exchange.giveBack(attempt);
  };
  if (socket.destroyed) {
    giveBack();
    return;
  }
  socket.once("close", giveBack);
  raw.once("finish", () => {
    if (socket.errored === null && !socket.destroyed) socket.off("close", giveBack);
  });
}

async function show({ port, tokens }: HttpContext, assignment: Assignment, holder: Holder) {
  const { task, attempt, leaseMs } = assignment;
  const leaseUntil = timeJson(later(port.now().wall, leaseMs));
  const token = tokens.make(task.id, attempt, holder);
  const payload: Body = task.payload.bytes
    ? task.payload
    : ((await port.reads.body(task.id, "payload")) ?? { ...task.payload, bytes: new Uint8Array(0) });
  return { task: String(task.id), attempt, token, leaseUntil, payload };
}

function json({ payload, ...shown }: Awaited<ReturnType<typeof show>>) {
  return { ...shown, contentType: payload.mediaType, payload: asBuffer(payload.bytes).toString("base64") };
}
