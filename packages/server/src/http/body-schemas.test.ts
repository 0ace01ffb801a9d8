// The schemas that describe request bodies accept and refuse the same bodies as the forms that
// validate them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import type * as z from "zod";
import { queueSettingsPatch } from "../config/queue-settings.js";
import { scheduleForm } from "../schedules/form.js";
import {
  endingSchema,
  failureSchema,
  graphItemSchema,
  heldSchema,
  queuePatchSchema,
  scheduleFormSchema,
  submissionSchema,
} from "./body-schemas.js";
import { endingItem, failure } from "./ending-form.js";
import type { JsonSchema } from "./operation.js";
import { graphItem, heldItem, submitItem } from "./parameters.js";

interface Case {
  readonly form: z.ZodType;
  readonly schema: JsonSchema;
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
}

const badOptions = [
  { contentType: "" },
  { payloadBase64: "a" },
  { payloadBase64: "=" },
  { priority: 2 ** 31 },
  { priority: 0.5 },
  { attempts: 0 },
  { timeout: "0ms" },
  { timeout: "soon" },
  { expires: "" },
  { group: "" },
  { ifFailed: "wait" },
  { unknown: 1 },
];
const goodOptions = [
  { payload: { any: ["value"] }, priority: -5, delay: "0s", timeout: "1ms", group: "a" },
  { payloadBase64: "YQ==" },
  { payloadBase64: "YWI" },
  { payloadBase64: "", contentType: "text/plain" },
];
const inGraph = (options: object) => ({ name: "a", queue: "q", ...options });
const everyHour = (options: object) => ({ queue: "q", every: "1h", ...options });

const cases: Readonly<Record<string, Case>> = {
  "an item of a batch": {
    form: submitItem,
    schema: submissionSchema,
    good: [...goodOptions, { after: ["1", "2"] }],
    bad: [...badOptions, { key: "" }, { after: ["x"] }, { after: "1" }, [], null],
  },
  "an item of a graph": {
    form: graphItem,
    schema: graphItemSchema,
    good: [...goodOptions.map(inGraph), inGraph({ after: ["b", "7"] })],
    bad: [...badOptions.map(inGraph), { name: "a" }, { queue: "q" }, { name: "", queue: "q" }],
  },
  "an attempt that a worker holds": {
    form: heldItem,
    schema: heldSchema,
    good: [{ task: "1", attempt: 1 }],
    bad: [{ task: "0", attempt: 1 }, { task: "1", attempt: 0 }, { task: 1, attempt: 1 }, { task: "1" }],
  },
  "a failure": {
    form: failure,
    schema: failureSchema,
    good: [{ message: "no" }, { code: "a.b-c", message: "no", detail: "" }],
    bad: [{}, { message: "" }, { message: "no", code: "a b" }, { message: "x".repeat(16_385) }],
  },
  "an end of an attempt": {
    form: endingItem,
    schema: endingSchema,
    good: [
      { task: "1", attempt: 1, token: "t", result: [1] },
      { task: "1", attempt: 1, beat: true },
    ],
    bad: [
      { task: "1", attempt: 1, beat: false },
      { task: "1", attempt: 1, contentType: "" },
      { task: "1", attempt: 1, error: {} },
    ],
  },
  "settings of a queue": {
    form: queueSettingsPatch,
    schema: queuePatchSchema,
    good: [{}, { attempts: 1, rate: { tasks: 1, perSeconds: 0.5 }, backoff: {}, retention: null }],
    bad: [
      { attemptTimeoutSeconds: 0 },
      { attempts: 0 },
      { rate: { tasks: 0, perSeconds: 1 } },
      { rate: { tasks: 1 } },
      { backoff: { jitter: 2 } },
      { retention: { bytes: 0 } },
    ],
  },
  "a schedule": {
    form: scheduleForm,
    schema: scheduleFormSchema,
    good: [
      ...goodOptions.map(({ group: _, delay: __, ...options }) => everyHour(options)),
      { queue: "q", cron: "0 * * * *" },
    ],
    bad: [
      { queue: "q" },
      everyHour({ cron: "0 * * * *" }),
      everyHour({ payload: 1, payloadBase64: "" }),
      everyHour({ every: "999ms" }),
      everyHour({ contentType: "" }),
      everyHour({ overlap: "both" }),
    ],
  },
};

for (const [name, { form, schema, good, bad }] of Object.entries(cases)) {
  test(`the schema of ${name} describes what is validated`, () => {
    const described = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    for (const [values, expected] of [
      [good, true],
      [bad, false],
    ] as const)
      for (const value of values) {
        const shown = JSON.stringify(value).slice(0, 200);
        assert.equal(described(value), expected, `described: ${shown}`);
        assert.equal(form.safeParse(value).success, expected, `validated: ${shown}`);
      }
  });
}
