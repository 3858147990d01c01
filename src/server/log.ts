/**
 * The log of the server: lines of JSON on the error output. A write a line would cost a change more than its commit, so
 * lines are gathered for a moment. A fatal line, and the end of the process, write all that is left.
 */
import { pino, type Logger } from 'pino';
import type { Config } from './config.js';

const GATHERED_MS = 50;
const GATHERED_BYTES = 8 * 1024;

export function openLog(level: Config['logLevel']): Logger {
  const output = pino.destination({ dest: 2, sync: false, minLength: GATHERED_BYTES });
  let flush: NodeJS.Timeout | undefined;
  return pino(
    {
      level,
      hooks: {
        logMethod(args, log) {
          log.apply(this, args);
          flush ??= setTimeout(() => {
            flush = undefined;
            output.flush();
          }, GATHERED_MS);
        },
      },
    },
    output,
  );
}
