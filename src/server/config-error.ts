/** A setting that cannot be used: its message is the one line the user sees. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
