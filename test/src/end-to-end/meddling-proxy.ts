// An http proxy that does what networks and older dispatchers do: it loses answers, cuts streams in
// the middle of a line, or does not know a route.

import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * `lose`: the dispatcher gets the request, but the answer never arrives. `deny`: the route does not
 * exist.
 */
export type Meddling = "pass" | "lose" | "deny";

export interface MeddlingProxy {
  readonly url: string;
  /** Paths of the requests so far, without queries. */
  readonly seen: string[];
  meddle: (path: string) => Meddling;
  /** Sends requests to this URL from now on. */
  aim(url: string): void;
  /** Cuts every stream at its next bytes, in the middle of a line. */
  cutStreams(): void;
  close(): Promise<void>;
}

export async function startMeddlingProxy(first: string): Promise<MeddlingProxy> {
  let target = first;
  const cutting = new Set<ServerResponse>();
  const streaming = new Set<ServerResponse>();
  const forward = (asked: IncomingMessage, answer: ServerResponse, isLost: boolean) => {
    const { method, url, headers } = asked;
    const { host } = new URL(target);
    const onward = request(`${target}${url}`, { method, headers: { ...headers, host }, agent: false });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    onward.on("response", (response) => {
      if (isLost) {
        response.resume();
        response.on("close", () => answer.destroy());
        return;
      }
      answer.writeHead(response.statusCode ?? 500, response.headers);
      if (url?.includes(":work")) streaming.add(answer);
      response.on("error", () => answer.destroy());
      response.on("close", () => streaming.delete(answer));
      response.on("data", (chunk: Buffer) => {
        if (!cutting.delete(answer)) answer.write(chunk);
        else answer.write(chunk.subarray(0, chunk.length >> 1), () => answer.destroy());
      });
      response.on("end", () => answer.end());
    });
    asked.pipe(onward);
  };
  const server = createServer((asked, answer) => {
    const path = (asked.url ?? "").split("?")[0] ?? "";
    proxy.seen.push(path);
    const meddling = proxy.meddle(path);
    if (meddling !== "deny") forward(asked, answer, meddling === "lose");
    else
      answer
        .writeHead(404, { "Content-Type": "application/problem+json" })
        .end('{"code":"not_found","status":404}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: MeddlingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    meddle: () => "pass",
    aim: (url) => {
      target = url;
    },
    cutStreams: () => {
      for (const answer of streaming) cutting.add(answer);
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
