/** The log that has the lines of requests: that of the server, or a file of its own. */
import { hostname } from 'node:os';
import { pino, type Logger } from 'pino';
import { AccessLogFile } from '../operations/access-log-file.js';
import type { RequestLines } from '../http/access-log.js';
import type { Config } from './config.js';
import type { Threads } from './threads.js';

/** Takes a line with its end. */
interface Sink {
  write(line: string): unknown;
}

interface RequestLogOptions {
  readonly config: Config;
  readonly threads: Threads;
  readonly log: Logger;
  /** The sink of `log`. */
  readonly sink: Sink;
  /** The time of day. */
  readonly now: () => number;
}

export interface RequestLog {
  readonly lines: RequestLines;
  /** The file, if it is one of its own. */
  readonly file: AccessLogFile | undefined;
}

export function requestLog({ config, threads, log, sink, now }: RequestLogOptions): RequestLog {
  const { accessLog: path } = config;
  const file = path === undefined ? undefined : new AccessLogFile({ path, threads: threads.logs, log });
  // Beside other lines, those of requests have what these have.
  const base = file === undefined ? `"pid":${process.pid},"hostname":${JSON.stringify(hostname())},` : '';
  return { file, lines: linesOf({ log, now, sink: file ?? sink }, base) };
}

/** Lines as the library of the log writes them, which takes longer for it. */
function linesOf(
  { log, sink, now }: Pick<RequestLogOptions, 'log' | 'now' | 'sink'>,
  base: string,
): RequestLines {
  return {
    isLevelEnabled: (level) => log.isLevelEnabled(level),
    add: (level, facts) => {
      const head = `{"level":${pino.levels.values[level] ?? 0},"time":${now()},${base}`;
      sink.write(`${head}${facts.slice(1, -1)},"msg":"request"}\n`);
    },
  };
}
