// A configuration with mistakes. Each mistake is a complete line of text, so no stack trace is
// needed.

export class ConfigFault extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[], options?: ErrorOptions) {
    super(mistakes.join("\n"), options);
    this.name = "ConfigFault";
    this.mistakes = mistakes;
  }
}
