// `GET /v1/me`: who the caller is, and what it may do. The page hides what its reader may not do.

import { type Right, rightNames } from "../access/rights.js";
import { operation } from "./operation.js";
import { meSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";

export function addMeRoute(app: HttpServer): void {
  app.get("/v1/me", meOperation, ({ login: { principal, kind } }) => ({
    principal: principal.by ?? null,
    credential: kind,
    rights: Object.fromEntries(
      rightNames.map((name): [Right, readonly string[]] => [name, principal.rights.patterns(name)]),
    ),
  }));
}

const meOperation = operation({
  id: "getMe",
  tag: "yard",
  summary: "Who the caller is, and what it may do",
  answers: { 200: { is: "The principal, its credential and its rights", json: meSchema } },
});
