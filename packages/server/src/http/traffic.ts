// The http door's own messages for the wire tap: a request and its answer, when it has been given.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Tap } from "../door-kit/tap.js";

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
  tap.show({ door, direction: "in", peer, type, bytes: bytesIn, content: asked });
  const content = { status: reply.statusCode };
  tap.show({ door, direction: "out", peer, type, bytes: bytesOut, content });
}
