// What monique's peers say to each other, without a byte. Clause numbers are those of docs/dialects/monique.md.

export const messageTypes = ["config", "result", "error", "data"] as const;
export type MessageType = (typeof messageTypes)[number];

/**
 * [monique 1.4] How a message is written. All are read; which one is written follows from who is to read it. The first four
 * are those of the program's history, the others what a reader of the document may make of it.
 */
export type MoniqueForm = "d0" | "d1" | "d2" | "d3" | "d4" | "d5" | "d6" | "d7";

export interface FormShape {
  /** The tag is a bin of MessagePack, and so are ids; otherwise both are text. */
  readonly wrapsTag: boolean;
  readonly hasBinKeys: boolean;
  /** `type` and `data` say what it is; otherwise the body's own key does: `config`, `result`, `error` or `data`. */
  readonly namesType: boolean;
}

export const formShapes: Readonly<Record<MoniqueForm, FormShape>> = {
  d0: { wrapsTag: true, hasBinKeys: true, namesType: false },
  d1: { wrapsTag: true, hasBinKeys: true, namesType: true },
  d2: { wrapsTag: true, hasBinKeys: false, namesType: true },
  d3: { wrapsTag: false, hasBinKeys: false, namesType: true },
  d4: { wrapsTag: false, hasBinKeys: false, namesType: false },
  d5: { wrapsTag: false, hasBinKeys: true, namesType: false },
  d6: { wrapsTag: false, hasBinKeys: true, namesType: true },
  d7: { wrapsTag: true, hasBinKeys: false, namesType: false },
};

/** [monique 2.1] What can be known of a message whatever its content is. */
export interface MoniqueHeader {
  readonly type: MessageType;
  readonly spec: string;
  readonly id: string;
  /** The question that this answers; empty if none. */
  readonly pid: string;
  readonly creator: string;
}

export interface MoniqueMessage extends MoniqueHeader {
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** [monique 5.1] 0 is never. */
  readonly expiresAt: number;
  /** JSON or MessagePack, if the sender keeps to the document. */
  readonly encoding: string;
  readonly data: Buffer;
}

/** [monique 1.3] Why a message is not taken at all. */
export type MoniqueFault = "frame_count" | "bad_tag" | "unknown_type" | "two_outcomes";

/** [monique 2.4] Why a message is routed by its tag alone. */
export type ContentFault = "unreadable_content" | "bad_content";

/** [monique 3.7] The document's numbers for what went wrong. */
export const errorCodes = { killed: 301, component: 500 } as const;

/** [monique 6] The program's own specs, which its grammar does not know. */
export const ownSpecs = {
  kill: "kill",
  monitoring: "monitoring",
  monitor: "monitor",
  error: "error",
} as const;
