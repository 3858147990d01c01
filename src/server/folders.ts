/** The folders that the server keeps its data in: made, closed to others, and held by one server. */
import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { lockFolders } from '../base/disk/folder-lock.js';
import { NOTES } from '../lab/projects/folder-layout.js';
import type { Config } from './config.js';

const EVERY_PERMISSION = 0o777;
const OWN_FOLDER = 0o700;
const GROUP_PASSES = 0o010;

/** Where custom symbols lie, below the data folder. */
export const SYMBOLS = 'symbols';
/** Where base configurations of new nodes lie, below the data folder. */
export const CONFIGS = 'configs';
/** Where the files lie that all containers see, below the data folder. */
export const CONTAINERS = 'containers';

/** Where backups lie, below the data folder. */
export const BACKUPS = 'backups';

/** Where the history of projects and of the server lies, below the data folder. */
export const HISTORY = 'history';

/** Where the audit lies, below the data folder. */
export const AUDIT = 'audit';

/** Where reports for who looks for a fault lie, below the data folder. */
export const REPORTS = 'debug';

/** Where the notes of jobs lie. */
export function notesFolder({ projects }: Config): string {
  return join(projects, NOTES);
}

/**
 * Images on their way: in a folder of this very server below the images folder, which others may serve, too. It is
 * emptied at start.
 */
export function temporaryImages({ images, state }: Config): string {
  return join(images, 'tmp', serverMark({ state }));
}

/** Tells what belongs to this server from what belongs to others. It is the same after a restart. */
export function serverMark({ state }: Pick<Config, 'state'>): string {
  const server = createHash('sha256')
    .update(`${hostname()} ${realpathSync(state)}`)
    .digest('hex');
  return server.slice(0, 12);
}

/** The folder of the keeper of the node programs. It is made when the first program starts. */
export function keeperFolder({ data }: Config): string {
  return join(data, 'run');
}

/** Makes the folder of the keeper for one that begins before its server, and that of the state, by which both are marked. */
export function prepareKeeperFolder(config: Config): void {
  process.umask(EVERY_PERMISSION & ~OWN_FOLDER);
  for (const folder of [config.state, keeperFolder(config)]) makeFolder(folder);
  setPermissions(keeperFolder(config), () => OWN_FOLDER);
}

/** The folder below which virtual machines have their sockets, which are of no use to another life of the server. */
export function guestSocketsFolder(config: Config): string {
  return join(keeperFolder(config), 'n');
}

/** Whether a server with this data has run programs, so that some may be left of its life. */
export function hadPrograms(config: Config): boolean {
  return existsSync(keeperFolder(config));
}

/** The folders that may lie on disks of their own. */
export function partsOf({ projects, images, state, uploads }: Config): Readonly<Record<string, string>> {
  return { projects, images, state, uploads };
}

/** Fails with one clear line when the data cannot be kept where it should be. */
export function prepareFolders(config: Config): void {
  const shared = config.groupAccess ? 0o750 : OWN_FOLDER;
  process.umask(EVERY_PERMISSION & ~shared);
  // Folders that lie elsewhere may be those of GNS3.
  const unlessElsewhere = (folder: string): number | undefined =>
    dirname(folder) === config.data ? shared : undefined;
  for (const [folder, mode] of [
    [config.data, undefined],
    [config.projects, unlessElsewhere(config.projects)],
    [config.images, unlessElsewhere(config.images)],
    [config.state, OWN_FOLDER],
    [config.uploads, OWN_FOLDER],
  ] as const) {
    try {
      makeFolder(folder);
      if (!statSync(folder).isDirectory()) throw new Error('it is not a folder');
      accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      if (mode !== undefined) setPermissions(folder, () => mode);
    } catch (error) {
      throw new Error(
        `cannot write to the folder ${folder}: ${error instanceof Error ? error.message : ''}`,
        { cause: error },
      );
    }
  }
  if (config.groupAccess) setPermissions(config.data, (mode) => mode | GROUP_PASSES);
  // Images may be shared. The folder of those on their way is of the state folder, and held with it.
  lockFolders([config.state, config.data, config.projects, config.uploads]);
  if (config.webUi !== undefined && !existsSync(join(config.webUi, 'index.html')))
    throw new Error(`--web-ui (WIREFARM_WEB_UI): the folder ${config.webUi} has no index.html`);
  // The server makes these when it needs them.
  for (const folder of [join(config.data, SYMBOLS), dirname(notesFolder(config))]) {
    if (existsSync(folder) && !statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
  }
  for (const leftover of [temporaryImages(config), notesFolder(config)])
    rmSync(leftover, { recursive: true, force: true });
}

/** Changes only folders of this user: others keep the permissions that they have chosen. */
function setPermissions(folder: string, change: (mode: number) => number): void {
  const { uid, mode } = statSync(folder);
  if (uid !== process.geteuid?.()) return;
  const special = mode & ~EVERY_PERMISSION & 0o7777;
  chmodSync(folder, special | change(mode & EVERY_PERMISSION));
}

/** Not `recursive`: on a file system that refuses, as /proc does, Node tries that for ever. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}
