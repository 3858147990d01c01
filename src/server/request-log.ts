/** The log that has the lines of requests: that of the server, or a file of its own. */
import { pino, type Logger } from 'pino';
import { AccessLogFile } from '../operations/access-log-file.js';
import type { Config } from './config.js';
import type { Threads } from './threads.js';

export interface RequestLog {
  readonly log: Logger;
  /** The file, if it is one of its own. */
  readonly file: AccessLogFile | undefined;
}

export function requestLog({ accessLog: path, logLevel }: Config, threads: Threads, log: Logger): RequestLog {
  if (path === undefined) return { log, file: undefined };
  const file = new AccessLogFile({ path, threads: threads.logs, log });
  return { log: pino({ level: logLevel, base: null }, file), file };
}
