// Progress that a program reports on file descriptor 3: a line each.

import type { Readable } from "node:stream";
import type { WorkContext } from "@yardmaster/sdk";

/** A longer line is no report. As much as the dispatcher takes, and room for a message. */
const lineLengthMax = 8192;

/**
 * Hands each line to the context. A line that cannot be reported is dropped and told to `onBad`.
 */
export function reportLines(
  stream: Readable,
  context: Pick<WorkContext, "progress">,
  onBad: (words: string) => void,
): void {
  let rest = "";
  let isTooLong = false;
  let last: unknown = null;
  const take = (line: string) => {
    if (line.trim() === "") return;
    const { value = last, message } = readReport(line);
    last = value;
    try {
      context.progress(value, message);
    } catch (fault) {
      onBad((fault as Error).message);
    }
  };
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (isTooLong) isTooLong = false;
      else take(line);
    }
    if (rest.length <= lineLengthMax) return;
    if (!isTooLong) onBad(`a line of over ${lineLengthMax} characters on file descriptor 3`);
    isTooLong = true;
    rest = "";
  });
  stream.on("end", () => {
    if (!isTooLong) take(rest);
  });
  // The program need not keep it open.
  stream.on("error", () => {});
}

/**
 * `0.4`, `0.4 frame 12`, `40%`, `{"progress": 0.4, "message": "frame 12"}`, other JSON, or a
 * message alone.
 */
export function readReport(line: string): { readonly value?: unknown; readonly message?: string } {
  const [, number, percent, message] = /^\s*(\d+(?:\.\d*)?|\.\d+)(%?)(?:\s+(.*?))?\s*$/.exec(line) ?? [];
  if (number !== undefined) {
    const value = Number(number) / (percent === "%" ? 100 : 1);
    return message ? { value, message } : { value };
  }
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { message: line.trim() };
  }
  if (typeof value !== "object" || value === null || !("progress" in value || "message" in value))
    return { value };
  const said = value as { readonly progress?: unknown; readonly message?: unknown };
  return {
    ...(said.progress !== undefined && { value: said.progress }),
    ...(typeof said.message === "string" && { message: said.message }),
  };
}
