/**
 * The Unix sockets of IOU nodes: one of the image, one of the bridge on the engine. Images have theirs in a folder of
 * `/tmp` with the number of their user, whatever the folder for temporary files is. Runs in a file thread.
 */
import {
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemCode } from '../../../base/errors/errors.js';
import type { NetioSockets } from './netio-paths.js';
import { bridgeOf } from './netmap.js';

const FOLDER_MODE = 0o700;
const BOUND_SOCKETS = '/proc/net/unix';
/** The address of a Unix socket has no room for a longer path. */
const LONGEST_SOCKET_PATH = 107;

/** Removes what an earlier run has left. Returns a sentence for the user when the sockets cannot be there. */
export function sharedSockets(applicationId: number): NetioSockets | string {
  const folder = netioFolder(process.geteuid?.() ?? 0);
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.geteuid?.() || (found.mode & 0o022) !== 0)
    return `${folder} belongs to another user of this host`;
  const sockets = socketsIn(folder, applicationId);
  for (const socket of [sockets.image, sockets.bridge])
    if (!isFreed(socket)) return `another program of this host has the application id ${applicationId}`;
  return { ...sockets, peer: sockets.image };
}

/** Removes the file of a socket that no program uses any more; returns false when one does. */
export function isFreed(socket: string): boolean {
  if (isBound(socket)) return false;
  rmSync(socket, { force: true });
  return true;
}

/** The sockets of a confined image of this user, in a new folder below the root. */
export function ownSockets(root: string, id: string, applicationId: number, user: number): NetioSockets {
  const folder = newFolder(join(resolve(root), id), applicationId);
  const path = join(folder, 's');
  mkdirSync(path, { mode: FOLDER_MODE });
  const own = { folder, shown: { path, at: netioFolder(user) } };
  return { ...socketsIn(path, applicationId), peer: join(folder, 'peer'), own };
}

/**
 * Lets the engine find the socket of a confined image, and the image send to that of the engine. A link that the image has put in its place would lead frames to
 * any socket of the host: the engine knows another name of the socket, in a folder to which the image has no way. Returns
 * whether it is there.
 */
export function joinImage({ image, bridge, peer, own }: NetioSockets): boolean {
  if (own === undefined) return true;
  const found = `${peer}.new`;
  try {
    rmSync(found, { force: true });
    linkSync(image, found);
    const socket = lstatSync(found);
    if (!socket.isSocket()) return false;
    lchownSync(bridge, socket.uid, socket.gid);
    renameSync(found, peer);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Removes what an image that has ended leaves. */
export function removeSockets({ image, own }: NetioSockets): void {
  if (own !== undefined) rmSync(own.folder, { recursive: true, force: true });
  else if (!isBound(image)) for (const path of [image, `${image}.lck`]) rmSync(path, { force: true });
}

function netioFolder(user: number): string {
  return `/tmp/netio${user}`;
}

function socketsIn(folder: string, applicationId: number): { image: string; bridge: string } {
  return {
    image: join(folder, String(applicationId)),
    bridge: join(folder, String(bridgeOf(applicationId))),
  };
}

/** Among the temporary files of the host when no socket could have the path. */
function newFolder(wanted: string, applicationId: number): string {
  if (Buffer.byteLength(socketsIn(join(wanted, 's'), applicationId).bridge) > LONGEST_SOCKET_PATH)
    return mkdtempSync(join(tmpdir(), 'wirefarm-'));
  rmSync(wanted, { recursive: true, force: true });
  mkdirSync(wanted, { recursive: true, mode: FOLDER_MODE });
  return wanted;
}

/** Whether a program has a socket at this path. A file may be left of one that has gone. */
function isBound(path: string): boolean {
  return readFileSync(BOUND_SOCKETS, 'utf8')
    .split('\n')
    .some((line) => line.endsWith(` ${path}`));
}
