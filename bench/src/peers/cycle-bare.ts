// A bare fastify server that accepts tasks, hands them out and records that they are done, with a
// Map: the speed of the framework with three requests per task.

import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { cpuOnOrder, report } from "./child.js";

interface Held {
  readonly body: Buffer;
  state: string;
}

const app = fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
const tasks = new Map<number, Held>();
const waiting: number[] = [];
let first = 0;
let last = 0;
app.post("/v1/queues/:queue/tasks", ({ body }, reply) => {
  last += 1;
  tasks.set(last, { body: body as Buffer, state: "waiting" });
  waiting.push(last);
  reply.code(201).send({ id: String(last) });
});
app.post("/v1/queues/:queue(.*)::claim", (_request, reply) => {
  const id = waiting[first++];
  const task = id === undefined ? undefined : tasks.get(id);
  if (id === undefined || task === undefined) {
    first -= 1;
    reply.code(204).send();
    return;
  }
  if (first > 1_000) {
    waiting.splice(0, first);
    first = 0;
  }
  task.state = "running";
  reply.send({
    attempts: [{ task: String(id), attempt: 1, token: "t", payload: task.body.toString("base64") }],
  });
});
app.post<{ Params: { id: string } }>("/v1/tasks/:id/attempts/:n(.*)::done", ({ params }, reply) => {
  tasks.delete(Number(params.id));
  reply.send({ id: params.id });
});
await app.listen({ host: "127.0.0.1", port: 0 });
cpuOnOrder();
report({ address: `127.0.0.1:${(app.server.address() as AddressInfo).port}` });
