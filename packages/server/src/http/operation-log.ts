// One log line for each order of an operator: who did what, and with which outcome. Only where
// principals are known, because an address alone says little.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";

const urlShownMax = 200;

export function noteOperation(log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const { right, operation } = request.routeOptions.config;
  if (typeof right !== "object" || right[0] !== "operate") return;
  const principal = request.login?.principal.by;
  if (principal === undefined) return;
  const { ip: peer, url } = request;
  const status = reply.statusCode;
  log.info(
    { door: "http", principal, peer, operation: operation?.id, path: url.slice(0, urlShownMax), status },
    "an operator's order",
  );
}
