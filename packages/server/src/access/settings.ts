// The settings under `access:`. A secret is never in the file: the file says where it is, or what
// its digest is.

import { decodeZ85 } from "@yardmaster/zmtp";
import * as z from "zod";
import { listOf, namedBy, number, settings, wholeNumber, words } from "../config/values.js";
import { rightNames } from "./rights.js";

const secretExpected =
  "{file: PATH}, {env: NAME} or {sha256: 64 hex digits}; the secret itself does not belong in the file";

const sha256 = z.string({ error: secretExpected }).regex(/^[0-9a-fA-F]{64}$/, { error: secretExpected });

function secret() {
  const place = z.string({ error: secretExpected }).min(1, { error: secretExpected });
  return z
    .strictObject(
      { file: place.optional(), env: place.optional(), sha256: sha256.optional() },
      { error: secretExpected },
    )
    .refine((given) => Object.values(given).filter((each) => each !== undefined).length === 1, {
      error: secretExpected,
    });
}

export type SecretSettings = z.output<ReturnType<typeof secret>>;

const certificateExpected =
  "{commonName: NAME} of a certificate that doors.http.tls.clientCa signed, or {fingerprint: SHA-256 of the certificate}";

function certificate() {
  const fingerprint = z
    .string({ error: certificateExpected })
    .regex(/^(?:[0-9a-fA-F]{2}:?){31}[0-9a-fA-F]{2}$/, { error: certificateExpected })
    .optional();
  const commonName = z
    .string({ error: certificateExpected })
    .min(1, { error: certificateExpected })
    .optional();
  return z
    .strictObject({ commonName, fingerprint }, { error: certificateExpected })
    .refine((given) => (given.commonName === undefined) !== (given.fingerprint === undefined), {
      error: certificateExpected,
    });
}

function curveKey() {
  const error = "a CURVE public key: 40 characters of Z85, as yardmaster curve-keypair prints it";
  return z.string({ error }).refine((text) => decodeZ85(text)?.length === curveKeyBytes, { error });
}

const curveKeyBytes = 32;

function queuePattern() {
  const error = "a pattern of queue names: letters, digits, . _ - and * for any characters";
  return z.string({ error }).regex(/^[A-Za-z0-9*][A-Za-z0-9._*-]{0,127}$/, { error });
}

export function principalName() {
  const error = "a principal's name: 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit";
  return z.string({ error }).regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, { error });
}

/** A setting of every door. */
export function anonymousPrincipal() {
  return principalName()
    .optional()
    .describe(
      "The principal of peers without a credential. Default: all rights while `access` is absent, none once it is there.",
    );
}

function patterns() {
  return listOf(queuePattern(), "a list of patterns of queue names").optional();
}

const rights = {} as { [Name in (typeof rightNames)[number]]: ReturnType<typeof patterns> };
for (const name of rightNames) rights[name] = patterns();

export const principalSettings = settings({
  tokens: listOf(secret(), `a list of ${secretExpected}`).prefault([]),
  user: words("a user name").optional(),
  passwords: listOf(secret(), `a list of ${secretExpected}`).prefault([]),
  curveKeys: listOf(curveKey(), "a list of CURVE public keys").prefault([]),
  certificates: listOf(certificate(), `a list of ${certificateExpected}`).prefault([]),
  rights: settings(rights).prefault({}),
  quotas: settings({
    submissionsPerSecond: number({ from: 0.001, to: 1e9 }).optional(),
    submissionBurst: wholeNumber({ from: 1 }).optional(),
    connections: wholeNumber({ from: 1 }).optional(),
    inFlightBytes: wholeNumber({ from: 1 }).optional(),
  }).prefault({}),
});

/** Bounds the metrics, because each principal is a label. */
const principalsMax = 1000;

export const accessSettings = settings({
  principals: namedBy(principalName(), principalSettings)
    .refine((given) => Object.keys(given).length <= principalsMax, {
      error: `at most ${principalsMax} principals`,
    })
    .prefault({}),
});

export type AccessSettings = z.output<typeof accessSettings>;
export type PrincipalSettings = z.output<typeof principalSettings>;
