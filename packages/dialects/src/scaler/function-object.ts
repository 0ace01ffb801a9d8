// How our own worker interprets a function object: a name, or JSON that contains one. The original
// program sends pickled code, which is never loaded.

export interface FunctionObject {
  readonly name: string;
  /** How arguments and result are encoded. If absent, the worker's default applies. */
  readonly serializer?: string;
}

/** A longer object is not a function name. */
const functionObjectBytesMax = 4_096;
const strictly = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** [scaler 10.1] Undefined if the object names no function. */
export function readFunctionObject(bytes: Buffer): FunctionObject | undefined {
  if (bytes.length === 0 || bytes.length > functionObjectBytesMax) return undefined;
  const text = textOf(bytes);
  if (text === undefined) return undefined;
  return text.startsWith("{") ? readJson(text) : { name: text };
}

/** Writes only the name when there is nothing else, so that the simplest worker can read it. */
export function writeFunctionObject({ name, serializer }: FunctionObject): Buffer {
  const isPlain = serializer === undefined && !name.startsWith("{");
  return Buffer.from(isPlain ? name : JSON.stringify({ function: name, serializer }));
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return strictly.decode(bytes);
  } catch {
    return undefined;
  }
}

function readJson(text: string): FunctionObject | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { function: name, serializer } = value as Record<string, unknown>;
  if (typeof name !== "string" || name === "") return undefined;
  return typeof serializer === "string" ? { name, serializer } : { name };
}
