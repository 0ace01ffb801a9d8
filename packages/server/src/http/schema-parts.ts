// The pieces that schemas of the API are made of.

export const text = { type: "string" } as const;
export const textOrNull = { type: ["string", "null"] } as const;
/** Formats help generated clients choose a type: values that may exceed 2³¹ are `int64`. */
export const integer = { type: "integer", format: "int32" } as const;
export const long = { type: "integer", format: "int64" } as const;
export const longOrNull = { type: ["integer", "null"], format: "int64" } as const;
export const count = { ...long, minimum: 0 } as const;
export const yesOrNo = { type: "boolean" } as const;
/** RFC 3339. */
export const time = { type: "string", format: "date-time" } as const;
export const timeOrNull = { type: ["string", "null"], format: "date-time" } as const;

/** A rate or a share. */
export const figure = { type: "number", minimum: 0 } as const;
/** Figures by a name. */
export const figuresBy = { type: "object", additionalProperties: figure } as const;

export function list<Schema>(items: Schema) {
  return { type: "array", items } as const;
}

/** All properties are required, except those in `optional`. */
export function object<Properties extends Record<string, unknown>>(
  properties: Properties,
  optional: string[] = [],
) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", required, properties } as const;
}

export function orNull<Schema extends { readonly type: string }>(schema: Schema) {
  return { ...schema, type: [schema.type, "null"] } as const;
}
