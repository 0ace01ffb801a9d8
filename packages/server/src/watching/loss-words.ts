// Why a worker was lost, in words.

const reasons: ReadonlyMap<string, string> = new Map([
  ["connection_closed", "its connection closed"],
  ["silence", "it fell silent"],
  ["goodbye", "it said goodbye"],
  ["send_failed", "a message to it could not be sent"],
  ["time_limit", "its attempt took too long"],
  ["lease_over", "its lease expired"],
  ["restarted", "it restarted"],
  ["reported", "it reported a failure"],
  ["forgotten", "it had forgotten its task"],
  ["door_lost", "its door was closed"],
]);

/** As a part of a sentence. */
export function lossWords(reason: string): string {
  return reasons.get(reason) ?? reason;
}

/** As a sentence. */
export function lossSentence(reason: string): string {
  const words = lossWords(reason);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
