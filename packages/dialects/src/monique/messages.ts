// Messages of the monique dialect, without their bytes. Clause numbers refer to
// docs/dialects/monique.md.

export const messageTypes = ["config", "result", "error", "data"] as const;
export type MessageType = (typeof messageTypes)[number];

/**
 * [monique 1.4] The form of a message. All are read; the one that is written depends on the
 * receiver. The first four are those of the program's history, the others are readings of the
 * document.
 */
export type MoniqueForm = "d0" | "d1" | "d2" | "d3" | "d4" | "d5" | "d6" | "d7";

export interface FormShape {
  /** True if the tag and ids are MessagePack bin; otherwise both are text. */
  readonly wrapsTag: boolean;
  readonly hasBinKeys: boolean;
  /**
   * True if `type` and `data` say what it is; otherwise the body's own key does: `config`,
   * `result`, `error` or `data`.
   */
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

/** [monique 2.1] The fields that are known whatever the content is. */
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
  /** [monique 5.1] 0 means never. */
  readonly expiresAt: number;
  /** JSON or MessagePack, if the sender follows the document. */
  readonly encoding: string;
  readonly data: Buffer;
}

/** [monique 1.3] Why a message is refused. */
export type MoniqueFault = "frame_count" | "bad_tag" | "unknown_type" | "two_outcomes";

/** [monique 2.4] Why a message is routed by its tag alone. */
export type ContentFault = "unreadable_content" | "bad_content";

/** [monique 3.7] The document's error numbers. */
export const errorCodes = { killed: 301, component: 500 } as const;

/** [monique 6] The program's own specs, which do not follow its grammar. */
export const ownSpecs = {
  kill: "kill",
  monitoring: "monitoring",
  monitor: "monitor",
  error: "error",
} as const;
