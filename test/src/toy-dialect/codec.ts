// The bytes of the toy dialect: a ZeroMQ message of three frames, which are a verb, an id and a
// body. No sockets, no clock: only bytes and values.

const verbs = ["submit", "accepted", "refused", "ready", "run", "done", "failed"] as const;
export type ToyVerb = (typeof verbs)[number];

export interface ToyMessage {
  readonly verb: ToyVerb;
  /** From and to a client: its own number for the task. From and to a worker: `TASK.ATTEMPT`. */
  readonly id: string;
  readonly body: Buffer;
}

export function encode({ verb, id, body }: ToyMessage): Buffer[] {
  return [Buffer.from(verb), Buffer.from(id), body];
}

/** Undefined if this is no message of the dialect: a peer's mistake is a value, never thrown. */
export function decode(frames: readonly Buffer[]): ToyMessage | undefined {
  const [head, id, body] = frames;
  const verb = verbs.find((known) => known === head?.toString());
  if (verb === undefined || id === undefined || id.length > 64 || body === undefined || frames.length > 3)
    return undefined;
  return { verb, id: id.toString(), body };
}
