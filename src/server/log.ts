/**
 * The log of the server: lines of JSON on the error output. A write a line would cost a change more than its commit, so
 * lines are gathered for a moment. A warning or an error, and the end of the process, write all that waits.
 */
import { pino, type Logger } from 'pino';
import type { Config } from './config.js';

/** The number of the level in pino. */
const WARNING = 40;
const GATHERED_MS = 50;
const GATHERED_BYTES = 8 * 1024;

export function openLog(level: Config['logLevel']): Logger {
  const output = pino.destination({ dest: 2, sync: false, minLength: GATHERED_BYTES });
  let gathering: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(gathering);
    gathering = undefined;
    output.flush();
  };
  return pino(
    {
      level,
      hooks: {
        logMethod(args, log, number) {
          log.apply(this, args);
          if (number >= WARNING) flush();
          else gathering ??= setTimeout(flush, GATHERED_MS);
        },
      },
    },
    output,
  );
}
