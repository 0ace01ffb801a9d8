// A stream of events from the http door that continues after a lost connection.

import type { ListenOptions, StreamEvent } from "../client.js";
import { UnreachableError, YardError } from "../errors.js";
import { pause } from "../pause.js";
import { type HttpConnection, refusal } from "./connection.js";
import { EventStreamParser, type RawEvent } from "./event-stream.js";

const firstPauseMs = 250;
const pauseMsMax = 5_000;

/** The first connection must succeed. Later ones are retried without limit. */
export async function* listen(
  connection: HttpConnection,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  { signal, lastEventId }: ListenOptions,
): AsyncGenerator<StreamEvent> {
  let last = lastEventId;
  let hasHeard = false;
  let pauseMs = firstPauseMs;
  while (!signal?.aborted) {
    try {
      const opened = () => {
        hasHeard = true;
      };
      for await (const { id, type, data } of connected(connection, path, { query, last, signal, opened })) {
        if (id !== "") last = id;
        pauseMs = firstPauseMs;
        if (signal?.aborted) return;
        yield { id, type, data: read(data) };
      }
    } catch (fault) {
      if (signal?.aborted) return;
      if (!hasHeard || !(fault instanceof UnreachableError || isPassing(fault))) throw fault;
    }
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, pauseMsMax);
  }
}

function isPassing(fault: unknown): boolean {
  return fault instanceof YardError && (fault.code === "not_ready" || fault.code === "not_owner");
}

interface Listening {
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly last: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly opened: () => void;
}

async function* connected(
  connection: HttpConnection,
  path: string,
  { query, last, signal, opened }: Listening,
): AsyncGenerator<RawEvent> {
  const response = await connection.open(path, {
    query,
    headers: {
      Accept: "text/event-stream",
      ...(last === undefined ? {} : { "Last-Event-ID": last }),
    },
    signal,
  });
  const parser = new EventStreamParser();
  response.setEncoding("utf8");
  try {
    if (response.statusCode !== 200) {
      let text = "";
      for await (const piece of response as AsyncIterable<string>) text += piece;
      throw refusal(response.statusCode ?? 0, Buffer.from(text), connection.where);
    }
    opened();
    for await (const piece of response as AsyncIterable<string>) yield* parser.push(piece);
  } catch (fault) {
    if (fault instanceof YardError) throw fault;
    throw new UnreachableError(connection.where, fault);
  } finally {
    response.destroy();
  }
}

function read(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}
