// Functions that turn answers into JSON text, made from the schemas of the routes. Making one takes
// about half a millisecond and there are a hundred, so each is made at its first use, once.

import fastJson from "fast-json-stringify";

type Serializer = (answer: unknown) => string;

const made = new WeakMap<object, Serializer>();

export function serializerOf(schema: object): Serializer {
  return (answer) => {
    let serializer = made.get(schema);
    if (serializer === undefined) {
      serializer = fastJson(schema) as Serializer;
      made.set(schema, serializer);
    }
    return serializer(answer);
  };
}
