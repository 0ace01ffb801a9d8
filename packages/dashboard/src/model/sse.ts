// Server-sent events out of chunks of text. EventSource cannot send a token, so the page reads the
// stream itself.

export interface SentEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** More than any event of the dispatcher: a stream that never ends a line is cut off here. */
const heldCharactersMax = 64 * 1024 * 1024;

export class EventParser {
  #held = "";
  #data: string[] = [];
  #event = "";
  #id: string | undefined;

  /** The events that end in this chunk. */
  push(chunk: string): SentEvent[] {
    const text = this.#held + chunk;
    const events: SentEvent[] = [];
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = text.charCodeAt(end - 1) === 13 ? text.slice(start, end - 1) : text.slice(start, end);
      start = end + 1;
      const event = this.#line(line);
      if (event) events.push(event);
    }
    this.#held = text.slice(start);
    if (this.#held.length > heldCharactersMax) throw new Error("an event is larger than the page takes");
    return events;
  }

  #line(line: string): SentEvent | undefined {
    if (line === "") return this.#end();
    if (line.startsWith("data:")) this.#data.push(value(line, 5));
    else if (line.startsWith("event:")) this.#event = value(line, 6);
    else if (line.startsWith("id:")) this.#id = value(line, 3);
    return undefined;
  }

  #end(): SentEvent | undefined {
    const [data, event] = [this.#data, this.#event];
    this.#data = [];
    this.#event = "";
    return data.length === 0 ? undefined : { event: event || "message", data: data.join("\n"), id: this.#id };
  }
}

function value(line: string, from: number): string {
  return line.charCodeAt(from) === 32 ? line.slice(from + 1) : line.slice(from);
}
