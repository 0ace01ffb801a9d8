// A peer's end of one http connection: it writes requests and reads answers, byte by byte if they
// come that way.

import type { GoneReason } from "@yardmaster/zmtp";
import { httpEndpoint } from "./http-listener.js";
import type { Item } from "./pipe.js";
import type { Line, Streams } from "./streams.js";
import type { Process } from "./world.js";

export interface Request {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** What is to be done with an answer. */
export interface Hearing {
  /** The whole answer is there. */
  answered(answer: Answer): void;
  /** The connection is gone before that. */
  cut(): void;
  /** Called with each part of an endless answer, which has no length. */
  part?(bytes: string): void;
}

interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Undefined if the answer ends with its connection. */
  readonly length: number | undefined;
}

const headEnd = "\r\n\r\n";

export class HttpConnection {
  readonly #streams: Streams;
  readonly #line: Line;
  #hearing: Hearing | undefined;
  /** One character per byte. */
  #read = "";
  #head: Head | undefined;
  #isOver = false;

  private constructor(streams: Streams, process: Process) {
    this.#streams = streams;
    const line = streams.connect(
      { endpoint: httpEndpoint, identity: "", socketType: "STREAM" },
      { process, take: (item) => this.#take(item) },
    );
    this.#line = line as Line;
  }

  /** Undefined if there is no listener. */
  static open(streams: Streams, process: Process): HttpConnection | undefined {
    const connection = new HttpConnection(streams, process);
    return connection.#line === undefined ? undefined : connection;
  }

  /** True if it can take another request. */
  get isIdle(): boolean {
    return this.#hearing === undefined && !this.#isOver;
  }

  send({ method = "POST", path, body = "", headers = {} }: Request, hearing: Hearing): void {
    this.#hearing = hearing;
    const bytes = Buffer.from(body);
    const lines = Object.entries({ Host: "localhost", "Content-Length": String(bytes.length), ...headers });
    const head = `${method} ${path} HTTP/1.1\r\n${lines.map((line) => `${line.join(": ")}\r\n`).join("")}\r\n`;
    this.#line.toRouter.put({ type: "message", frames: [Buffer.from(head)] });
    if (bytes.length > 0) this.#line.toRouter.put({ type: "message", frames: [bytes] });
  }

  /** Reads nothing more for now. */
  hold(): void {
    this.#line.toPeer.hold();
  }

  release(): void {
    this.#line.toPeer.release();
    this.#line.onRead?.();
  }

  close(): void {
    this.#isOver = true;
    this.#hearing = undefined;
    this.#streams.hangUp(this.#line);
  }

  #take(item: Item<GoneReason>): void {
    if (this.#isOver) return;
    if (item.type === "message") {
      this.#read += item.frames[0]?.toString("latin1");
      this.#line.onRead?.();
      this.#readOn(false);
    } else if (item.type === "gone") {
      this.#isOver = true;
      this.#line.isWhole = false;
      this.#line.toRouter.end("closed");
      this.#readOn(item.reason === "closed");
      this.#hearing?.cut();
      this.#hearing = undefined;
    }
  }

  #readOn(isEnd: boolean): void {
    this.#head ??= this.#takeHead();
    const head = this.#head;
    if (head === undefined || this.#hearing === undefined) return;
    if (head.length === undefined && this.#hearing.part !== undefined) {
      const text = this.#read;
      this.#read = "";
      if (text !== "") this.#hearing.part(text);
      return;
    }
    const length = head.length ?? (isEnd ? this.#read.length : Number.POSITIVE_INFINITY);
    if (this.#read.length < length) return;
    const body = Buffer.from(this.#read.slice(0, length), "latin1").toString();
    this.#read = this.#read.slice(length);
    const hearing = this.#hearing;
    this.#hearing = undefined;
    this.#head = undefined;
    const mustClose = head.headers.get("connection") === "close";
    if (mustClose && !this.#isOver) this.close();
    hearing.answered({ status: head.status, headers: head.headers, body });
  }

  #takeHead(): Head | undefined {
    const at = this.#read.indexOf(headEnd);
    if (at < 0) return undefined;
    const [first = "", ...lines] = this.#read.slice(0, at).split("\r\n");
    this.#read = this.#read.slice(at + headEnd.length);
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    );
    const status = Number(first.split(" ")[1]);
    const length = status === 204 ? "0" : headers.get("content-length");
    return { status, headers, length: length === undefined ? undefined : Number(length) };
  }
}
