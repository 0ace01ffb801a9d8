// A bare fastify route that reads a body and answers 201: the speed of the framework.

import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { cpuOnOrder, report } from "./child.js";

const app = fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
let last = 0;
app.post("/v1/queues/:queue/tasks", (_request, reply) => {
  last += 1;
  reply.code(201).send({ id: String(last) });
});
await app.listen({ host: "127.0.0.1", port: 0 });
cpuOnOrder();
report({ address: `127.0.0.1:${(app.server.address() as AddressInfo).port}` });
