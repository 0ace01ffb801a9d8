// The kinds of values that a setting can have. Each describes what it expects, and error messages
// use that text.

import { queueNamePattern } from "@yardmaster/core";
import * as z from "zod";
import { readNetwork } from "../door-kit/peer-filter.js";
import { isHost, parseListenAddress } from "../listen-address.js";

/**
 * Longer than any practical wait, and short enough that its milliseconds are exact and sums of
 * timers do not overflow.
 */
const secondsMax = 10 * 365 * 24 * 3600;

/** `from: 0` allows 0, which is otherwise refused. */
export function seconds({ from }: { from?: 0 } = {}) {
  const least = from === undefined ? "above 0 and" : "from 0,";
  const error = `a number of seconds ${least} at most ${secondsMax}`;
  const value = z.number({ error }).lte(secondsMax, { error });
  return from === undefined ? value.gt(0, { error }) : value.gte(0, { error });
}

export function number({ from, to }: { from: number; to: number }) {
  const error = `a number from ${from} to ${to}`;
  return z.number({ error }).gte(from, { error }).lte(to, { error });
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

/** Part of a tag, whose fields are separated by colons. */
export function specName() {
  const error = "a spec's name: 1 to 128 characters without colons";
  return z.string({ error }).regex(/^[^:]{1,128}$/, { error });
}

export function hostName() {
  const error = "a host name or an IP address";
  return z.string({ error }).refine(isHost, { error });
}

/** In quotes, because YAML reads 0750 as a number that means something else. */
export function fileMode() {
  const error = 'a mode as octal digits in quotes, such as "0750"';
  return z.string({ error }).regex(/^0?[0-7]{3}$/, { error });
}

/** An address, or a network as address/length. */
export function network() {
  const error = "an address or a network, such as 10.0.0.0/8 or 2001:db8::/32";
  return z.string({ error }).refine((text) => readNetwork(text) !== undefined, { error });
}

/** Written as text, parsed into host and port. */
export function listenAddress() {
  const expected = 'host:port or [v6]:port, such as "127.0.0.1:7420"';
  return z.string({ error: expected }).transform((text, context) => {
    const address = parseListenAddress(text);
    if (address) return address;
    context.addIssue({ code: "custom", message: expected, input: text });
    return z.NEVER;
  });
}

/** A mapping with these names only: an unknown name is a mistake and is not silently ignored. */
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
