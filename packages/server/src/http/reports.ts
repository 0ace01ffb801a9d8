// Progress that a worker reports with a beat: what it may be, and what of it is kept.

import { reportLengthMax, type TaskReport } from "@yardmaster/core";
import { isNestedDeeper } from "@yardmaster/dialects";
import * as z from "zod";
import { Problem } from "./problems.js";
import { explainIssue } from "./validation.js";

/** Deeper than any report for people, and shallow enough to be written again. */
const nestingMax = 100;
/** As long as the message of an error. */
const messageLengthMax = 1024;

const progressExpected = `a number from 0 to 1, or other JSON of at most ${reportLengthMax} bytes`;
const messageExpected = `text of at most ${messageLengthMax} characters`;

/** What a beat may say, in a body of its own or in a line of a batch. */
export const reportFields = {
  progress: z.unknown().refine(isReportable, { error: progressExpected }).optional(),
  message: z.string({ error: messageExpected }).max(messageLengthMax, { error: messageExpected }).optional(),
};

const reportBody = z.strictObject(reportFields, {
  error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "a JSON object {progress?, message?}"),
});

type Report = Omit<TaskReport, "at">;

/** Undefined if nothing is said. */
export function reportIn({ progress, message }: z.output<typeof reportBody>): Report | undefined {
  if (progress === undefined && message === undefined) return undefined;
  return { value: progress === undefined ? undefined : JSON.stringify(progress), message };
}

/** The report in the body of a beat. Most beats have none. */
export function reportOf(body: unknown): Report | undefined {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  let data: unknown;
  try {
    data = JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new Problem("bad_request", "the body is not JSON; expected {progress?, message?}", { cause });
  }
  const parsed = reportBody.safeParse(data);
  if (parsed.success) return reportIn(parsed.data);
  const explained = explainIssue(parsed.error.issues[0], { schema: reportBody, data, what: "property" });
  throw new Problem("bad_request", explained);
}

function isReportable(value: unknown): boolean {
  if (typeof value === "number") return value >= 0 && value <= 1;
  if (value === undefined || isNestedDeeper(value, nestingMax)) return value === undefined;
  return Buffer.byteLength(JSON.stringify(value)) <= reportLengthMax;
}
