// An authority for tests, made with openssl: certificates for servers and clients, good and bad
// ones.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export interface IssuedCertificate {
  readonly cert: string;
  readonly key: string;
}

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

export class TestAuthority {
  /** The authority's own certificate. */
  readonly ca: string;
  readonly #folder: string;
  readonly #name: string;

  /** `name` distinguishes several authorities in one folder. */
  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
    this.ca = this.#file("ca.pem");
    const subject = ["-subj", `/CN=${name} authority`, "-days", "2"];
    openssl("req", "-x509", ...newKey, "-keyout", this.#file("ca.key"), "-out", this.ca, ...subject);
  }

  /** A certificate for this common name, in files. `days` below 0: it has expired. */
  issue(
    commonName: string,
    { days = 2, names = "" }: { days?: number; names?: string } = {},
  ): IssuedCertificate {
    const [cert, key, request] = ["pem", "key", "csr"].map((end) =>
      this.#file(`${commonName}${days}.${end}`),
    );
    openssl("req", ...newKey, "-keyout", key ?? "", "-out", request ?? "", "-subj", `/CN=${commonName}`);
    const extensions = this.#file("extensions");
    writeFileSync(extensions, names === "" ? "" : `subjectAltName=${names}`);
    const by = ["-CA", this.ca, "-CAkey", this.#file("ca.key"), "-CAcreateserial", "-extfile", extensions];
    openssl("x509", "-req", "-in", request ?? "", ...by, "-out", cert ?? "", "-days", String(days));
    return { cert: cert ?? "", key: key ?? "" };
  }

  #file(end: string): string {
    return join(this.#folder, `${this.#name}-${end}`);
  }
}

function openssl(...args: string[]): void {
  execFileSync("openssl", args, { stdio: "pipe" });
}
