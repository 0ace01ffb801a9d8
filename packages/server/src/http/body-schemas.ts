// The schemas of request bodies in the API's description. They are generated from the forms that
// validate the bodies, so a client that follows the description is not refused.

import * as z from "zod";
import { queueSettingsPatch } from "../config/queue-settings.js";
import { scheduleForm } from "../schedules/form.js";
import { endingItem, failure } from "./ending-form.js";
import type { JsonSchema } from "./operation.js";
import { graphItem, heldItem, submitItem } from "./parameters.js";

const int32Max = 2 ** 31 - 1;
/** `payload` and `payloadBase64` exclude each other. */
const onePayload = { not: { required: ["payload", "payloadBase64"] } };

/** One line of a batch of tasks. */
export const submissionSchema = { ...schemaOf(submitItem), ...onePayload };

/** One task of a graph. */
export const graphItemSchema = { ...schemaOf(graphItem), ...onePayload };

/** One line of the attempts that a worker with a stream still holds. */
export const heldSchema = schemaOf(heldItem);

export const failureSchema = schemaOf(failure);

/** One line of a batch of ended attempts. */
export const endingSchema = schemaOf(endingItem);

/** The body of a change of settings. `null` resets one. */
export const queuePatchSchema = schemaOf(queueSettingsPatch);

export const scheduleFormSchema = {
  ...schemaOf(scheduleForm),
  ...onePayload,
  oneOf: [{ required: ["cron"] }, { required: ["every"] }],
};

function schemaOf(form: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(form, {
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => addFormat(jsonSchema),
  });
  return schema as JsonSchema;
}

/** Generated clients choose the type of a whole number by its format. */
function addFormat(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.type !== "integer") return;
  const { minimum = -Infinity, maximum = Infinity } = schema;
  schema.format = minimum >= -int32Max - 1 && maximum <= int32Max ? "int32" : "int64";
}
