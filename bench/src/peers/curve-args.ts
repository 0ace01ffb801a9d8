// The keys of a benchmark's peers, as options of each library. Without keys, nothing is encrypted.

import type { ConnectSecurity, CurveKeyPair, ListenSecurity } from "@yardmaster/zmtp";

export interface CurveArgs {
  readonly server: CurveKeyPair;
  readonly client: CurveKeyPair;
}

export function ourServer(args: CurveArgs | undefined): { security?: ListenSecurity } {
  if (args === undefined) return {};
  const { secretKey } = args.server;
  return { security: { mechanisms: ["CURVE"], secretKey, authenticate: () => "known" } };
}

export function ourClient(args: CurveArgs | undefined): { security?: ConnectSecurity } {
  if (args === undefined) return {};
  return { security: { curve: { serverKey: args.server.publicKey, ...args.client } } };
}

export function libzmqServer(args: CurveArgs | undefined): object {
  if (args === undefined) return {};
  return { curveServer: true, curveSecretKey: args.server.secretKey, curvePublicKey: args.server.publicKey };
}

export function libzmqClient(args: CurveArgs | undefined): object {
  if (args === undefined) return {};
  const { publicKey: curvePublicKey, secretKey: curveSecretKey } = args.client;
  return { curveServerKey: args.server.publicKey, curvePublicKey, curveSecretKey };
}
