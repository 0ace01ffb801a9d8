// A config that cannot be started with. Every mistake is a line of its own, ready to be shown; there is no more to say.

export class ConfigFault extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[], options?: ErrorOptions) {
    super(mistakes.join("\n"), options);
    this.name = "ConfigFault";
    this.mistakes = mistakes;
  }
}
