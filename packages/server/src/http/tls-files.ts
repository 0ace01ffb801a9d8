// The certificate, the key and the authority of client certificates, read from their files. They
// are read again with the configuration, so that a renewed certificate needs no restart.

import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { ConfigFault } from "../config/config-fault.js";

/** The remark of a door that speaks https. */
export const tlsNote = "TLS";

export interface TlsSettings {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string | undefined;
}

export interface TlsOptions extends SecureContextOptions {
  /** True if clients are asked for a certificate. They may still show a token instead. */
  readonly requestCert: boolean;
  /**
   * A client without a valid certificate is refused by its request, with a problem that says why.
   */
  readonly rejectUnauthorized: false;
  readonly minVersion: "TLSv1.2";
}

/** Throws a ConfigFault if a file cannot be read or is not what it should be. */
export function readTls({ cert, key, clientCa }: TlsSettings): TlsOptions {
  const context: SecureContextOptions = {
    cert: fileOf("cert", cert),
    key: fileOf("key", key),
    ...(clientCa !== undefined && { ca: fileOf("clientCa", clientCa) }),
  };
  try {
    createSecureContext(context);
  } catch (cause) {
    throw new ConfigFault([`doors.http.tls: ${cert} and ${key}: ${(cause as Error).message}`], { cause });
  }
  return {
    ...context,
    requestCert: clientCa !== undefined,
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
  };
}

/** What is wrong with the files; undefined if nothing is. */
export function tlsMistake(settings: TlsSettings): string | undefined {
  try {
    readTls(settings);
    return undefined;
  } catch (fault) {
    if (!(fault instanceof ConfigFault)) throw fault;
    return fault.message.replace(/^doors\.http\.tls[.:] ?/, "");
  }
}

function fileOf(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ConfigFault([`doors.http.tls.${setting}: the file ${path} cannot be read (${code})`], {
      cause,
    });
  }
}
