/**
 * Finds the keeper of a folder, or starts one, or waits for the one that is a service. In a thread, since it uses the disk
 * and starts a process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, constants, mkdirSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../../base/errors/errors.js';

const OWN_FOLDER = 0o700;
const OWN_FILE = 0o600;
const SOCKET_NAME = 'keeper.sock';
/** The keeper's standard error: empty unless it fails. */
const LOG_NAME = 'keeper.log';
const MOST_OF_LOG = 2000;
/** A keeper that is a service may be on its way: its manager starts it, also after its end. */
const SERVICE_MS = 30_000;
const SERVICE_LOOK_MS = 20;

export interface KeeperStart {
  readonly folder: string;
  readonly mark: string;
  /** The program of the keeper. */
  readonly entry: string;
  /** A manager of services starts it, and this thread never. */
  readonly isService: boolean;
}

export type KeeperStarted = { readonly path: string } | { readonly failure: string };

/**
 * Returns the path of the socket of a keeper that listens. The path leads over a descriptor of this thread: a path in
 * the folder may be longer than the 107 bytes that an address has, and sockets elsewhere, in /tmp or without a file,
 * could be taken by other users. A keeper that was started ends when this thread does, unless a server has connected.
 */
export async function startKeeper(start: KeeperStart): Promise<KeeperStarted> {
  const { mark, entry } = start;
  const folder = resolve(start.folder);
  makeFolder(folder);
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  const path = `/proc/self/fd/${fd}/${SOCKET_NAME}`;
  if (await listens(path)) return { path };
  if (start.isService)
    return (await beginsToListen(path))
      ? { path }
      : { failure: `nothing listens at ${join(folder, SOCKET_NAME)}: start the service of the keeper` };
  const log = join(folder, LOG_NAME);
  return (await spawnKeeper(entry, folder, mark, log)) ? { path } : { failure: lastOf(log) };
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, OWN_FOLDER);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
  chmodSync(folder, OWN_FOLDER);
}

async function listens(path: string): Promise<boolean> {
  const sink = connect({ path });
  try {
    await once(sink, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    sink.destroy();
  }
}

async function beginsToListen(path: string): Promise<boolean> {
  const deadline = performance.now() + SERVICE_MS;
  while (performance.now() < deadline) {
    await sleep(SERVICE_LOOK_MS);
    if (await listens(path)) return true;
  }
  return false;
}

/**
 * Resolves with true when the keeper is ready, and with false when it has ended. It is no child of this process, which
 * would have to wait for its end, and has a session of its own, so that no signal of a terminal reaches it.
 */
async function spawnKeeper(entry: string, folder: string, mark: string, log: string): Promise<boolean> {
  const errors = openSync(log, 'w', OWN_FILE);
  // The options of Node.js in the server's environment are not for the keeper.
  const command = ['-c', 'NODE_OPTIONS= "$@" &', 'sh', process.execPath, entry, folder, mark];
  const child = spawn('/bin/sh', command, {
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'ignore', errors, 'pipe'],
  });
  closeSync(errors);
  await once(child, 'spawn');
  const line = child.stdio[3];
  if (!(line instanceof Duplex)) return false;
  return new Promise((resolve) => {
    line.on('error', () => undefined);
    line.once('data', () => {
      resolve(true);
    });
    line.once('close', () => {
      resolve(false);
    });
  });
}

function lastOf(log: string): string {
  const text = readFileSync(log, 'utf8').trim();
  return `the process ended: ${text.slice(-MOST_OF_LOG)}`;
}
