/** Lines that a server tells when it starts. */
import type { Logger } from 'pino';
import type { Notice } from '../base/store/journal-opening.js';
import { RECEIVE_BUFFER } from '../engine/sockets/opener.js';
import type { Config } from './config.js';

/** Bad news goes to the log and, for people who read the last lines of the terminal, to the error output. */
export function tellOfStore(notices: readonly Notice[], log: Logger): void {
  for (const { level, text } of notices) {
    log[level](text);
    if (level === 'error') process.stderr.write(`wirefarm: ${text}\n`);
  }
}

export function warnOfOpenServer(
  { host, isForOthers, credentials }: Config,
  hasUsers: boolean,
  log: Logger,
): void {
  if (!isForOthers || hasUsers || credentials !== undefined) return;
  log.warn({ host }, 'everybody who can reach this address can use this server: it has no password');
}

export function tellOfKeptNodes({ keepsNodesSeconds: seconds }: Config, log: Logger): void {
  if (seconds === 0) return;
  log.info(
    { seconds },
    'nodes live on when this server ends, but for containers and NATs, which end with it',
  );
}

export function warnOfSmallBuffers(granted: number, log: Logger): void {
  if (granted >= RECEIVE_BUFFER) return;
  log.warn(
    { granted, wanted: RECEIVE_BUFFER },
    'this host grants small receive buffers, so bursts may be lost: raise net.core.rmem_max',
  );
}
