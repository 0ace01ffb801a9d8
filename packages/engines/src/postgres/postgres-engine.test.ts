import { after, before, describe } from "node:test";
import { engineConformance } from "../conformance.js";
import { TestServer, withoutPostgres } from "./testing/server.js";

describe("postgres engine", { skip: withoutPostgres }, () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start({ fsync: "off" });
  });
  after(() => server.destroy());

  // Folded at once in the caller's thread. two-engines.test.ts runs the engine with its thread.
  const create = () => server.site({ isLocal: true });
  engineConformance("postgres", { create, propertyRuns: 4 });
});
