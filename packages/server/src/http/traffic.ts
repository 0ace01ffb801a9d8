// The http door's messages for the wire tap: a request and its answer, once sent.

import type { TaskId } from "@yardmaster/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Side, Tap } from "../door-kit/tap.js";

const door = "http";
const urlShownMax = 500;

export function noteAnswer(tap: Tap, request: FastifyRequest, reply: FastifyReply): void {
  const type = request.routeOptions.config.operation?.id ?? "unknown";
  const bytesIn = Number(request.headers["content-length"] ?? 0);
  const bytesOut = Number(reply.getHeader("content-length") ?? 0);
  tap.count(door, "in", type, bytesIn);
  tap.count(door, "out", type, bytesOut);
  if (!tap.isOpen) return;
  const { method, url, ip: peer } = request;
  const asked = { method, url: url.slice(0, urlShownMax) };
  const side = sideOf(request);
  const task = taskOf(url) ?? taskOf(String(reply.getHeader("location") ?? "")) ?? claimedBy(reply);
  const fault = reply.statusCode >= 400 && reply.statusCode < 500 ? { fault: String(reply.statusCode) } : {};
  const common = { door, side, peer, type, ...(task === undefined ? {} : { task }) };
  tap.show({ ...common, ...fault, direction: "in", bytes: bytesIn, content: asked });
  tap.show({ ...common, direction: "out", bytes: bytesOut, content: { status: reply.statusCode } });
}

/** Workers use attempts and claims. All other peers count as clients. */
function sideOf(request: FastifyRequest): Side {
  const { tag, id } = request.routeOptions.config.operation ?? {};
  return tag === "attempts" || id === "leaveWorker" ? "worker" : "client";
}

/** The task that an API path names. */
function taskOf(path: string): TaskId | undefined {
  const id = /^\/v1\/tasks\/(\d{1,16})/.exec(path)?.[1];
  return id === undefined ? undefined : (Number(id) as TaskId);
}

/** The task in the raw answer to a claim. */
function claimedBy(reply: FastifyReply): TaskId | undefined {
  const id = reply.getHeader("yard-task");
  return id === undefined ? undefined : (Number(id) as TaskId);
}
