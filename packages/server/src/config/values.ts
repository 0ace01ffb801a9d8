// The kinds of value a setting can have. Each says in words what it expects, and that is what a mistake is told with.

import { queueNamePattern } from "@yardmaster/core";
import * as z from "zod";
import { isHost, parseListenAddress } from "../listen-address.js";

/** Longer than anybody waits, short enough that milliseconds of it are exact and a timer's sum does not overflow. */
const secondsMax = 10 * 365 * 24 * 3600;

export function seconds() {
  const error = `a number of seconds above 0 and at most ${secondsMax}`;
  return z.number({ error }).gt(0, { error }).lte(secondsMax, { error });
}

export function wholeNumber(options: { from: number; to?: number }) {
  const { from, to = Number.MAX_SAFE_INTEGER } = options;
  const error =
    options.to === undefined ? `a whole number from ${from} up` : `a whole number from ${from} to ${to}`;
  return z.number({ error }).int({ error }).gte(from, { error }).lte(to, { error });
}

export function port() {
  return wholeNumber({ from: 0, to: 65535 });
}

export function choice<const Words extends readonly string[]>(words: Words) {
  return z.enum(words, { error: `one of ${words.join(", ")}` });
}

export function yesOrNo() {
  return z.boolean({ error: "true or false" });
}

export function words(expected: string) {
  return z.string({ error: expected }).min(1, { error: expected });
}

export function listOf<Item extends z.ZodType>(item: Item, expected: string) {
  return z.array(item, { error: expected });
}

export function queueName() {
  const error = "a queue's name: 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit";
  return z.string({ error }).regex(queueNamePattern, { error });
}

/** Part of a tag, whose fields are parted by colons. */
export function specName() {
  const error = "a spec's name: 1 to 128 characters without colons";
  return z.string({ error }).regex(/^[^:]{1,128}$/, { error });
}

export function hostName() {
  const error = "a host name or an IP address";
  return z.string({ error }).refine(isHost, { error });
}

/** Written as text, read as host and port. */
export function listenAddress() {
  const expected = 'host:port or [v6]:port, such as "127.0.0.1:7420"';
  return z.string({ error: expected }).transform((text, context) => {
    const address = parseListenAddress(text);
    if (address) return address;
    context.addIssue({ code: "custom", message: expected, input: text });
    return z.NEVER;
  });
}

/** Named settings and no others: an unknown name is a mistake, not a wish that is quietly ignored. */
export function settings<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "a mapping of settings"),
  });
}

export function namedBy<Key extends z.ZodString, Value extends z.ZodType>(key: Key, value: Value) {
  return z.record(key, value, {
    error: (issue) => (issue.code === "invalid_type" ? "a mapping of names" : undefined),
  });
}
