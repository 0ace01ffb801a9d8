// Why an attempt was lost or given back, as a clause about its worker: "its connection closed".

const words: ReadonlyMap<string, string> = new Map([
  ["connection_closed", "its connection closed"],
  ["silence", "it fell silent"],
  ["goodbye", "its worker said goodbye"],
  ["send_failed", "the task could not be sent to it"],
  ["time_limit", "it overran its time limit"],
  ["lease_over", "its lease ran out"],
  ["restarted", "the dispatcher was restarted"],
  ["reported", "its worker reported it as lost"],
  ["forgotten", "its worker had forgotten it"],
  ["door_lost", "its door was lost"],
  ["busy", "its worker was busy"],
  ["drain", "its worker was drained"],
  ["balance", "an idle worker could take it"],
  ["does_not_fit", "it does not fit that worker"],
]);

export function reasonClause(code: string): string {
  return words.get(code) ?? (code === "" ? "the reason is unknown" : code.replaceAll("_", " "));
}
