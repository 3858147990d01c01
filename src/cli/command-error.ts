/** What ends a command: its message is the one line the user sees. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly exitCode: number = 1;
}

/** A command line that says nothing that could be done. */
export class UsageError extends CommandError {
  override readonly name = 'UsageError';
  override readonly exitCode = 2;
}
