// Parses server-sent events from pieces of text, as the HTML standard defines them, as far as a
// client other than a browser needs it.

import { YardError } from "../errors.js";

export interface RawEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

/** A larger event is an error: the API sends none. */
const eventCharactersMax = 64 * 1024 * 1024;

export class EventStreamParser {
  #text = "";
  #id = "";
  #type = "";
  #data: string[] = [];
  #dataLength = 0;

  /** The events that this piece of text completes. */
  push(piece: string): RawEvent[] {
    this.#text += piece;
    const lines = this.#text.split(/\r\n|\n|\r(?!$)/);
    this.#text = lines.pop() ?? "";
    if (this.#text.length > eventCharactersMax) throw tooLarge();
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): RawEvent | undefined {
    if (line === "") return this.#end();
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "data") {
      this.#dataLength += value.length;
      if (this.#dataLength > eventCharactersMax) throw tooLarge();
      this.#data.push(value);
    } else if (name === "event") this.#type = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return undefined;
  }

  #end(): RawEvent | undefined {
    const event = { id: this.#id, type: this.#type || "message", data: this.#data.join("\n") };
    const isEmpty = this.#data.length === 0;
    this.#type = "";
    this.#data = [];
    this.#dataLength = 0;
    return isEmpty ? undefined : event;
  }
}

function tooLarge(): YardError {
  return new YardError("answer_too_large", `an event of over ${eventCharactersMax} characters`);
}
