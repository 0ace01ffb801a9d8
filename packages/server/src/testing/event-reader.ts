// For tests: reads a stream of server-sent events one by one.

export interface ReadEvent {
  readonly id: string;
  readonly event: string;
  readonly data: never;
}

export class EventReader {
  readonly #stop = new AbortController();
  readonly #events: AsyncGenerator<ReadEvent>;
  lastId = "";

  private constructor(response: Response, stop: AbortController) {
    this.#stop = stop;
    this.#events = eventsOf(response);
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
    const stop = new AbortController();
    const response = await fetch(url, { headers, signal: stop.signal });
    if (response.status !== 200) throw new Error(`answered with ${response.status}`);
    return new EventReader(response, stop);
  }

  /** The next event; undefined when the stream ended. */
  async next(): Promise<ReadEvent | undefined> {
    const { value, done } = await this.#events.next();
    if (done) return undefined;
    if (value.id !== "") this.lastId = value.id;
    return value;
  }

  /** Reads until an event matches. */
  async until(isWanted: (event: ReadEvent) => boolean): Promise<ReadEvent> {
    for (;;) {
      const event = await this.next();
      if (event === undefined) throw new Error("the stream ended");
      if (isWanted(event)) return event;
    }
  }

  close(): void {
    this.#stop.abort();
  }
}

async function* eventsOf(response: Response): AsyncGenerator<ReadEvent> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const blocks = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(
        block
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
      );
      const data = fields.get("data");
      if (data === undefined) continue;
      yield { id: fields.get("id") ?? "", event: fields.get("event") ?? "", data: JSON.parse(data) as never };
    }
  }
}
