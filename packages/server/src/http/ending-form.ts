// The written form of a worker's report that an attempt ended, alone or in a batch.

import { errorDetailMax } from "@yardmaster/core";
import * as z from "zod";
import { anyText, base64, mediaType, taskPath } from "./parameters.js";
import { reportFields } from "./reports.js";

/** The task keeps the first 1,024 characters. */
const messageLengthMax = 16_384;
const detailError = `detail: text of at most ${errorDetailMax} characters`;
const messageError = `message: text of 1 to ${messageLengthMax} characters`;
const codeError = "code: 1 to 64 of A-Z a-z 0-9 . _ -";

export const failure = z.strictObject(
  {
    code: z
      .string({ error: codeError })
      .regex(/^[\w.-]{1,64}$/, { error: codeError })
      .optional(),
    message: z
      .string({ error: messageError })
      .min(1, { error: messageError })
      .max(messageLengthMax, { error: messageError })
      .meta({ description: "The first 1,024 characters are kept." }),
    detail: z
      .string({ error: detailError })
      .max(errorDetailMax, { error: detailError })
      .meta({ description: "Such as a stack trace." })
      .optional(),
  },
  { error: "a JSON object {code?, message, detail?}" },
);

const onlyTrue = z.literal(true, { error: "true" });

/** A line of a batch of ended attempts. */
export const endingItem = z.strictObject(
  {
    task: taskPath.shape.id,
    attempt: z.number({ error: "an attempt's number" }).int({ error: "an attempt's number" }).positive(),
    token: z.string({ error: "the attempt's token" }).optional(),
    result: anyText(),
    resultBase64: base64().optional(),
    contentType: mediaType().optional(),
    error: failure.optional(),
    return: onlyTrue.meta({ description: "Gives the task back." }).optional(),
    beat: onlyTrue.meta({ description: "Keeps the lease." }).optional(),
    ...reportFields,
  },
  { error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "a JSON object") },
);
